package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	openai "github.com/openai/openai-go/v3"

	"rlmproxy/judge"
)

// failure is an error of the library as one of ours. It does not hold what the server said: that
// may have the key in it.
func (m *Model) failure(ctx context.Context, err error) error {
	var own *judge.Failure
	var refused *openai.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &own):
		return own
	case errors.As(err, &refused):
		return m.refusal(refused)
	case errors.Is(err, errMoved):
		return &judge.Failure{Text: "the model at " + m.url.Host + " has moved, and redirects are not followed: the operator must set subModel.url to where it is", Final: true}
	case errors.Is(err, errLarge):
		return &judge.Failure{Text: fmt.Sprintf("the response of the model at %s is larger than %d MB", m.url.Host, maxResponse>>20)}
	}
	var at *url.Error
	if errors.As(err, &at) {
		return &judge.Failure{Text: "the model at " + m.url.Host + " cannot be reached: " + m.without(at.Err.Error()), Again: true}
	}
	if strings.Contains(err.Error(), "content-type") { // as the library says it
		return &judge.Failure{Text: "the model at " + m.url.Host + " responded with something else than JSON: subModel.url must be that of an API, up to its version", Again: true}
	}
	return &judge.Failure{Text: "the response of the model at " + m.url.Host + " cannot be read: " + m.without(err.Error()), Again: true}
}

// without is a text without the key.
func (m *Model) without(text string) string {
	if m.opts.Key == "" {
		return text
	}
	return strings.ReplaceAll(text, m.opts.Key, "…")
}

func (m *Model) refusal(refused *openai.Error) *judge.Failure {
	status := refused.StatusCode
	f := &judge.Failure{Text: fmt.Sprintf("the model at %s responded with %d %s", m.url.Host, status, http.StatusText(status))}
	switch {
	case status == http.StatusUnauthorized:
		f.Final = true
		f.Text = fmt.Sprintf("the model at %s refuses the key: the operator must set subModel.key", m.url.Host)
		if m.opts.Key == "" {
			f.Text = fmt.Sprintf("the model at %s wants a key: the operator must set subModel.key", m.url.Host)
		}
	case status == http.StatusPaymentRequired, status == http.StatusForbidden:
		f.Final = true
		f.Text += ": the key may not do this, or its credit is spent; the operator must look at its account"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		f.Final = true
		f.Text += fmt.Sprintf(": it has no model %q, or subModel.url is not the one that /chat/completions is below", m.opts.Model)
	case status == http.StatusTooManyRequests && refused.Code == "insufficient_quota":
		f.Final = true
		f.Text += ": the credit of the key is spent; the operator must look at its account"
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500:
		f.Again = true
		if refused.Response != nil {
			f.Wait = retryAfter(refused.Response.Header)
		}
		if f.Wait > 0 {
			f.Text += fmt.Sprintf(", and wants to be asked again in %v", f.Wait.Round(time.Second))
		}
	}
	return f
}

// retryAfter is how long a server wants us to wait, as it is said in two headers; zero: not said.
func retryAfter(h http.Header) time.Duration {
	if d, err := time.ParseDuration(h.Get("Retry-After-Ms") + "ms"); err == nil && d > 0 {
		return d
	}
	text := h.Get("Retry-After")
	if d, err := time.ParseDuration(text + "s"); err == nil && d > 0 {
		return d
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
