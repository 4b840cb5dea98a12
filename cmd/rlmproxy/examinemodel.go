package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rlmproxy/judge"
	"rlmproxy/judge/openai"
)

// modelTime is how long the sub-model may take to say a word: local servers load a model first.
const modelTime = time.Minute

// subModel has the sub-model answer a prompt of a few tokens.
func (d *doctor) subModel(ctx context.Context) {
	m := d.cfg.SubModel
	if m == nil {
		return
	}
	look := d.begin("sub-model")
	if m.URL == "" {
		look.Text = "each client's own, where it can be asked"
		return
	}
	look.Text = m.Model + " at " + m.URL
	model, err := openai.New(openai.Options{URL: m.URL, Model: m.Model, Key: string(m.Key)})
	if err != nil {
		d.fails(look, err)
		return
	}
	defer model.Close()
	defer d.cli.log.Progress(func() string { return "asking the sub-model" })()
	limit, cure := modelTime, "look at its server, and at url in subModel"
	if m.Timeout > 0 && m.Timeout < limit {
		limit, cure = m.Timeout, "raise timeout in subModel, or look at its server"
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begun := time.Now()
	said, err := model.Complete(ctx, judge.Prompt{System: "Reply with JSON alone.", User: `Reply with {"ok":true}`, MaxTokens: 64,
		Schema: []byte(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`)})
	var failure *judge.Failure
	switch {
	case ctx.Err() != nil:
		d.add(look, fault, "", fmt.Sprintf("it did not answer within %v", limit), cure)
	case errors.As(err, &failure) && failure.Again:
		d.add(look, fault, "", failure.Text, "look at its server, and at url in subModel, or try again later")
	case errors.As(err, &failure):
		d.add(look, fault, "", failure.Text, "correct url, model or key in subModel, or mend its server")
	case err != nil:
		d.add(look, fault, "", err.Error(), "correct url, model or key in subModel, or mend its server")
	default:
		look.Text += fmt.Sprintf(", answered in %v with %d tokens", time.Since(begun).Round(10*time.Millisecond), said.Input+said.Output)
	}
}
