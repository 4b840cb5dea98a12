package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/config"
)

// TestDocsReference: the tables of docs/configuration.md are those that the code has. With
// -update it writes them.
func TestDocsReference(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "configuration.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	was := string(text)
	is := was
	for name, table := range map[string]string{
		"settings":    settingsTables(),
		"server keys": keysTable(t, "server", "keys.go", "serverKeys"),
		"tool keys":   keysTable(t, "tool", "tools.go", "toolKeys"),
		"auth keys":   keysTable(t, "auth", "auth.go", "authKeys"),
	} {
		_, rest, ok := strings.Cut(is, "<!-- "+name+": go test ./cmd/rlmproxy -run Docs -update -->\n")
		end := strings.Index(rest, "<!-- end of "+name+" -->\n")
		if !ok || end < 0 {
			t.Fatalf("%s has no place for %s", file, name)
		}
		is = is[:len(is)-len(rest)] + table + rest[end:]
	}
	if *update && is != was {
		if err := os.WriteFile(file, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(is, was); diff != "" {
		t.Errorf("go test ./cmd/rlmproxy -run Docs -update writes this into docs/configuration.md (-code +docs):\n%s", diff)
	}
}

// settingsTables has a heading and a table for each group of settings.
func settingsTables() string {
	var b strings.Builder
	group := ""
	for _, s := range config.Settings() {
		if g := s.Group(); g != group {
			group = g
			fmt.Fprintf(&b, "\n### %s\n\n| setting | default | unit | meaning | a change counts |\n| --- | --- | --- | --- | --- |\n", g)
		}
		how := quoted(s.Name) + "<br>" + quoted("--"+s.Flag()) + "<br>" + quoted(s.Env())
		if s.EnvOnly() {
			how = quoted(s.Env())
		}
		counts := "at the next start"
		if slices.Contains(liveSettings, s.Name) {
			counts = "at once"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", how, quoted(s.Default), prose(s.Unit), prose(s.Usage), counts)
	}
	return b.String()
}

// keysTable has the keys of a part of an entry, in the order of the list that the reader goes
// by, with what the schema says of them.
func keysTable(t *testing.T, part, file, list string) string {
	t.Helper()
	var schema struct {
		Defs map[string]struct {
			Properties map[string]json.RawMessage
		} `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	properties := schema.Defs[part].Properties
	if part == "auth" {
		var auth struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(schema.Defs["server"].Properties["auth"], &auth); err != nil {
			t.Fatal(err)
		}
		properties = auth.Properties
	}
	var b strings.Builder
	b.WriteString("| key | value | meaning |\n| --- | --- | --- |\n")
	for _, key := range variableStrings(t, filepath.Join("../../config", file), list) {
		var form struct {
			Type        json.RawMessage
			Enum        []*string
			Description string
		}
		if err := json.Unmarshal(properties[key], &form); err != nil || form.Description == "" {
			t.Fatalf("the schema says nothing of %s.%s: %v", part, key, err)
		}
		var values []string
		for _, word := range form.Enum {
			if word != nil && *word != "" {
				values = append(values, quoted(*word))
			}
		}
		for _, m := range regexp.MustCompile(`\w+`).FindAll(bytes.ReplaceAll(form.Type, []byte("null"), nil), -1) {
			values = append(values, map[string]string{"string": "text", "array": "list", "object": "object", "boolean": "true or false", "integer": "number", "number": "number"}[string(m)])
		}
		if values == nil {
			values = []string{"object"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", quoted(key), strings.Join(values, ", "), prose(form.Description))
	}
	return b.String()
}

// quoted is text as code in a table, or nothing.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

var inCode = regexp.MustCompile(`\$\{[^}]*\}|proxy_\*|\b[a-z]+[A-Z]\w*|--[a-z][a-z-]*`)

// prose is a text of the code in a table: names of settings stand as code.
func prose(text string) string {
	text = strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
	return inCode.ReplaceAllStringFunc(text, func(name string) string { return "`" + name + "`" })
}
