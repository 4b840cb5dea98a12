package config

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"strings"
	"time"
)

// A SubModel is the model that judges items of results for agents.
type SubModel struct {
	// URL is that of an API compatible with OpenAI's, up to its version, and Model the name of
	// a model there. An empty URL stands for the model of each client that can be asked.
	URL, Model string
	Key        Secret // or "", where none is needed
	// InputPrice and OutputPrice are for a million tokens. Zero: they cost nothing, or nobody knows.
	InputPrice, OutputPrice float64
	// Concurrency is how many prompts of a question it gets at a time, Timeout how long one may
	// take. Zero means the default.
	Concurrency int
	Timeout     time.Duration
	// ItemsPerPrompt is how many items a prompt has at most. Zero means the default.
	ItemsPerPrompt int
}

// subModelSection is a section of proxySettings. It has no flag and no variable: a key does not
// belong on a command line, and one object is one thing.
const subModelSection = "subModel"

// subModelKeys are the keys of that section.
var subModelKeys = []string{"url", "model", "key", "inputPrice", "outputPrice", "concurrency", "itemsPerPrompt", "timeout"}

// ofClient stands for the model of each client.
const ofClient = "client"

// mostPrice is far above what any model costs.
const mostPrice = 10_000

// readSubModel reads the section.
func (r *reader) readSubModel(n node, vars variables) *SubModel {
	if n.kind() == '"' {
		if n.literal().String() != ofClient {
			n.secret = true // it may be the URL, with a key in it
			r.wrong(n, `"client" or an object`, `write for example {"url": "http://127.0.0.1:11434/v1", "model": "qwen3:4b"}`)
		}
		return &SubModel{}
	}
	if k := n.kind(); k != '{' && k != 'n' {
		r.wrong(n, `"client" or an object`, "leave subModel out for none; false stands in the entry of a server")
		return nil
	}
	members, ok := r.object(n)
	if !ok {
		return nil
	}
	m := &SubModel{}
	fields := map[string]node{}
	for _, each := range members {
		fields[each.key] = each
		switch each.key {
		case "url":
			each.secret = true
			m.URL = r.subModelURL(each, strings.TrimSpace(r.referred(each, vars)))
		case "model":
			m.Model = strings.TrimSpace(r.referred(each, vars))
		case "key":
			each.secret = true
			m.Key = r.subModelKey(each, vars)
		case "inputPrice":
			m.InputPrice = r.price(each)
		case "outputPrice":
			m.OutputPrice = r.price(each)
		case "concurrency":
			m.Concurrency = r.whole(each, 1, 64)
		case "itemsPerPrompt":
			m.ItemsPerPrompt = r.whole(each, 1, 100)
		case "timeout":
			m.Timeout = r.timeout(each)
		case "comment", "_comment", "//":
			delete(fields, each.key)
		default:
			r.mistake(each.atKey(), "unknown key", didYouMean(each.key, subModelKeys))
		}
	}
	_, hasURL := fields["url"]
	_, hasModel := fields["model"]
	switch {
	case hasURL && !hasModel:
		r.mistake(n.atKey(), "model is missing", "name the model that is to be asked at the url")
	case hasModel && m.Model == "" && fields["model"].kind() == '"':
		r.mistake(fields["model"], "the model's name is empty", "")
	case !hasURL:
		if len(fields) == 0 {
			r.mistake(n.atKey(), "url and model are missing", `write "subModel": "client" for the clients' own models`)
		}
		for _, key := range []string{"model", "key", "inputPrice", "outputPrice", "concurrency", "itemsPerPrompt", "timeout"} {
			if each, ok := fields[key]; ok {
				r.mistake(each.atKey(), "set without url, so no such model is asked", `add the url, or write "subModel": "client" for the clients' own models`)
			}
		}
	}
	return m
}

// referred is the string n with its references replaced.
func (r *reader) referred(n node, vars variables) string {
	e := vars.expand(r.text(n))
	switch {
	case len(e.missing) > 0 && !vars.asIs: // who starts nothing need not have it
		r.mistake(n, e.missing[0]+" is not set", unset(e.missing[0]))
	case len(e.mistakes) > 0:
		text, hint, _ := strings.Cut(e.mistakes[0], "; ") // as the keyring has it
		r.mistake(n, text, hint)
	}
	return e.text
}

// subModelKey is a key as a header takes it.
func (r *reader) subModelKey(n node, vars variables) Secret {
	key := strings.TrimSpace(r.referred(n, vars))
	if strings.ContainsFunc(key, func(c rune) bool { return c < 0x21 || c > 0x7e }) && !reference.MatchString(key) {
		r.mistake(n, "it has a character that no key has", "a key is of printable ASCII characters without spaces")
	}
	return Secret(key)
}

// subModelURL checks the URL. To another machine it must be encrypted: the key and what
// agents ask about go there.
func (r *reader) subModelURL(n node, text string) string {
	if n.kind() != '"' || reference.MatchString(text) {
		return text
	}
	before := r.noted
	r.checkURL(n, text)
	if r.noted > before {
		return text
	}
	u, _ := url.Parse(text) // which checkURL has
	switch {
	case u.User != nil:
		r.mistake(n, "the URL has a user or a password in it", `write the key in "key"`)
	case u.RawQuery != "" || u.Fragment != "":
		r.mistake(n, "the URL has a query or a fragment", "write it up to the version, as in https://api.example.com/v1")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		r.mistake(n, "the URL is that of one method", "leave out /chat/completions")
	case u.Scheme == "http" && !here(u.Hostname()):
		r.warn(n, "what agents ask about goes to another machine unencrypted", "use https")
	}
	return strings.TrimRight(text, "/")
}

// here reports whether a host is this machine.
func here(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// price is for a million tokens.
func (r *reader) price(n node) float64 {
	price, _ := r.parsed(n, func(text string) (any, string) {
		var f float64
		if _, err := fmt.Sscan(text, &f); err != nil || math.IsNaN(f) || f < 0 || f > mostPrice || strings.ContainsAny(text, "\x00 ") {
			return nil, fmt.Sprintf("a price for a million tokens, 0 to %d", mostPrice)
		}
		return f, ""
	}, false).(float64)
	return price
}

// subModelSchema is the form of the section.
func subModelSchema() schema {
	properties := schema{
		"url":            text("URL of an API compatible with OpenAI's, up to its version"),
		"model":          text("name of the model there"),
		"key":            text("its key, as ${VAR}, ${file:PATH} or ${keyring:NAME}"),
		"inputPrice":     schema{"type": []string{"number", "null"}, "description": "price of a million tokens of prompts"},
		"outputPrice":    schema{"type": []string{"number", "null"}, "description": "price of a million tokens of answers"},
		"concurrency":    number("prompts of one question that it gets at a time; default 4"),
		"itemsPerPrompt": number("items in one prompt at most; with 1 no item's text can change the answer for another; default 30"),
		"timeout":        forms["timeout"],
	}
	for _, note := range []string{"comment", "_comment", "//"} {
		properties[note] = true
	}
	return schema{"description": `the model that proxy_ask asks: "client" is each client's own`,
		"anyOf": []schema{{"const": ofClient}, {"type": "null"}, {"type": "object", "properties": properties, "additionalProperties": false}}}
}
