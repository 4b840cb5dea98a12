package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rlmproxy/judge"
	"rlmproxy/judge/judgetest"
)

func yes(string, string) any { return true }

func modelOf(t *testing.T, s *judgetest.Server) *Model {
	t.Helper()
	m, err := New(Options{URL: s.URL, Model: "small", Key: s.Key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

var prompt = judge.Prompt{System: "Judge.", User: "It ends at [abc end].\n[abc 1]\nan item\n[abc end]", Schema: []byte(`{"type":"object"}`), MaxTokens: 100}

func TestComplete(t *testing.T) {
	s := judgetest.Start(t, yes)
	c, err := modelOf(t, s).Complete(t.Context(), prompt)
	if err != nil || c.Text != `{"answers":[{"item":1,"answer":true}]}` || c.Input == 0 || c.Output == 0 || c.Cut {
		t.Errorf("%+v, %v", c, err)
	}
}

// Servers refuse different things, which is found out once.
func TestForms(t *testing.T) {
	for name, tt := range map[string]struct {
		refuses []string
		rude    bool
		sent    int // requests of the first prompt
	}{
		"everything": {nil, false, 1},
		"no schema":  {[]string{"json_schema"}, false, 2},
		"no JSON":    {[]string{"json_schema", "json_object"}, false, 3},
		"no heat":    {[]string{"temperature"}, false, 2},
		"new names":  {[]string{"max_tokens", "temperature"}, false, 3},
		"says not":   {[]string{"json_schema", "temperature"}, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := judgetest.Start(t, yes)
			s.Refuses, s.Rude = tt.refuses, tt.rude
			m := modelOf(t, s)
			for i := range 2 {
				if _, err := m.Complete(t.Context(), prompt); err != nil {
					t.Fatal(err)
				}
				if want := tt.sent + i; s.Requests() != want {
					t.Errorf("%d requests after prompt %d, want %d", s.Requests(), i+1, want)
				}
			}
		})
	}
}

// A prompt that is too long does not have the next ones written another way.
func TestTooLongChangesNothing(t *testing.T) {
	s := judgetest.Start(t, yes)
	s.Fault = func(request int) judgetest.Fault {
		if request == 1 {
			return judgetest.TooLong
		}
		return judgetest.Fine
	}
	m := modelOf(t, s)
	_, err := m.Complete(t.Context(), prompt)
	var f *judge.Failure
	if !errors.As(err, &f) || f.Final || f.Again || s.Requests() != 1 {
		t.Errorf("%v after %d requests", err, s.Requests())
	}
	if _, err := m.Complete(t.Context(), prompt); err != nil || m.form.format != 0 {
		t.Errorf("%v, form %+v", err, m.form)
	}
}

func TestFailures(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, tt := range []struct {
		fault        judgetest.Fault
		final, again bool
		wait         time.Duration
		text         string
	}{
		{judgetest.Denied, true, false, 0, "refuses the key"},
		{judgetest.Unknown, true, false, 0, `no model "small"`},
		{judgetest.Moved, true, false, 0, "redirects are not followed"},
		{judgetest.Limited, false, true, 7 * time.Second, "asked again in 7s"},
		{judgetest.Failing, false, true, 0, "500 Internal Server Error"},
		{judgetest.Broken, false, true, 0, "cannot be read"},
		{judgetest.Huge, false, false, 0, "larger than 4 MB"},
		{judgetest.Refusal, false, false, 0, "declined"},
		{judgetest.TooLong, false, false, 0, "400 Bad Request"},
	} {
		s := judgetest.Start(t, yes)
		s.RetryAfter, s.Elsewhere = "7", other.URL
		s.Fault = func(int) judgetest.Fault { return tt.fault }
		_, err := modelOf(t, s).Complete(t.Context(), prompt)
		var f *judge.Failure
		if !errors.As(err, &f) || f.Final != tt.final || f.Again != tt.again || f.Wait != tt.wait || !strings.Contains(f.Text, tt.text) {
			t.Errorf("fault %d: %+v", tt.fault, f)
		}
		if err != nil && strings.Contains(err.Error(), s.Key) {
			t.Errorf("the key is in %q", err)
		}
	}
	if elsewhere.Load() > 0 {
		t.Error("a prompt went to where a redirect led")
	}
}

func TestUnreachable(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	m, err := New(Options{URL: gone.URL, Model: "small", Key: "sk-none-of-this"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Complete(t.Context(), prompt)
	var f *judge.Failure
	if !errors.As(err, &f) || !f.Again || !strings.Contains(f.Text, "cannot be reached") {
		t.Errorf("%v", err)
	}
}

func TestCancelled(t *testing.T) {
	s := judgetest.Start(t, yes)
	ctx, cancel := context.WithCancel(t.Context())
	s.Fault = func(int) judgetest.Fault { cancel(); return judgetest.Hanging }
	if _, err := modelOf(t, s).Complete(ctx, prompt); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What the library would read of the environment goes nowhere.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "leaked-"+name)
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Leaked: leaked")
	s := judgetest.Start(t, yes)
	s.Key = ""
	s.Header = func(h http.Header) {
		for name, values := range h {
			if strings.Contains(strings.Join(values, " "), "leaked") {
				t.Errorf("%s: %v", name, values)
			}
		}
		if h.Get("Authorization") != "" {
			t.Errorf("a key was sent: %q", h.Get("Authorization"))
		}
	}
	_, err := modelOf(t, s).Complete(t.Context(), prompt)
	if err == nil || !strings.Contains(err.Error(), "wants a key") || s.Requests() != 1 {
		t.Errorf("%v after %d requests", err, s.Requests())
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		opts Options
		want string
	}{
		{Options{URL: "localhost:11434/v1", Model: "m"}, "is not one"},
		{Options{URL: "ftp://h/v1", Model: "m"}, "is not one"},
		{Options{URL: "https://sk-1@h/v1", Model: "m"}, "has a user"},
		{Options{URL: "https://h/v1?key=sk-1", Model: "m"}, "a query"},
		{Options{URL: "https://h/v1"}, "no name"},
		{Options{URL: "https://h/v1", Model: "m", Key: "sk-1\nX: y"}, "line break"},
	} {
		_, err := New(tt.opts)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sk-1") {
			t.Errorf("%+v: %v, want %q", tt.opts, err, tt.want)
		}
	}
}

// TestPage: a page of HTML, as of a URL that is not that of the API, is named as such.
func TestPage(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }))
	defer s.Close()
	m, err := New(Options{URL: s.URL, Model: "small"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var f *judge.Failure
	if _, err := m.Complete(t.Context(), prompt); !errors.As(err, &f) || !strings.HasSuffix(f.Text, "responded with something else than JSON: subModel.url must be that of an API, up to its version") {
		t.Error(err)
	}
}
