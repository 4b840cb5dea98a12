package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/modfile"

	gocmp "github.com/google/go-cmp/cmp"
)

func fromRoot(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReleaseAgrees: .ci/run builds what a release and the image are made of, with the same
// flags, and they are built by the version of Go in go.mod.
func TestReleaseAgrees(t *testing.T) {
	var release struct {
		Builds []struct {
			Main                              string
			Env, Goos, Goarch, Flags, Ldflags []string
		}
	}
	if err := yaml.Unmarshal([]byte(fromRoot(t, ".goreleaser.yaml")), &release); err != nil {
		t.Fatal(err)
	}
	if len(release.Builds) != 1 {
		t.Fatalf("%d builds in .goreleaser.yaml, want 1", len(release.Builds))
	}
	b := release.Builds[0]
	var targets []string
	for _, goos := range b.Goos {
		for _, goarch := range b.Goarch {
			targets = append(targets, goos+"/"+goarch)
		}
	}
	run := fromRoot(t, ".ci/run")
	m := regexp.MustCompile(`(?m)^for target in (.*); do$`).FindStringSubmatch(run)
	if m == nil {
		t.Fatal(".ci/run has no loop over targets")
	}
	if diff := gocmp.Diff(targets, strings.Fields(m[1])); diff != "" {
		t.Errorf(".goreleaser.yaml and .ci/run build other targets (-release +ci):\n%s", diff)
	}
	for file, without := range map[string]string{
		"Dockerfile": "-buildvcs=true", // which needs git's folder; without the flag, Go takes it if it is there
		".ci/run":    "-buildvcs=true -trimpath",
	} {
		flags := slices.DeleteFunc(slices.Clone(b.Flags), func(flag string) bool { return strings.Contains(without, flag) })
		for _, want := range []string{b.Env[0], strings.Join(flags, " "), `-ldflags="` + strings.Join(b.Ldflags, " ") + `"`, b.Main} {
			if !strings.Contains(fromRoot(t, file), want) {
				t.Errorf("%s does not build with %s", file, want)
			}
		}
	}

	mod, err := modfile.ParseLax("go.mod", []byte(fromRoot(t, "go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	version := strings.Join(strings.Split(mod.Go.Version, ".")[:2], ".")
	for file, want := range map[string]string{
		"Dockerfile": "golang:" + version + " ",
		"README.md":  "Go " + version,
	} {
		if !strings.Contains(fromRoot(t, file), want) {
			t.Errorf("%s does not name %q, the Go of go.mod", file, want)
		}
	}
}

// goOutput is what the command go prints.
func goOutput(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// permissive are words of the licences that a binary may be given away under with their text.
var permissive = regexp.MustCompile(`Permission is hereby granted, free of charge|Redistribution and use in source and binary forms|Apache License\s+Version 2\.0|Permission to use, copy, modify, and/?(?:or)? ?distribute this software (?:and\s+its documentation )?for any\s+purpose (?:with or )?(?:and )?without fee is hereby\s+granted`)

// TestThirdParty: THIRD_PARTY.txt has the licences of all that is in the program, on every
// system. -update writes it.
func TestThirdParty(t *testing.T) {
	type owner struct{ name, text string }
	var all []owner
	seen := map[string]bool{}
	add := func(name, dir, pattern string) int {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, file := range files {
			base := strings.ToUpper(filepath.Base(file))
			if pattern == "*" && !regexp.MustCompile(`^(LICEN[CS]E|COPYING|NOTICE|PATENTS|COPYRIGHT)([._-].*)?$`).MatchString(base) || strings.HasSuffix(base, ".GO") {
				continue
			}
			n++
			if seen[file] {
				continue
			}
			seen[file] = true
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			clean := strings.Trim(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
			if !strings.HasPrefix(base, "NOTICE") && !strings.HasPrefix(base, "PATENTS") && !permissive.MatchString(clean) {
				t.Errorf("%s: not a licence that is known here", file)
			}
			owned := name
			if stem, ok := strings.CutSuffix(filepath.Base(file), ".LICENSE"); ok {
				owned += ": " + stem
			}
			all = append(all, owner{owned, clean})
		}
		return n
	}
	goroot := strings.TrimSpace(goOutput(t, nil, "env", "GOROOT"))
	if add("the Go standard library", goroot, "LICENSE") == 0 { // some distributions leave it out
		t.Skip("this Go has no LICENSE")
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		packages := goOutput(t, []string{"GOOS=" + goos, "CGO_ENABLED=0"}, "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}\t{{$.Dir}}{{end}}", ".")
		for line := range strings.Lines(packages) {
			fields := strings.Split(strings.TrimSpace(line), "\t")
			if len(fields) != 3 {
				continue // of the standard library
			}
			module, root, dir := fields[0], fields[1], fields[2]
			if module == "rlmproxy" {
				data, _ := filepath.Rel(root, dir)
				add("data in "+filepath.ToSlash(data), dir, "*.LICENSE")
				continue
			}
			n := 0
			for { // a package may have a licence of its own
				n += add(module, dir, "*")
				if dir == root {
					break
				}
				dir = filepath.Dir(dir)
			}
			if n == 0 {
				t.Errorf("%s has no licence", module)
			}
		}
	}
	names := map[string][]string{} // by text
	for _, o := range all {
		if !slices.Contains(names[o.text], o.name) {
			names[o.text] = append(names[o.text], o.name)
		}
	}
	var texts []string
	for text := range names {
		slices.Sort(names[text])
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(slices.Compare(names[a], names[b]), strings.Compare(a, b)) })
	var b strings.Builder
	b.WriteString("The program rlmproxy contains code and data of others, under these licences.\n")
	for _, text := range texts {
		b.WriteString("\n" + strings.Repeat("=", 78) + "\n" + strings.Join(names[text], "\n") + "\n" + strings.Repeat("-", 78) + "\n\n" + text + "\n")
	}
	const file = "THIRD_PARTY.txt"
	if *update {
		if err := os.WriteFile(filepath.Join("..", "..", file), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff(strings.Split(fromRoot(t, file), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("%s is another: go test ./cmd/rlmproxy -run ThirdParty -update\n%.2000s", file, diff)
	}
}
