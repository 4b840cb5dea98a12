package git

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestFiles: the files of what git and diff print, with what is done to them.
func TestFiles(t *testing.T) {
	const commit = "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: A <a@b>\n\n    s\n\n"
	for _, tt := range []struct{ name, in, want string }{
		{"a deleted line that looks like a head", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +0,0 @@\n--- y\n-z\n", "x modified +0 −2"},
		{"without prefixes", "diff --git p/x.gz p/x.gz\nnew file mode 100644\nBinary files /dev/null and p/x.gz differ\n", "p/x.gz binary +0 −0"},
		{"renamed and changed", "diff --git a/o b/p\nold mode 1\nnew mode 2\nrename from o\nrename to p\n--- a/o\n+++ b/p\n@@ -1 +1 @@\n-a\n+b\n", "p renamed +1 −1"},
		{"a binary one behind another", "diff -ru a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff -ru a/y b/y\nBinary files a/y and b/y differ\n", "x modified +1 −1"},
		{"a merge", "diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,2 @@@\n  x\n- y\n -z\n++w\n", "x modified +1 −2"},
		{"counts that are wrong", "--- x\n+++ x\n@@ -1,9 +1,9 @@\n-a\ndiff --git a/y b/y\n", "x modified +0 −1, y modified +0 −0"},
		{"listed", commit + " x | 3 ++-\n y | Bin 0 -> 9 bytes\n 2 files changed\n" + commit + "R100\ta\tb\n" + commit + "3\t1\tz\n", "x modified +2 −1, y binary +0 −0, b renamed +0 −0, z modified +3 −1"},
	} {
		var r Reader
		var files []*File
		for line := range strings.Lines(tt.in) {
			switch r.Read([]byte(strings.TrimSuffix(line, "\n"))) {
			case FileLine:
				files = append(files, r.File)
			case ListedFile:
				files = append(files, r.Listed)
			}
		}
		var got []string
		for _, f := range files {
			got = append(got, fmt.Sprintf("%s %s +%d −%d", f.Path, f.Status(), f.Added, f.Deleted))
		}
		if d := cmp.Diff(tt.want, strings.Join(got, ", ")); d != "" {
			t.Errorf("%s:\n%s", tt.name, d)
		}
	}
}

// TestHostile: no text makes it panic, and what is in a hunk has a file.
func TestHostile(t *testing.T) {
	parts := []string{"diff --git ", "diff --cc ", "diff ", "--- ", "+++ ", "a/x", "b/y", "/dev/null", "@@", "@@@", " -1,2", " +3", "-", "+", `\ `, " ", "\t", "\n",
		"commit ", "From ", strings.Repeat("0a", 20), "Author: ", "Subject: ", "    ", " | ", "Bin", "999999999", "rename from "}
	rapid.Check(t, func(t *rapid.T) {
		var r Reader
		for line := range strings.Lines(strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 60).Draw(t, "parts"), "")) {
			if kind := r.Read([]byte(strings.TrimSuffix(line, "\n"))); kind >= FileLine && r.File == nil || kind == ListedFile && r.Listed == nil || kind == Subject && r.Commit == nil {
				t.Fatalf("%q is %d", line, kind)
			}
		}
	})
}
