package preview

import (
	"fmt"
	"strings"
	"testing"

	"rlmproxy/pipeline/digest/digesttest"
	"rlmproxy/pipeline/doc"
)

// TestTextPreviews holds what a preview of each kind must tell.
func TestTextPreviews(t *testing.T) {
	filler := strings.Repeat("some words to make it long\n", 400)
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"log", string(digesttest.ServiceLog(20_000)), []string{
			"log, 20,004 lines, ", "\nspan: 2026-03-05T00:00:00.", " .. 2026-03-05T05:33:19.", "\nlevels: FATAL 1, ERROR ", "lines inside entries 4",
			"INFO [worker-<*>] request <*> from <*> took <*>ms", "; 3 more seen once:", "FATAL [main] out of disk space", "java.lang.IllegalStateException: pool closed", "Caused by: java.net.ConnectException: refused", "configuration reloaded by admin"}},
		{"trace in a common entry", strings.Repeat("2026-03-05T00:00:00Z INFO request 7 took 12ms\n", 5000) + "Traceback (most recent call last):\n  File \"/srv/pay.py\", line 88, in charge\nGatewayError: refused\n" + strings.Repeat("2026-03-05T00:00:01Z INFO request 7 took 12ms\n", 5000), []string{
			"\n5001: Traceback (most recent call last):\n", "\n5003: GatewayError: refused\n"}},
		{"access log", strings.Repeat("10.0.0.1 - - [05/Mar/2026:00:00:00 +0000] \"GET /items/7?x=1 HTTP/1.1\" 200 5 \"-\" \"a b\"\n", 300) + "10.0.0.1 - - [05/Mar/2026:00:00:09 +0000] \"POST /users/7 HTTP/1.1\" 503 5 \"-\" \"a b\"\n", []string{
			"statuses: 2xx 300, 5xx 1", "300× 1  GET /items/<*> 200", "301: 10.0.0.1"}},
		{"diff", "diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,3 @@\n a\n--- b\n+++ c\n d\ndiff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,300 @@\n" + strings.Repeat("+line\n", 300) + "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\ndiff --git a/o b/q\nrename from o\nrename to q\n", []string{
			"4 files, +301 −1", "1  +1 −1 x.go\n", "9  +300 −0 n (new)", " +0 −0 p.png (binary)", " q (renamed from o)", "4: @@ -1,3 +1,3 @@"}},
		{"merge", "diff --cc x.go\nindex 1,2..3\n--- a/x.go\n+++ b/x.go\n@@@ -1,2 -1,2 +1,1500 @@@\n  a\n- b\n -c\n" + strings.Repeat("++line\n", 1498) + " +one\ndiff --cc y.go\n@@@ -1 -1 +1 @@@\n--x\n++y\n", []string{
			"2 files, +1,500 −3", "1  +1,499 −2 x.go\n", "1508  +1 −1 y.go"}},
		{"stat", strings.Repeat("commit 0123456789abcdef0123456789abcdef01234567\nAuthor: Ann <a@b.c>\nDate:   Sat Nov 21 07:58:34 2026 +0000\n\n    api: one\n\n a.go | 5 ++---\n b.go | 1 +\n 2 files changed, 3 insertions(+), 3 deletions(-)\n\n", 90), []string{
			"90 commits, +270 −270\n", "authors: Ann 90\ndates: 21 Nov 2026\n", "90× 7  a.go\n90× 8  b.go\n", "\n5  01234567 21 Nov 2026  api: one\n"}},
		{"stat and patch", strings.Repeat("commit 0123456789abcdef0123456789abcdef01234567\nAuthor: Ann <a@b.c>\nDate:   Sat Nov 21 07:58:34 2026 +0000\n\n    api: one\n---\n a.go | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\ndiff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-x\n+y\n\n", 90), []string{
			" bytes, 90 commits, 90 files, +90 −90\n"}},
		{"blame", strings.Repeat("0123abcd (Ann B 2025-01-02 06:11:11 +0000   1) text of a line\n", 200) + "9876abcd (Bo 2026-01-02 06:11:11 +0000   1) text of a line\n", []string{
			"git blame, 201 lines, ", "2 commits\nauthors, by lines: Ann B 200, Bo 1\ndates: 2025-01-02 .. 2026-01-02\n", "200× 1  0123abcd 2025-01-02 Ann B\n"}},
		{"tree", ".\n" + strings.Repeat("├── a\n│   ├── b\n│   │   └── c.go\n│   └── d.md\n└── e.go\n", 100) + "\n2 directories, 3 files\n", []string{
			"tree of files", "2 directories, 3 files\nnames end in: .go 200, .md 100\n"}},
		{"ls -lR", "/r/a:\ntotal 4\ndrwxr-xr-x 2 u g 4096 Nov 22 14:36 b\n-rw-r--r-- 1 u g 710 Jun 26  2025 c.conf\nlrwxrwxrwx 1 u g 9 Jun 26  2025 d.service -> /dev/null\n\n/r/a/b:\ntotal 0\n" + strings.Repeat("lrwxrwxrwx 1 u g 9 Jun 26  2025 e -> ../x.so\n", 300), []string{
			" bytes, 1 file, 301 links, 2 folders\nnames end in: .conf 1\nfolders, with line and files below:\n1  /r/a/: 1 file, 301 links, size 710\n7  /r/a/b/: 0 files, 300 links\n1: "}},
		{"ls -R", ".:\nb\nc.go\n\n./b:\n" + strings.Repeat("d.go\n", 900), []string{
			" 901 files, 2 folders\nnames end in: .go 901\nfolders, with line and files below:\n1  ./: 901 files\n5  ./b/: 900 files\n"}},
		{"source", "// Copyright\n// Licence\n\npackage a\n\nimport (\n\t\"b\"\n)\n\ntype T struct {\n\tx int\n}\n\nfunc (t *T) M() {\n}\n\nfunc f() {\n" + strings.Repeat("\tb.Call()\n", 800) + "}\n", []string{
			"10: type T struct\n", "14: func (t *T) M()\n", "17: func f()\n", "818: }"}},
		{"Markdown", "# Title\n\n" + filler + "## Part\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n```go\n# no heading\n```\n\n### Deep\n", []string{
			"1 code block (go 1), 1 table, 3 headings", "403: ## Part\n", "405  | a | b |  (2 rows)"}},
		{"HTML", "<!DOCTYPE html>\n<html><head><title>A &amp; B</title><script>if (a<b) x()</script></head>\n<body><h1>One</h1>\n" + strings.Repeat("<p>Words <b>bold</b> &lt;x&gt; <a href=\"/\">a link</a></p>\n", 300) + "<h2>Two</h2></body></html>\n", []string{
			"title: A & B\n", "300 links", "3  h1 One\n", "304    h2 Two\n", "4  Words bold <x> a link\n"}},
		{"XML", "<?xml version=\"1.0\"?>\n<list>\n" + strings.Repeat("<item id=\"1\"><name>x</name></item>\n", 300) + "</list>\n", []string{
			"601 elements", "300× 3  item\n", "300× 3  name\n", "1× 2  list\n"}},
		{"YAML", "name: CI\njobs:\n  build:\n    steps:\n" + strings.Repeat("      - run: |\n          echo: x\n", 300), []string{
			"keys:\n1: name: CI\n2: jobs:\n3:   build:\n"}},
		{"changelog", changelog(100), []string{
			"300 headings", "headings (", "\n1  # 100.0.0 (2026-01-02)\n10  # 99.0.0 (2026-01-02)\n19  # 98.0.0 (2026-01-02)\n", "\n64  # 93.0.0 (2026-01-02)\n", "\n1: # [100.0.0](https://github.com/"}},
		{"YAML items", "# tests\n" + strings.Repeat("- name: one\n  args:\n    - x\n    - name: y\n\n-   id: 3\n    name: two # words\n    \"a b\": |\n      id: none\n", 200) + "- name: odd\n  rare: 1\n", []string{
			", 401 items\njq and fields see an array of 401 {name, args: [{name}], id, \"a b\", rare}\nkeys, with number of items: name 401 · args 200 · id 200 · \"a b\" 200 · rare 1\nitems (20 of 401, spread evenly; ", "\n2: - name: one\n", "1802: - name: odd\n1803:   rare: 1"}},
		{"YAML documents", "---\n" + strings.Repeat("apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n---\nkind: Secret\nmetadata:\n  name: key\ndata:\n  a: b\n---\n", 90), []string{
			"180 documents\njq and fields see an array of 180 {apiVersion, kind, metadata, data}\nkeys (", "\n2: apiVersion: v1\n"}},
		{"configuration", "# -----\n# FILE\n# -----\n\n#-----\n# CONNECTIONS\n#-----\n\n#port = 5432\t# words\nport = 5433\nhost = x\n" + strings.Repeat("# some words of comments\n", 400) + "work_mem = 48MB\t\t# reporting\nport = 5434\t# last\n", []string{
			"configuration (properties), 413 lines, ", " bytes, 4 settings, 1 in comments, 1 section\n", "set more than once, line and value:\nport: 10 = 5433 · 413 = 5434\nsections:\n6: # CONNECTIONS\nsettings that are set:\n10: port = 5433\n11: host = x\n412: work_mem = 48MB"}},
		{"INI", "[a]\nx = 1\ny = 2\n[b]\nx = 1\nx = 3\n" + strings.Repeat("; words\n", 400), []string{
			"configuration (INI), 406 lines, ", "4 settings, 2 sections\n", "set more than once, line and value:\nx: 5 = 1 · 6 = 3\nsections:\n1: [a]\n4: [b]\n"}},
		{"page", "- Page URL: http://x/\n- main [ref=e1]:\n  - heading \"Top\" [level=1] [ref=e2]\n  - textbox \"Name\" [ref=e3]\n  - button \"Go\" [ref=e4]\n" + strings.Repeat("  - link \"More\" [ref=e5]:\n    - /url: /x\n", 300), []string{
			"Page URL: http://x/", "roles: link 300, main 1", "3: heading \"Top\" [level=1] [ref=e2]", "4: textbox \"Name\" [ref=e3]", "5: button \"Go\" [ref=e4]"}},
		{"tables of a page", "- table [ref=e1]:\n  - row [ref=e2]:\n    - columnheader \"Name\" [ref=e3]\n    - columnheader \"Do\" [ref=e4]\n" + strings.Repeat("  - row \"web Edit\" [ref=e5]:\n    - cell \"web\" [ref=e6]\n    - cell [ref=e7]:\n      - button \"Edit\" [ref=e8]\n", 200), []string{
			"rows of tables (", "\n2  Name | Do\n5  web | Edit\n", "8: button \"Edit\" [ref=e8]  (200 with this name, two shown)\n"}},
		{"Java", "java.lang.RuntimeException: a\n" + strings.Repeat("\tat org.springframework.X.y(X.java:1)\n", 300) + "\tat com.acme.Main.main(Main.java:9)\nCaused by: java.io.IOException: the reason\n\tat java.base/java.io.F.g(F.java:3)\n\tat com.acme.Db.open(Db.java:77)\n" + strings.Repeat("\tat org.apache.X.y(X.java:1)\n", 300), []string{
			"cause:\n1: java.lang.RuntimeException: a\n303: Caused by: java.io.IOException: the reason\n", "302: \tat com.acme.Main.main(Main.java:9)", "305: \tat com.acme.Db.open(Db.java:77)"}},
		{"goroutines", "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/a.go:3 +0x1\n\n" + strings.Repeat("goroutine 7 [chan receive, 5 minutes]:\nmain.worker(0x1)\n\t/x/a.go:9 +0x1\ncreated by main.main in goroutine 1\n\t/x/a.go:2 +0x1\n\n", 60), []string{
			"121 frames", "1: panic: boom", "4: main.main()"}},
		{"plain", "INTRODUCTION\n\n" + filler + "\nThe second part\n---------------\n\n" + filler, []string{"lines like headings:\n1: INTRODUCTION\n404: The second part\n"}},
		{"matches", strings.Repeat("a/b.go:12:\tfoo(bar) and so on\n", 200) + "c.go:3:func foo(x int) {\n", []string{"2 files", "200× 1  a/b.go\n", "1× 201  c.go"}},
		{"files", strings.Repeat("/r/src/a.go\n/r/src/b.go\n/r/doc/c.md\n", 200), []string{"names end in: .go 400, .md 200", "\n1  /r/: 600 files\n1  /r/src/: 400 files\n3  /r/doc/: 200 files\n"}},
		{"a test run", "=== RUN   TestA\n" + strings.Repeat("=== RUN   TestB\n--- PASS: TestB (0.00s)\n", 400) + "    a_test.go:3: got 1, want 2\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/a\t0.1s\n", []string{
			"output of tests, 805 lines", "go test: 1 failed · 400 passed\n", "in all:\n805: FAIL\texample.com/a\t0.1s\n", "what failed:\n802:     a_test.go:3: got 1, want 2\n803: --- FAIL: TestA"}},
		{"unittest", strings.Repeat("test_a (m.A.test_a) ... ok\n", 40) + strings.Repeat("test_b (m.B.test_b) ... ERROR\n", 60) + "test_c (m.C.test_c) ... FAIL\ntest_d (m.C.test_d) ... skipped 'no x'\ntest_e (m.E.test_e) ... FAIL\n\n" +
			numbered("======\nERROR: test_b%d (m.B.test_b%[1]d)\n------\nTraceback (most recent call last):\n  File \"/srv/m.py\", line 9, in x\na.ArgumentError: too many\n\n", 59) + "======\nERROR: setUpClass (m.D)\n------\na.ArgumentError: too many\n\n" +
			"======\nFAIL: test_c (m.C.test_c) (x=1)\n------\nAssertionError: 1 != 2\n\n======\nFAIL: test_c (m.C.test_c) (x=2)\n------\nValueError: v\n\nDuring handling of the above exception, another exception occurred:\n\nAssertionError: 1 != 3\n\n======\nFAIL: test_e (m.E.test_e)\n------\nAssertionError\n\n------\nRan 104 tests in 1.0s\n\nFAILED (failures=3, errors=60, skipped=1)\n", []string{
			"unittest: 63 failed · 40 passed · 1 skipped\nin all:\n", "\nwhat failed, grouped, count × first line:\n60× 106  ERROR m.B and 1 more: a.ArgumentError: too many\n2× 524  FAIL m.C: AssertionError: 1 != 2\n1× 538  FAIL m.E.test_e: AssertionError\n1: test_a (m.A.test_a) ... ok\n… "}},
		{"a build", strings.Repeat("[1/400] CC a.o\n", 399) + "FAILED: b.o\n\x1b[1msrc/b.c:4:9: error: no member\x1b[0m\nninja: build stopped\n", []string{
			"output of a build", "ninja and compiler: 1 failed · 1 error\n", "\n400: FAILED: b.o\n401: ", "402: ninja: build stopped"}},
		{"rules", strings.Repeat("a.ts(1,2): error TS7006: parameter x\na.ts(1,3): error TS7006: parameter y\na.ts(1,4): error TS7006: parameter z\n", 100) + "b.ts(3,4): error TS2304: no name y\n", []string{
			"tsc: 301 errors\n", "rules: TS7006 300 · TS2304 1\n", "300× 1  a.ts\n1× 301  b.ts\n", "what failed (3 of 4):", "\n301: b.ts(3,4): error TS2304"}},
		{"pods", "NAME    READY   STATUS\n" + strings.Repeat("web-1   1/1     Running\n", 300) + "web-2   0/1     CrashLoopBackOff\n" + strings.Repeat("web-3   1/1     Running\n", 99), []string{
			"table, 401 lines, 9,632 bytes, 400 rows of 3 columns\n", "\nSTATUS: Running 399 · CrashLoopBackOff 1\n", "\n302: web-2   0/1     CrashLoopBackOff\n"}},
		{"broken JSON", "{\n" + strings.Repeat("\"a\": [1, 2, 3],\n", 300) + "oops\n}", []string{"broken JSON", "invalid character 'o' looking for beginning of object key string at byte 4,803, line 302", "302: oops"}},
		{"text and an image", strings.Repeat("package a\n\nfunc F() {}\n", 200) + "\x89PNG\r\n\x1a\n\x00\x00" + strings.Repeat("\x00\xf3\x01\n", 100), []string{
			"source, ", "\n1: package a\n2: \n3: func F() {}\n"}},
		{"cut at both ends", strings.Repeat("word ", 5000), []string{"1: word word", " bytes left out, up to byte ", "word"}},
	} {
		text, _ := Preview(doc.Recognise([]byte(tt.in), nil), 1000)
		for _, want := range tt.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", tt.name, want, text)
			}
		}
	}
}

