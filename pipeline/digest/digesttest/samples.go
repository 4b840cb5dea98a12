// Package digesttest has texts of each kind, for the tests of what reads them.
package digesttest

import (
	"encoding/base64"
	"strings"
)

// A Sample is a short text.
type Sample struct {
	Kind string // as [digest.Kind] says
	Name string // among those of its kind
	Text string
}

// Samples are texts of every kind.
var Samples = []Sample{
	{"log", "ISO", "2024-01-02T03:04:05Z info a\n2024-01-02T03:04:06Z error b\n"},
	{"log", "brackets", "[2024-01-02 03:04:05] a\n[2024-01-02 03:04:06] b\n"},
	{"log", "one line", "2024-01-02T03:04:05Z a\n"},
	{"log", "Python, a comma before the fraction", "2024-01-02 03:04:05,123 INFO main started\n2024-01-02 03:04:06,001 ERROR main gone\n2024-01-02 03:04:07,777 INFO main back\n"},
	{"log", "loguru, bars", "2024-01-02 03:04:05.123 | INFO     | main:run:12 - started\n2024-01-02 03:04:06.001 | ERROR    | main:run:14 - gone\n2024-01-02 03:04:07.001 | INFO     | main:run:14 - back\n"},
	{"log", "syslog", "Jan  2 03:04:05 host sshd[123]: Accepted key for root\nJan  2 03:04:06 host cron[7]: (root) CMD (x)\n"},
	{"log", "RFC 5424", "<34>1 2024-10-11T22:14:15.003Z host su - ID47 - 'su root' failed\n<34>1 2024-10-11T22:14:16.003Z host su - ID48 - ok\n"},
	{"log", "klog", "I0102 03:04:05.123456       1 main.go:12] Starting\nE0102 03:04:06.000000       1 main.go:19] Failed: x\n"},
	{"log", "slog", "time=2024-01-02T03:04:05.000Z level=INFO msg=\"server started\" port=80\ntime=2024-01-02T03:04:06.000Z level=WARN msg=slow\n"},
	{"log", "logfmt without a time", "level=info msg=\"started\" port=80\nlevel=error msg=\"failed\" err=\"no route\"\n"},
	{"log", "a traceback and no level", "Traceback (most recent call last):\n2024-01-02T03:04:05Z info a\n"},
	{"output of tools", "npm", "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\nnpm ERR! \nnpm ERR! Found: react@18.0.0\n"},
	{"output of tools", "npm, small letters", "npm warn deprecated inflight@1.0.6: leaks memory\nnpm warn deprecated glob@7.2.3: old\nnpm error code 1\n"},
	{"log", "levels only", "INFO: starting\nWARNING: low disk\nERROR: gone\n"},
	{"log", "Python's default", "INFO:root:starting\nWARNING:root:low disk\nERROR:app.db:gone\n"},
	{"output of tools", "Maven", "[INFO] Scanning for projects...\n[INFO] \n[WARNING] Some problems\n[ERROR] Failed to execute goal\n"},
	{"log", "dmesg", "[    0.000000] Linux version 6.1\n[    0.123456] pci 0000:00:01.0: enabled\n[   12.345678] usb 1-1: new device\n"},
	{"log", "compose", "web-1  | 2024-01-02T03:04:05Z GET /\ndb-1   | 2024-01-02T03:04:06Z ready\n"},
	{"log", "logcat", "01-02 03:04:05.678  1234  1234 E AndroidRuntime: FATAL EXCEPTION: main\n01-02 03:04:05.679  1234  1234 I Process: Sending signal\n"},
	{"log", "a trace inside", "2024-01-02 03:04:05 INFO start\n2024-01-02 03:04:06 ERROR boom\njava.lang.IllegalStateException: x\n\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)\n\tat a.B.e(B.java:3)\n2024-01-02 03:04:07 INFO on\n2024-01-02 03:04:08 INFO end\n"},
	{"log", "access log", "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a.gif HTTP/1.0\" 200 2326\n127.0.0.1 - bob [10/Oct/2000:13:55:37 -0700] \"POST /x HTTP/1.1\" 500 12 \"-\" \"curl/8\"\n"},

	{"stack trace", "Go panic", "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\nmain.f(0x5)\n\t/tmp/x.go:7 +0x1d\nmain.main()\n\t/tmp/x.go:11 +0x20\nexit status 2\n"},
	{"stack trace", "goroutines", "goroutine 1 [select]:\nmain.main()\n\t/tmp/x.go:11 +0x20\n\ngoroutine 18 [chan receive]:\nmain.worker(0xc000012345)\n\t/tmp/x.go:5 +0x45\ncreated by main.main in goroutine 1\n\t/tmp/x.go:9 +0x1c\n"},
	{"stack trace", "Java", "Exception in thread \"main\" java.lang.RuntimeException: a\n\tat com.x.Y.z(Y.java:1)\n\tat com.x.Y.main(Y.java:2)\nCaused by: java.io.IOException: b\n\tat com.x.W.v(W.java:3)\n\t... 1 more\n"},
	{"stack trace", "Python", "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    f()\n  File \"a.py\", line 2, in f\n    raise ValueError(\"x\")\nValueError: x\n"},
	{"stack trace", "Node", "TypeError: Cannot read properties of undefined (reading 'x')\n    at f (/app/a.js:1:2)\n    at Object.<anonymous> (/app/a.js:5:1)\n    at Module._compile (node:internal/modules/cjs/loader:1105:14)\n"},
	{"stack trace", "Rust", "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/x/library/std/src/panicking.rs:1:5\n   1: core::panicking::panic_fmt\n             at /rustc/x/library/core/src/panicking.rs:2:14\n   2: app::main\n             at ./src/main.rs:4:5\n"},
	{"stack trace", ".NET", "Unhandled exception. System.InvalidOperationException: x\n ---> System.IO.IOException: y\n   at A.B.C(String s) in /src/a.cs:line 12\n   at A.Program.Main(String[] args) in /src/p.cs:line 3\n"},
	{"stack trace", "Ruby", "a.rb:2:in `f': undefined method (NoMethodError)\n\tfrom a.rb:5:in `g'\n\tfrom a.rb:8:in `<main>'\n"},
	{"stack trace", "PHP", "PHP Fatal error:  Uncaught Exception: x in /a.php:3\nStack trace:\n#0 /a.php(7): f()\n#1 /a.php(9): g('x')\n#2 {main}\n  thrown in /a.php on line 3\n"},

	{"diff", "heads that do not agree", "--- a/x\ndiff --git a/R.md b/R.md\n--- a/y\n+++ b/z\n"},
	{"diff", "git", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"},
	{"diff", "plain", "--- old/x.txt\t2024-01-02\n+++ new/x.txt\t2024-01-03\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
	{"diff", "of Markdown", "diff --git a/R.md b/R.md\nindex 1..2 100644\n--- a/R.md\n+++ b/R.md\n@@ -1,3 +1,3 @@\n # Title\n-## Old\n+## New\n - item\n"},
	{"diff", "git log -p", "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: A <a@b>\nDate:   Mon Jan 1 00:00:00 2024 +0000\n\n    subject\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"},
	{"git log", "git log", "commit 0123456789abcdef0123456789abcdef01234567 (HEAD -> main)\nAuthor: A <a@b>\nDate:   Mon Jan 1 00:00:00 2024 +0000\n\n    subject: words\n\n    - point\n"},

	{"CSV", "", "id,name\n1,a\n2,\"b, c\"\n"},
	{"CSV", "line ends in cells", "id,name,n\n1,\"two\nlines, \"\"and\"\" more\n\",2\n2,\"a\n\",3\n"},
	{"CSV", "a short row", "id,name,n\n1,a,2\n2,b\n3,c,4\n4,d,5\n"},
	{"CSV", "times in the first column", "time,value,unit\n2024-01-02 03:04:05,1,a\n2024-01-02 03:04:06,2,b\n"},
	{"TSV", "", "id\tname\n1\ta\n2\tb\n"},

	{"Markdown", "", "# Title\n\nSome words.\n\n## Part\n\n- one\n- two\n"},
	{"Markdown", "much code", "# Use\n\nInstall it:\n\n```go\npackage main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"x\")\n\treturn\n}\n```\n\nand run.\n"},
	{"Markdown", "YAML inside", "Configure it so:\n\n```yaml\na: 1\nb: 2\nc:\n  - d\n```\n\nThen restart.\n"},
	{"Markdown", "a table", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"},
	{"Markdown", "list", "Things to do:\n\n- buy milk\n- call Bob\n- sleep well\n"},
	{"Markdown", "links", "See [one](https://a.b/c) for more.\n\nAnd [two](https://a.b/d) **now**.\n\nWords.\n"},
	{"Markdown", "underlined", "Title\n=====\n\nSome words here.\n\nPart\n----\n\nMore words.\n"},
	{"Markdown", "a changelog", "# Changelog\n\n## 1.2.0\n\n- fix: a thing\n- feat: another\n\n## 1.1.0\n\n- fix: first\n"},

	{"YAML", "", "name: a\nitems:\n  - x: 1\n  - x: 2\n"},
	{"YAML", "comments", "# Settings of the server\n# and of the client\nserver:\n  port: 80 # the port\n  host: example.org\n# the client\nclient:\n  retries: 3\n"},
	{"YAML", "block scalars", "name: CI\njobs:\n  build:\n    steps:\n      - run: |\n          if [ -f x ]; then\n            make all;\n          fi\n      - uses: a/b@v1\n"},
	{"YAML", "documents", "---\napiVersion: v1\nkind: Service\n---\napiVersion: v1\nkind: Pod\n"},
	{"YAML", "OpenAPI", "openapi: 3.0.0\ninfo:\n  title: A thing that does much for all of us\npaths:\n  /users/{id}:\n    get:\n      summary: Get one\n      responses:\n        \"200\":\n          description: OK\n"},
	{"page snapshot", "", "- generic [ref=e1]:\n  - heading \"A: b\" [level=1] [ref=e2]\n  - link \"More\" [ref=e3]:\n    - /url: /x\n"},
	{"page snapshot", "in Markdown", "### Page state\n- Page URL: http://x/\n- Page Title: T\n- Page Snapshot:\n```yaml\n- main [ref=e1]:\n  - button \"Go\" [ref=e2]\n  - textbox \"Name\" [ref=e3]\n  - paragraph [ref=e4]: Hello\n```\n"},

	{"HTML", "", "<html>\n<body>\n<h1>A</h1>\n</body>\n</html>\n"},
	{"HTML", "one line", "<!DOCTYPE html><html><head><title>x</title></head><body><p>a</p></body></html>"},
	{"HTML", "a fragment", "<div class=\"a\">\n  <p>Words <b>bold</b></p>\n  <ul>\n    <li>x</li>\n  </ul>\n</div>\n"},
	{"XML", "", "<?xml version=\"1.0\"?>\n<a>\n  <b c=\"1\"/>\n</a>\n"},
	{"XML", "without a head", "<project>\n  <modelVersion>4.0.0</modelVersion>\n  <groupId>x</groupId>\n</project>\n"},
	{"XML", "SVG", "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1 1\">\n  <path d=\"M0 0\"/>\n  <rect width=\"1\"/>\n</svg>\n"},

	{"source", "Go", "package a\n\nfunc b() {\n\treturn\n}\n"},
	{"source", "Python", "import os\n\n\nclass A:\n    \"\"\"Words: of it.\"\"\"\n\n    def b(self):\n        # comment\n        if self.x:\n            return os.getcwd()\n"},
	{"source", "Python, comments first", "# Copyright X\n# Licence: MIT\n\nimport sys\n\ndef main():\n    print(sys.argv)\n\nmain()\n"},
	{"source", "JavaScript", "'use strict';\n\nconst x = require('x');\n\nmodule.exports = function (a) {\n  if (a === 1) {\n    return x(a);\n  }\n};\n"},
	{"source", "JavaScript without semicolons", "import a from 'a'\n\nexport function b (c) {\n  const d = c.map(x => x.y)\n  return a(d)\n}\n"},
	{"source", "TypeScript", "export interface A {\n  b: string;\n  c?: number;\n}\nexport declare function d(e: A): void;\n"},
	{"source", "TSX", "import React from 'react';\n\nexport function A() {\n  return (\n    <div>\n      <p>Hi</p>\n    </div>\n  );\n}\n"},
	{"source", "Java", "package a.b;\n\nimport java.util.List;\n\npublic class C {\n    private final int d = 1;\n\n    public int e() {\n        return d;\n    }\n}\n"},
	{"source", "C", "#include <stdio.h>\n\n/* words */\nint main(void)\n{\n    printf(\"x\\n\");\n    return 0;\n}\n"},
	{"source", "C++", "#include <vector>\n\nnamespace a {\ntemplate <typename T>\nclass B : public C<T> {\n public:\n  void d() const;\n};\n}\n"},
	{"source", "Rust", "use std::fmt;\n\npub struct A {\n    b: u32,\n}\n\nimpl A {\n    pub fn new() -> Self {\n        A { b: 1 }\n    }\n}\n"},
	{"source", "Ruby", "require 'json'\n\nmodule A\n  class B < C\n    attr_reader :d\n\n    def e(f)\n      @d = f\n    end\n  end\nend\n"},
	{"source", "PHP", "<?php\n\nnamespace A;\n\nclass B {\n    public function c($d) {\n        return $this->d;\n    }\n}\n"},
	{"source", "SQL", "CREATE TABLE users (\n  id INTEGER PRIMARY KEY,\n  name TEXT NOT NULL\n);\n\nSELECT id, name\nFROM users\nWHERE id > 3;\n"},
	{"source", "shell", "#!/bin/sh\nset -e\n\n# build it\nfor f in *.c; do\n  cc -c \"$f\"\ndone\necho done\n"},
	{"plain text", "shell without #!", "set -e\nexport A=1\nif [ -z \"$B\" ]; then\n  echo \"no B\"\n  exit 1\nfi\ncurl -s x | sh\n"},
	{"source", "CSS", ".a {\n  color: red;\n  margin: 0 auto;\n}\n\n@media print {\n  .b { display: none; }\n}\n"},
	{"plain text", "Makefile", "CC := gcc\n\nall: a b\n\na: a.c\n\t$(CC) -o $@ $<\n\n.PHONY: clean\nclean:\n\trm -f a b\n"},
	{"plain text", "Dockerfile", "FROM golang:1.26\nWORKDIR /src\nCOPY . .\nRUN go build ./...\nCMD [\"/app\"]\n"},
	{"source", "Kotlin", "package a\n\nimport b.c\n\ndata class D(val e: Int)\n\nfun f(g: D): Int {\n    return g.e\n}\n"},
	{"source", "Lua", "local M = {}\n\nfunction M.a(b)\n  if b then\n    return 1\n  end\nend\n\nreturn M\n"},
	{"source", "Terraform", "resource \"aws_x\" \"y\" {\n  name = \"z\"\n  size = 3\n}\n\nvariable \"a\" {\n  default = 1\n}\n"},

	{"file list", "paths", "./a/b.go\n./a/c.go\n./d/e.md\n./f\n./g/h/i.txt\n"},
	{"file list", "marks", "[DIR] src\n[FILE] a.go\n[FILE] b.go\n[FILE] c d.txt\n[FILE] e\n"},
	{"tree of files", "ls -R", "a:\nb\nc.go\n\na/b:\nd.go\n"},
	{"tree of files", "du -a", "4\ta/b.go\n8\ta/c.go\n4\ta/d/e.go\n16\ta\n"},
	{"git log", "oneline", "c1c5e57 bench: one\n744d955 guard: two\n0765cd7 metrics: three\n296d092 relay: four\n"},
	{"git log", "a graph", "*   c1c5e57 Merge a\n|\\  \n| * 744d955 guard: two\n* | 0765cd7 metrics: three\n|/  \n* 296d092 relay: four\n"},
	{"git blame", "", "277c7429 (Ann B 2026-11-22 06:11:11 +0000   1) package rpc\n^77c7421 a/b.go (Bo 2026-11-22 06:11:11 +0000   2) \n277c7429 (Ann B 2026-11-22 06:11:11 +0000   3) x\n"},
	{"diff", "a merge", "diff --cc a.go\nindex 1,2..3\n--- a/a.go\n+++ b/a.go\n@@@ -1,2 -1,2 +1,2 @@@\n  x\n- y\n -z\n++w\n"},
	{"table", "kubectl", "NAME    READY   STATUS\na-1     1/1     Running\nb-22    1/1     Running\nc-333   0/1     Error\n"},
	{"matches", "grep -C", "a/b.go-11-x\na/b.go:12:\tfoo(bar)\na/b.go-13-}\n--\nc.go-2-x\nc.go:3:func foo(x int) {\nc.go-4-x\n"},
	{"matches", "grep -n", "a/b.go:12:\tfoo(bar)\na/b.go:17:\tfoo(baz)\nc.go:3:func foo(x int) {\n"},
	{"output of tools", "compiler", "./x.go:3:5: undefined: y\n./x.go:9:2: missing return\n"},

	{"configuration", "PostgreSQL's", "# -----\n# PostgreSQL configuration file\n# -----\n#\n# This file consists of lines of the form:\n\n#-----\n# CONNECTIONS\n#-----\n\n# - Settings -\n\n#port = 5432\t\t# (change requires restart)\n\t\t\t# words\nport = 5433\nlisten = 'a, b'\n\n# more words\n\n"},
	{"configuration", "all in comments", "# Words of it.\n\n# Default: 1\n#A_B=1\n\n# Words\n#C=x y\n\n#D=\n"},
	{"configuration", "INI", "; words\n[a]\nx = 1\n  y = 2\n\n[b]\nz = 3\n"},
	{"configuration", "INI without comments", "[Unit]\nDescription=A thing, for words\nAfter=b.target\n\n[Service]\nExecStart=/bin/a \\\n  --b\n"},
	{"configuration", "TOML", "# words\n[a]\nx = [\n  \"b\",\n]\ny = 2\n\n[[c]]\nz = \"d\"\n"},
	{"configuration", "sshd", "# words of it\n\nInclude /etc/ssh/*.conf\n\n#Port 22\n#AddressFamily any\n#ListenAddress 0.0.0.0\n\nPermitRootLogin no\nSubsystem\tsftp\t/usr/lib/sftp\n"},
	{"Markdown", "settings in a shell", "# Title\n\nRun it with:\n\n```sh\nA=1\nB=2\nC=3\n```\n\n## More\n\nWords.\n"},
	{"plain text", "settings indented", "# Title\n\n    A=1\n    B=2\n    C=3\n\n## More\n\n    D=4\n"},
	{"Markdown", "headings and settings", "# Title\n\nSet these.\n\n## A\n\nA=1\n\n## B\n\nB=2\nC=3\n"},
	{"plain text", "settings alone", "A=1\nB=2\nC=3\n"},
	{"plain text", "a script with comments", "# words\nA=1\nB=2\nC=$A\n# more\nmake all\nexport D=1\n"},
	{"plain text", "npm ls", "a@1.0.0 /srv/a\n├─┬ b@1.0.0\n│ └── c@2.0.0\n└── d@1.0.0\n"},
	{"plain text", "TOML", "# Settings\n\n# of the server\n\n[server]\nport = 80\n\n[[user]]\nname = \"a\"\n"},
	{"plain text", "an object of JavaScript", "x = {\n  quot: '\"',\n  amp: '&',\n  apos: 'a',\n  lt: '<',\n  gt: '>',\n  nbsp: ' ',\n  iexcl: 'b',\n"},
	{"plain text", "a dictionary of Python", "ORDER = [\n    38: 0,  # 'a'\n    18: 2,  # 'b'\n    54: 0,  # 'c'\n    9: 1,  # 'd'\n    20: 1,  # 'e'\n"},
	{"plain text", "prose", "Some words.\nAnd more of them.\n"},
	{"plain text", "empty", ""},
	{"plain text", "spaces", "  \n\n "},
	{"plain text", "colons", "Dear Bob:\n\nPlease note: the meeting was moved to Monday, as agreed with all of us.\nBring this: pen, paper and a good deal of patience for the day.\n\nYours: Ann\n"},
	{"plain text", "commas", "Roses are red, violets are blue.\nSugar is sweet, and so are you.\nThis is a line, which is not a table.\n"},
	{"plain text", "list", "apple\nbanana\ncherry\ndate\n"},
	{"plain text", "ls -l", "total 12\ndrwxr-xr-x 2 root root 4096 Jan  1 10:00 bin\n-rw-r--r-- 1 root root  220 Jan  1 10:00 a.txt\n-rw-r--r-- 1 root root  807 Jan  2 11:30 b.go\n"},
	{"plain text", "numbers", "1700000001\n1700000002\n1700000003\n"},
	{"plain text", "times of day", "12:30 lunch with Ann\n14:00 call with Bob\n16:45 train home\n"},
	{"plain text", "a word that is long", strings.Repeat("x", 5000)},
	{"plain text", "prose about code", "The function returns a class of errors, and if you let it run for long then the import of data may fail.\nUse the interface with care, as types may differ between the versions that you have installed there.\n"},
	{"tree of files", "tree", ".\n├── a\n│   └── b.go\n└── c.md\n\n2 directories, 2 files\n"},

	{"broken JSON", "", "{\"a\": 1,\n \"b\": [1, 2\n"},
	{"broken JSON", "comma", "[{\"a\": 1}, {\"b\": 2},]"},
	{"JSON Lines and text", "", "starting\n{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n"},
	{"base64", "", base64.StdEncoding.EncodeToString([]byte(strings.Repeat("some text, 123 of IT\x80\x99", 20)))},
	{"base64", "in lines", lines76(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("some text, 123 of IT", 20))))},
	{"base64", "data URI", "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"+strings.Repeat("\x00IHDRabc\x01\x99", 20)))},
	{"binary", "", "a\x00b"},
}

func lines76(s string) string {
	var b strings.Builder
	for len(s) > 76 {
		b.WriteString(s[:76] + "\n")
		s = s[76:]
	}
	return b.String() + s + "\n"
}
