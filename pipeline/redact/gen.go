//go:build ignore

// gen brings gitleaks.toml, its licence and testdata/cases.jsonl.gz, the examples that
// each rule of gitleaks is tested with, from the version RulesVersion of gitleaks.
//
//	go generate ./pipeline/redact
//
// The examples stand in gitleaks' program that writes gitleaks.toml. It is run in a copy
// where it writes them down too. They are made up, and not kept as plain text, or every
// scanner would take this repository for leaky.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
)

// validate replaces the function of gitleaks that tests a rule with its examples.
const validate = `package utils

import (
	"encoding/json"
	"os"

	"github.com/zricethezav/gitleaks/v8/config"
)

func write(rule string, secret bool, path, text string) {
	f, err := os.OpenFile(os.Getenv("CASES"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(f).Encode(map[string]any{"rule": rule, "secret": secret, "path": path, "text": text}); err != nil {
		panic(err)
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
}

func Validate(rule config.Rule, truePositives, falsePositives []string) *config.Rule {
	for _, text := range truePositives {
		write(rule.RuleID, true, "", text)
	}
	for _, text := range falsePositives {
		write(rule.RuleID, false, "", text)
	}
	return &rule
}

func ValidateWithPaths(rule config.Rule, truePositives, falsePositives map[string]string) *config.Rule {
	for path, text := range truePositives {
		write(rule.RuleID, true, path, text)
	}
	for path, text := range falsePositives {
		write(rule.RuleID, false, path, text)
	}
	return &rule
}
`

// secrets replaces the package that makes secrets up, with the same each time.
const secrets = `package secrets

import "github.com/lucasjones/reggen"

func NewSecret(regex string) string {
	g, err := reggen.NewGenerator(regex)
	if err != nil {
		panic(err)
	}
	g.SetSeed(1)
	return g.Generate(1)
}
`

func main() {
	source, err := os.ReadFile("rules.go")
	check(err)
	version := regexp.MustCompile(`RulesVersion = "(.*)"`).FindSubmatch(source)[1]
	out, err := exec.Command("go", "mod", "download", "-json", "github.com/zricethezav/gitleaks/v8@"+string(version)).Output()
	check(err)
	var module struct{ Dir string }
	check(json.Unmarshal(out, &module))

	dir, err := os.MkdirTemp("", "gitleaks")
	check(err)
	defer os.RemoveAll(dir)
	check(os.CopyFS(dir, os.DirFS(module.Dir)))
	check(exec.Command("chmod", "-R", "u+w", dir).Run())
	check(os.WriteFile(filepath.Join(dir, "cmd/generate/config/utils/validate.go"), []byte(validate), 0o600))
	check(os.RemoveAll(filepath.Join(dir, "cmd/generate/secrets")))
	check(os.Mkdir(filepath.Join(dir, "cmd/generate/secrets"), 0o700))
	check(os.WriteFile(filepath.Join(dir, "cmd/generate/secrets/secrets.go"), []byte(secrets), 0o600))

	cases := filepath.Join(dir, "cases.jsonl")
	run := exec.Command("go", "run", ".", filepath.Join(dir, "written.toml"))
	run.Dir, run.Env, run.Stderr = filepath.Join(dir, "cmd/generate/config"), append(os.Environ(), "CASES="+cases, "GOFLAGS=-mod=mod"), os.Stderr
	check(run.Run())
	text, err := os.ReadFile(cases)
	check(err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	slices.SortFunc(lines, bytes.Compare) // gitleaks keeps some in a map
	lines = slices.CompactFunc(lines, bytes.Equal)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(bytes.Join(lines, nil))
	check(err)
	check(z.Close())
	check(os.WriteFile("testdata/cases.jsonl.gz", packed.Bytes(), 0o644))

	for from, to := range map[string]string{"config/gitleaks.toml": "gitleaks.toml", "LICENSE": "gitleaks.LICENSE"} {
		text, err := os.ReadFile(filepath.Join(module.Dir, from))
		check(err)
		check(os.WriteFile(to, text, 0o644))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
