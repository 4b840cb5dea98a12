package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func subModelFile(section string) []byte {
	return []byte(`{"mcpServers": {"a": {"command": "x"}}, "proxySettings": {"subModel": ` + section + `}}`)
}

func TestSubModel(t *testing.T) {
	environ := []string{"MODEL_KEY=sk-hunter2-0123456789", "HOST=models.example.com"}
	keyring := func(_, name string) (string, error) { return "of the keyring " + name, nil }
	for _, c := range []struct {
		section string
		want    *SubModel
		warns   string
	}{
		{`null`, nil, ""},
		{`"client"`, &SubModel{}, ""},
		{`{"url": "https://${HOST}/v1/", "model": "small", "key": "${MODEL_KEY}", "inputPrice": 0.15, "outputPrice": 1, "timeout": "3m", "concurrency": 2, "itemsPerPrompt": 1}`,
			&SubModel{URL: "https://models.example.com/v1", Model: "small", Key: "sk-hunter2-0123456789", InputPrice: 0.15, OutputPrice: 1, Timeout: 3 * time.Minute, Concurrency: 2, ItemsPerPrompt: 1}, ""},
		{`{"url": "http://127.0.0.1:11434/v1", "model": "m"}`, &SubModel{URL: "http://127.0.0.1:11434/v1", Model: "m"}, ""},
		{`{"url": "http://10.0.0.7/v1", "model": "m"}`, &SubModel{URL: "http://10.0.0.7/v1", Model: "m"}, "unencrypted"},
	} {
		got, err := load("mcp.json", "/mcp.json", subModelFile(c.section), Options{Environ: environ, Keyring: keyring})
		if err != nil {
			t.Errorf("%s: %v", c.section, err)
			continue
		}
		if diff := cmp.Diff(c.want, got.SubModel); diff != "" {
			t.Errorf("%s: %s", c.section, diff)
		}
		if warned := strings.Join(got.Warnings, "\n"); !strings.Contains(warned, c.warns) || c.warns == "" && warned != "" {
			t.Errorf("%s: warnings %q", c.section, warned)
		}
		if shown := fmt.Sprintf("%v %+v", got, got.SubModel); strings.Contains(shown, "hunter2") {
			t.Errorf("%s: the key shows: %s", c.section, shown)
		}
	}
}

func TestSubModelMistakes(t *testing.T) {
	for section, want := range map[string]string{
		`"clients"`:                             `expected "client" or an object`,
		`7`:                                     `expected "client" or an object`,
		`false`:                                 `expected "client" or an object`,
		`{}`:                                    "url and model are missing",
		`{"comment": 1}`:                        "url and model are missing",
		`{"url": "https://a/v1"}`:               "model is missing",
		`{"url": "https://a/v1", "model": " "}`: "the model's name is empty",
		`{"model": "m"}`:                        "set without url",
		`{"key": "hunter2"}`:                    "set without url",
		`{"url": "ftp://a", "model": "m"}`:      "the scheme",
		`{"url": "https://u:hunter2@a/v1", "model": "m"}`:            "a user or a password",
		`{"url": "https://a/v1?key=hunter2", "model": "m"}`:          "a query or a fragment",
		`{"url": "https://a/v1/chat/completions", "model": "m"}`:     "that of one method",
		`{"url": "https://a/v1", "model": "m", "key": "hunter 2"}`:   "a character that no key has",
		`{"url": "https://a/v1", "model": "m", "key": "${NOT_SET}"}`: "${NOT_SET} is not set",
		`{"url": "https://a/v1", "model": "m", "inputPrice": -1}`:    "a price for a million tokens",
		`{"url": "https://a/v1", "model": "m", "inputPrice": "1"}`:   "a price for a million tokens",
		`{"url": "https://a/v1", "model": "m", "concurrency": 65}`:   "64",
		`{"url": "https://a/v1", "model": "m", "itemsPerPrompt": 0}`: "1",
		`{"url": "https://a/v1", "model": "m", "apiKey": "hunter2"}`: "unknown key",
	} {
		_, err := load("mcp.json", "/mcp.json", subModelFile(section), Options{Keyring: func(_, _ string) (string, error) { return "", nil }})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", section, err, want)
		}
		if err != nil && strings.Contains(err.(ErrorList)[0].Text, "hunter") {
			t.Errorf("%s: the key shows: %v", section, err)
		}
	}
	// Who starts nothing need not have the key.
	if _, err := load("mcp.json", "/mcp.json", subModelFile(`{"url": "https://a/v1", "model": "m", "key": "${NOT_SET}"}`), Options{}); err != nil {
		t.Error(err)
	}
}

func TestServerWithoutSubModel(t *testing.T) {
	for text, want := range map[string]string{`false`: "", `true`: "", `"no"`: "expected true or false"} {
		c, err := load("mcp.json", "/mcp.json", []byte(`{"mcpServers": {"a": {"command": "x", "subModel": `+text+`}}}`), Options{})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
		} else if err != nil || *c.Servers[0].SubModel != (text == "true") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := load("mcp.json", "/mcp.json", []byte(`{"mcpServers": {"a": {"command": "x", "subModels": false}}}`), Options{}); err == nil {
		t.Error("a slip in a guard is not noticed")
	}
}
