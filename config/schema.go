package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rlmproxy/pipeline"
)

// A schema is a JSON Schema, or a part of one.
type schema = map[string]any

// forms say what keys of servers, tools, auth and rights hold, and what they mean. Null is
// "not set", as hosts write it.
var forms = map[string]schema{
	"command":    text("program of a server that rlmproxy starts; it speaks over stdin and stdout"),
	"args":       texts("its arguments"),
	"env":        textMap("variables that it gets"),
	"envFile":    text("a file with more of them, NAME=value on each line; env wins"),
	"cwd":        text("the folder in which it is started"),
	"inheritEnv": {"type": []string{"boolean", "array", "null"}, "items": schema{"type": "string"}, "description": "variables of the proxy's own environment that it gets: true for all, or names and globs"},
	"url":        text("URL of a remote server"),
	"headers":    textMap("headers of each request to it"),
	"auth":       {"description": "how to sign in to it, where the server does not say so itself"},
	"type":       words("the transport; without it, a url is tried as http, then as sse", append(slices.Sorted(maps.Keys(serverTypes)), "")),

	"disabled":     truths("never start the server"),
	"isolation":    words("whether all agents share its process, or each agent has its own", isolations),
	"maxProcesses": number("agents that may have a process of their own at one time; default 100"),
	"prefix":       text("prefix of its tools' names; default: the server's name"),
	"allow":        texts("globs: offer only tools whose names match one"),
	"deny":         texts("globs: do not offer tools whose names match one"),
	"freshCalls":   texts("globs: proxy_* tools may call tools whose names match one, whatever these declare"),
	"trustHints":   truths("trust its tools that declare readOnlyHint"),
	"pinTools":     truths("hold back its tools whose definition has changed since it was first seen"),
	"quarantine":   truths("also hold back its tools that were never seen"),
	"redact":       words("mask secrets such as keys and tokens in what it sends", redactions),
	"handles":      truths("replace arguments that are rlmproxy://cache/ID by that result"),
	"subModel":     truths("false keeps its results from the sub-model of proxySettings"),
	"tools":        {"type": []string{"object", "array", "null"}, "additionalProperties": ref("tool"), "items": schema{"type": "string"}, "description": "settings by tool name or glob"},

	"description": {"description": "what the server is for, for agents that look for tools"},
	"exposure":    words("how agents come to know its tools", Exposures),
	"readOnly":    truths("offer only its tools that declare readOnlyHint"),
	"features":    {"type": []string{"array", "null"}, "items": schema{"enum": features}, "description": "what of it is offered; default all"},

	"shape":             truths("false passes results on uncut"),
	"timeout":           {"type": []string{"number", "string", "null"}, "description": `time limit of one call: seconds, or as in "2m"`},
	"maxResponseTokens": number("largest result passed on whole, in tokens"),
	"rateLimit":         number("calls that one agent may begin in a minute"),
	"concurrency":       number("calls that run at one time"),
	"hide":              texts("fields that no agent sees, by name or path"),
	"fields":            texts("keep only these fields of every result"),
	"exclude":           texts("leave these fields out of every result"),
	"jq":                text("jq program that narrows every result"),

	"clientId":          text("client ID of rlmproxy at the authorization server"),
	"clientSecret":      text("client secret of rlmproxy at the authorization server"),
	"clientMetadataURL": text("URL of a document that describes rlmproxy as a client"),
	"issuer":            text("the authorization server to use, where there are several"),
	"scopes":            texts("scopes to ask for, instead of those that the server names"),
	"redirectPort":      number("port on this machine that the browser comes back to"),
	"grant":             words("who signs in: a person, or the client", grants),
}

func text(about string) schema { return nullable("string", about) }

func truths(about string) schema { return nullable("boolean", about) }

func number(about string) schema { return nullable("integer", about) }

func texts(about string) schema {
	s := nullable("array", about)
	s["items"] = schema{"type": "string"}
	return s
}

func textMap(about string) schema {
	s := nullable("object", about)
	s["additionalProperties"] = schema{"type": []string{"string", "null"}}
	return s
}

func words(about string, list []string) schema {
	any := []any{nil}
	for _, w := range list {
		any = append(any, w)
	}
	return schema{"enum": any, "description": about}
}

func nullable(kind, about string) schema {
	return schema{"type": []string{kind, "null"}, "description": about}
}

func ref(name string) schema { return schema{"$ref": "#/$defs/" + name} }

// formsOf are the forms of these keys.
func formsOf(keys []string) schema {
	properties := schema{}
	for _, key := range keys {
		properties[key] = forms[key]
	}
	return properties
}