// TestRest: the outline behind a first page is of what follows, and says so where the first
// line counts all.
func TestRest(t *testing.T) {
	commits := strings.Repeat("commit 0123456789abcdef0123456789abcdef01234567\nAuthor: Ann <a@b.c>\nDate:   Sat Nov 21 07:58:34 2026 +0000\n\n    one\n\ndiff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-x\n+y\n\n", 40)
	for _, tt := range []struct {
		name, in string
		from     int
		want     []string
	}{
		{"Markdown", "# A\n\n## B\n\n" + strings.Repeat("## C\n\nwords\n\n", 100), 2, []string{"102 headings", "headings that follow (", " of 101, spread evenly; proxy_search \"^#+ \" finds them):"}},
		{"from the first line", "# A\n\n## B\n\nwords\n", 0, []string{"\nheadings:\n"}},
		{"source", "package a\n\nimport \"x\"\n\n" + strings.Repeat("func f() {\n}\n\n", 100), 5, []string{"functions 100", "definitions that follow (", " of 99, spread evenly):"}},
		{"git log", commits, 20, []string{"40 commits", "commits that follow (", ", spread evenly; proxy_search \"^commit \" finds them):"}},
		{"matches", strings.Repeat("a/b.go:12:\tfoo(bar)\n", 20) + strings.Repeat("c.go:3:func foo(x int) {\n", 9), 20, []string{"first matches that follow, one of each file:\n21: c.go:3"}},
	} {
		text := Rest(doc.Recognise([]byte(tt.in), nil), tt.from, 400)
		for _, want := range tt.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", tt.name, want, text)
			}
		}
	}
}

// TestShortTextHasTail: failures stand at the end, and the head of a text that is not
// long took all the room.
func TestShortTextHasTail(t *testing.T) {
	for _, lines := range []int{30, 80, 300, 449} {
		in := strings.Repeat("some words to make it long, and some more\n", lines) + "and then\nit failed: no space left\n"
		text, _ := Preview(doc.Recognise([]byte(in), nil), 250)
		if !strings.HasSuffix(string(text), fmt.Sprintf("\n%d: and then\n%d: it failed: no space left", lines+1, lines+2)) {
			t.Errorf("%d lines: no tail in\n%s", lines, text)
		}
	}
}

// numbered is format with the numbers up to n.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// changelog has the versions n.0.0 down to 1.0.0.
func changelog(n int) string {
	var b strings.Builder
	for i := n; i > 0; i-- {
		fmt.Fprintf(&b, "# [%d.0.0](https://github.com/acme/anvil/compare/v%d.0.0...v%d.0.0) (2026-01-02)\n\n### Bug Fixes\n\n- one ([a1b2c3](https://github.com/acme/anvil/commit/a1b2c3))\n\n### Features\n\n- more\n", i, i-1, i)
	}
	return b.String()
}