// withSpellings adds the spellings of other hosts that the reader takes for keys of ours.
func withSpellings(properties schema, spellings map[string]string) {
	for theirs, ours := range spellings {
		s := maps.Clone(forms[ours])
		s["description"], s["deprecated"] = "another client's spelling of "+ours, true
		if ours == "disabled" {
			s["description"] = "another client's opposite of disabled"
		}
		properties[theirs] = s
	}
}

// Schema is a JSON Schema (2020-12) of mcp.json, for editors. It is made of the tables that
// the reader goes by. What needs more than the form of a value, the reader alone finds.
func Schema() []byte {
	server := formsOf(serverKeys)
	withSpellings(server, otherSpellings)
	auth := formsOf(authKeys)
	withSpellings(auth, authOther)
	server["auth"] = schema{"description": forms["auth"]["description"], "properties": auth}
	for key, instead := range notRead {
		server[key] = schema{"description": "ignored; " + instead, "deprecated": true}
	}
	tool := formsOf(toolKeys)
	for _, key := range foreignKeys {
		about := schema{"description": "for other clients, or a note; rlmproxy ignores it"}
		server[key], tool[key] = about, about
	}
	rights := schema{} // in which null is no "not set"
	for _, key := range rightsKeys {
		rights[key] = schema{"type": "array", "items": schema{"type": "string"}, "description": forms[key]["description"]}
	}
	settings := schema{}
	for _, s := range Settings() {
		if !s.EnvOnly() {
			settings[s.Name] = s.schema()
		}
	}
	for _, name := range rightsSections {
		settings[name] = schema{"type": "object", "additionalProperties": ref("rights"), "description": "who may use which tools: " + name}
	}
	settings[subModelSection] = subModelSchema()
	for _, note := range []string{"comment", "_comment", "//"} {
		settings[note], rights[note] = true, true
	}
	isText := func(key string) schema {
		return schema{"properties": schema{key: schema{"type": "string"}}, "required": []string{key}}
	}
	reached := []schema{isText("command"), isText("url")}
	for _, theirs := range slices.Sorted(maps.Keys(otherSpellings)) {
		if otherSpellings[theirs] == "url" {
			reached = append(reached, isText(theirs))
		}
	}
	out, err := json.MarshalIndent(schema{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "mcp.json, as rlmproxy reads it",
		"type":    "object",
		"properties": schema{
			"mcpServers": schema{
				"type": "object", "minProperties": 1, "additionalProperties": ref("server"),
				"propertyNames": schema{"minLength": 1, "maxLength": maxNameLength},
				"description":   "the servers, by name",
			},
			"proxySettings": schema{"type": []string{"object", "null"}, "properties": settings, "additionalProperties": false, "description": "settings of rlmproxy"},
		},
		"required": []string{"mcpServers"},
		"$defs": schema{
			"server": schema{"type": []string{"object", "null"}, "properties": server, "if": schema{"type": "object"}, "then": schema{"oneOf": reached}},
			"tool":   schema{"type": []string{"object", "null"}, "properties": tool, "additionalProperties": false},
			"rights": schema{"type": "object", "properties": rights, "additionalProperties": false},
		},
	}, "", "  ")
	if err != nil {
		panic(err) // of maps, lists and texts
	}
	return append(out, '\n')
}

// schema is what the file holds for s.
func (s Setting) schema() schema {
	out := schema{"description": s.Usage}
	own := []string{"integer"} // and null
	switch {
	case s.Unit == "true|false":
		own = []string{"boolean"}
	case s.Unit == unitList:
		own, out["items"] = []string{"array", "string"}, schema{"type": "string"}
	case s.Unit == unitKinds:
		own, out["propertyNames"], out["additionalProperties"] = []string{"object", "string"}, schema{"enum": pipeline.Classes}, schema{"type": []string{"integer", "null"}}
	case s.textual():
		own = []string{"string"}
	case strings.Contains(s.Unit, "|"):
		out = words(s.Usage, strings.Split(s.Unit, "|"))
		own = nil
	case s.quoted():
		own = []string{"number", "string"}
	}
	if own != nil {
		out["type"] = append(own, "null")
	}
	if s.Default != "" {
		out["default"] = s.Default
		if n, err := strconv.Atoi(s.Default); err == nil && !s.textual() {
			out["default"] = n
		} else if own != nil && own[0] == "boolean" {
			out["default"] = s.Default == "true"
		}
	}
	return out
}
