package records

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/bench/corpus"
	"rlmproxy/bench/outputs"
	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
)

// of returns the records of a text, "" if it has none.
func of(t testing.TB, text string) (records, form string) {
	t.Helper()
	r, ok, err := Of(context.Background(), doc.Recognise([]byte(text), nil))
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return "", ""
	}
	return strings.TrimSuffix(string(r.Data), "\n"), r.Form
}

func TestLogRecords(t *testing.T) {
	many, pairs := "level=INFO", `"k0":0`
	for i := range 101 {
		many += fmt.Sprintf(" k%d=%d", i, i)
		if i > 0 && i < maxPairs-1 {
			pairs += fmt.Sprintf(`,"k%d":%d`, i, i)
		}
	}
	const time = "2026-01-02 03:04:05"
	for _, tt := range []struct{ name, in, want string }{
		{"python", time + ",123 ERROR [db.pool] gone: x\nTraceback (most recent call last):\n  File \"a.py\"\nValueError: x\n" + time + ",124 INFO [db] ok\n" + time + ",125 INFO [db] ok\n",
			`{"time":"2026-01-02 03:04:05,123","level":"ERROR","tag":"db.pool","message":"gone: x\nTraceback (most recent call last):\n  File \"a.py\"\nValueError: x"}` + "\n" + `{"time":"2026-01-02 03:04:05,124","level":"INFO","tag":"db","message":"ok"}` + "\n" + `{"time":"2026-01-02 03:04:05,125","level":"INFO","tag":"db","message":"ok"}`},
		{"log4j", time + " [main] WARN  a.B - slow\n" + time + " [main] INFO  a.B - ok\n",
			`{"time":"2026-01-02 03:04:05","level":"WARN","source":"main","message":"a.B - slow"}` + "\n" + `{"time":"2026-01-02 03:04:05","level":"INFO","source":"main","message":"a.B - ok"}`},
		{"log4js", "[2026-01-02T03:04:05.123] [ERROR] app - a b\n[2026-01-02T03:04:06.123] [INFO] app - c\n",
			`{"time":"2026-01-02T03:04:05.123","level":"ERROR","message":"app - a b"}` + "\n" + `{"time":"2026-01-02T03:04:06.123","level":"INFO","message":"app - c"}`},
		{"zap", "2026-01-02T03:04:05.1Z\tinfo\tapi\tserver.go:3\tstarted\t{\"port\": 80}\n2026-01-02T03:04:05.1Z\tERROR\tapi\tx\n",
			`{"time":"2026-01-02T03:04:05.1Z","message":"info\tapi\tserver.go:3\tstarted\t{\"port\": 80}","fields":{"port": 80}}` + "\n" + `{"time":"2026-01-02T03:04:05.1Z","level":"ERROR","message":"api\tx"}`},
		{"many pairs", many + "\n" + many + "\n", `{"level":"INFO",` + pairs + `,"rest":"k99=99 k100=100"}` + "\n" + `{"level":"INFO",` + pairs + `,"rest":"k99=99 k100=100"}`},
		{"logfmt", "time=2026-01-02T03:04:05Z level=INFO msg=\"a \\\"b\\\"\" n=3 n=4\nlevel=WARN msg=x took=1.5s\n",
			`{"time":"2026-01-02T03:04:05Z","level":"INFO","msg":"a \"b\"","n":3}` + "\n" + `{"level":"WARN","msg":"x","took":"1.5s"}`},
		{"syslog", "Jan  2 03:04:05 web1 sshd[12]: Accepted x\nJan  2 03:04:06 web1 kernel: hi there\n",
			`{"time":"Jan  2 03:04:05","host":"web1","program":"sshd","pid":12,"message":"Accepted x"}` + "\n" + `{"time":"Jan  2 03:04:06","host":"web1","program":"kernel","message":"hi there"}`},
		{"postgres", time + ".1 UTC [7] bench db ERROR:  no such table\n" + time + ".1 UTC [7] LOG:  x\n\tselect 1\n",
			`{"time":"2026-01-02 03:04:05.1 UTC","level":"ERROR","pid":7,"source":"bench db","message":"no such table"}` + "\n" + `{"time":"2026-01-02 03:04:05.1 UTC","level":"LOG","pid":7,"message":"x\n\tselect 1"}`},
		{"access", "1.2.3.4 - ann [02/Jan/2026:03:04:05 +0000] \"GET /a?q=\\\"1 HTTP/1.1\" 404 12 \"-\" \"curl/8\"\n::1 - - [02/Jan/2026:03:04:05 +0000] \"\\x16\" 400 -\n",
			`{"ip":"1.2.3.4","user":"ann","time":"02/Jan/2026:03:04:05 +0000","method":"GET","path":"/a","query":"q=\\\"1","protocol":"HTTP/1.1","status":404,"bytes":12,"agent":"curl/8"}` + "\n" + `{"ip":"::1","time":"02/Jan/2026:03:04:05 +0000","request":"\\x16","status":400}`},
		{"pairs in a message", time + " [INFO] agent: joined: node=\"a b\" n=3, time=4\n" + time + " [INFO] x\n" + strings.Repeat(time+" [INFO] n=5 -7=b .c=d once=1\n", 2),
			`{"time":"2026-01-02 03:04:05","level":"INFO","message":"agent: joined: node=\"a b\" n=3, time=4","n":3}` + "\n" + `{"time":"2026-01-02 03:04:05","level":"INFO","message":"x"}` + strings.Repeat("\n"+`{"time":"2026-01-02 03:04:05","level":"INFO","message":"n=5 -7=b .c=d once=1","n":5}`, 2)},
		{"pairs of few among many", strings.Repeat(time+" [INFO] rare=1 n=1\n", 3) + strings.Repeat(time+" [INFO] n=1\n", 148),
			strings.Repeat(`{"time":"2026-01-02 03:04:05","level":"INFO","message":"rare=1 n=1","n":1}`+"\n", 3) + strings.TrimSuffix(strings.Repeat(`{"time":"2026-01-02 03:04:05","level":"INFO","message":"n=1","n":1}`+"\n", 148), "\n")},
		{"brackets in a tag", time + " [myid:2] - INFO  [Peer[myid=2](plain=a)[b]:X@1] - ok\n" + time + " [] - INFO  [a [b] - c\n",
			`{"time":"2026-01-02 03:04:05","level":"INFO","source":"myid:2","tag":"Peer[myid=2](plain=a)[b]:X@1","message":"ok"}` + "\n" + `{"time":"2026-01-02 03:04:05","level":"INFO","message":"[a [b] - c"}`},
		{"a level within a sentence", time + " job is done, no ERROR found\n" + time + " [9] ok\n",
			`{"time":"2026-01-02 03:04:05","level":"ERROR","message":"job is done, no ERROR found"}` + "\n" + `{"time":"2026-01-02 03:04:05","tag":"9","message":"ok"}`},
		{"no times", "ERROR: a\nWARNING: b\n", `{"level":"ERROR","message":"a"}` + "\n" + `{"level":"WARNING","message":"b"}`},
		{"a banner", "server v1\n" + time + " INFO a\n" + time + " INFO b\n" + time + " INFO c\n" + time + " INFO d\n",
			`{"message":"server v1"}` + "\n" + strings.Join([]string{`{"time":"2026-01-02 03:04:05","level":"INFO","message":"a"}`, `{"time":"2026-01-02 03:04:05","level":"INFO","message":"b"}`, `{"time":"2026-01-02 03:04:05","level":"INFO","message":"c"}`, `{"time":"2026-01-02 03:04:05","level":"INFO","message":"d"}`}, "\n")},
		{"half of it is no log", strings.Repeat(time+" INFO a\nsome words\nand more\n", 10), ""},
	} {
		got, _ := of(t, tt.in)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s:\n%s", tt.name, d)
		}
	}
}

func TestGitRecords(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	const commit = "commit " + hash + " (HEAD -> main, tag: v1)\nAuthor: Ann B <ann@b.example>\nDate:   Fri Jan 2 03:04:05 2026 +0000\n\n    subject: a\n\n    body\n    more\n\n"
	const fields = `{"hash":"` + hash + `","refs":"HEAD -> main, tag: v1","author":"Ann B","email":"ann@b.example","date":"Fri Jan 2 03:04:05 2026 +0000","subject":"subject: a","body":"body\nmore"`
	const diff = "diff --git a/x.go b/x.go\nindex 1..2 100644\n--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,2 @@ func f()\n a\n--- b\n-c\n+++ d\n"
	const file = `{"path":"x.go","status":"modified","added":1,"deleted":2,"hunks":[{"header":"@@ -1,3 +1,2 @@ func f()","lines":" a\n--- b\n-c\n+++ d"}]}`
	for _, tt := range []struct{ name, in, want string }{
		{"log", commit + "commit " + hash + "\nMerge: 1 2\nAuthor: A <>\n\n    s\n", fields + "}\n" + `{"hash":"` + hash + `","merge":"1 2","author":"A","subject":"s"}`},
		{"patch", commit + diff + "\n" + commit, fields + `,"files":[` + file + "]}\n" + fields + "}"},
		{"stat", commit + " x.go        |  3 ++-\n long/y.bin  | Bin 0 -> 9 bytes\n z | 900 +++--\n 3 files changed, 2 insertions(+), 1 deletion(-)\n",
			fields + `,"files":[{"path":"x.go","status":"modified","added":2,"deleted":1},{"path":"long/y.bin","status":"binary"},{"path":"z","status":"modified"}]}`},
		{"name-status", commit + "M\tx.go\nR100\ta\tb\n", fields + `,"files":[{"path":"x.go","status":"modified"},{"path":"b","old_path":"a","status":"renamed"}]}`},
		{"numstat", commit + "3\t1\tx.go\n-\t-\ty\n", fields + `,"files":[{"path":"x.go","status":"modified","added":3,"deleted":1},{"path":"y","status":"modified"}]}`},
		{"stat and patch", commit + " x.go | 3 +--\n 1 file changed\n\n" + diff, fields + `,"files":[` + file + "]}"},
		{"diff", diff, file},
		{"new, deleted, renamed, binary", "diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n" +
			"diff --git a/d b/d\ndeleted file mode 100644\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" +
			"diff --git a/o b/p\nsimilarity index 100%\nrename from o\nrename to p\ndiff --git a/i.png b/i.png\nindex 1..2\nBinary files a/i.png and b/i.png differ\n",
			`{"path":"n","status":"added","added":1,"deleted":0,"hunks":[{"header":"@@ -0,0 +1 @@","lines":"+x\n\\ No newline at end of file"}]}` + "\n" +
				`{"path":"d","status":"deleted","added":0,"deleted":1,"hunks":[{"header":"@@ -1 +0,0 @@","lines":"-x"}]}` + "\n" +
				`{"path":"p","old_path":"o","status":"renamed","added":0,"deleted":0}` + "\n" + `{"path":"i.png","status":"binary","added":0,"deleted":0}`},
		{"plain diff", "--- a.txt\t2026-01-02\n+++ b.txt\t2026-01-02\n@@ -1 +1 @@\n-x\n+y\n", `{"path":"b.txt","old_path":"a.txt","status":"modified","added":1,"deleted":1,"hunks":[{"header":"@@ -1 +1 @@","lines":"-x\n+y"}]}`},
		{"of svn, and a binary one", "Index: x\n=====\n--- x\t(revision 1)\n+++ x\t(working copy)\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/i b/i\nGIT binary patch\nliteral 9\nzcmaaa\n\nzb\n",
			`{"path":"x","status":"modified","added":1,"deleted":1,"hunks":[{"header":"@@ -1 +1 @@","lines":"-a\n+b"}]}` + "\n" + `{"path":"i","status":"binary","added":0,"deleted":0}`},
		{"combined", "diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,3 @@@\n  a\n++b\n +c\n- d\n",
			`{"path":"x","status":"modified","added":2,"deleted":1,"hunks":[{"header":"@@@ -1,2 -1,2 +1,3 @@@","lines":"  a\n++b\n +c\n- d"}]}`},
		{"a diff in prose", "Please apply this.\nIt is good.\nVery good.\nYes.\n" + diff + "\nThanks.\nAnn\n", ""},
	} {
		got, _ := of(t, tt.in)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s:\n%s", tt.name, d)
		}
	}
}

// TestOutputs: records of real texts are JSON, of strings that the text has.
func TestOutputs(t *testing.T) {
	for _, name := range outputs.Names() {
		data, err := outputs.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		checkRecords(t, data)
	}
	data, err := corpus.Open("postgres.log")
	if err != nil {
		t.Fatal(err)
	}
	checkRecords(t, data)
}

// literal are the forms whose strings stand in the text as they are.
var literal = map[string]bool{"log": true, "diff": true, "git log": true}

// checkRecords holds what is true of the records of any text.
func checkRecords(t *testing.T, data []byte) {
	t.Helper()
	r, ok, err := Of(context.Background(), doc.Recognise(data, nil))
	if err != nil || !ok {
		return
	}
	n := 0
	for line := range jsonscan.Lines(r.Data) {
		if n++; !jsonscan.Valid(line, doc.MaxDepth) {
			t.Fatalf("%s: not JSON: %.300s", r.Form, line)
		}
	}
	if want := doc.Counted(r.Kind, r.Data, nil); want.Items != r.Items || r.Kind == doc.JSON && !doc.IsDocument(r.Data) {
		t.Fatalf("%s: %d items of %d lines", r.Form, r.Items, n)
	}
	if !literal[r.Form] || bytes.IndexByte(data, '\\') >= 0 || bytes.IndexByte(data, '\r') >= 0 || !bytes.Equal(bytes.ToValidUTF8(data, nil), data) {
		return
	}
	whole := bytes.ReplaceAll(data, []byte("\n    "), []byte("\n")) // the bodies of commits
	for line := range jsonscan.Lines(r.Data) {
		for key, value := range jsonscan.Fields(line) {
			if name := jsonscan.Unquote(key); value[0] == '"' && name != "status" {
				if s := []byte(jsonscan.Unquote(value)); !bytes.Contains(data, s) && !bytes.Contains(whole, s) {
					t.Fatalf("%s: %s is not in the text: %q", r.Form, name, s)
				}
			}
		}
	}
}

func FuzzRecords(f *testing.F) {
	for _, name := range outputs.Names() {
		if data, err := outputs.Open(name); err == nil {
			f.Add(data[:min(len(data), 3000)])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkRecords(t, data) })
}

// lateContext is one whose deadline has passed, though its timer has not gone off yet.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Unix(0, 0), true }

// TestCancelled: a text is read no further than the caller waits, and what was read until
// then is not all.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, text := range []string{
		strings.Repeat("2026-01-02 03:04:05 INFO a\n", 5000),
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9000 +1,9000 @@\n" + strings.Repeat(" a\n", 9000),
		"<html>\n<table>" + strings.Repeat("<tr><td>a<td>1</tr>\n", 5000) + "</table>",
		"<?xml version=\"1.0\"?>\n<a>" + strings.Repeat("<b>1</b>\n", 5000) + "</a>",
		strings.Repeat("- a: 1\n  b: 2\n", 5000),
	} {
		for _, ctx := range []context.Context{ctx, lateContext{context.Background()}} {
			if _, ok, err := Of(ctx, doc.Recognise([]byte(text), doctest.MemoMap())); ok || err == nil {
				t.Errorf("%.20s: %v %v", text, ok, err)
			}
		}
	}
}

// TestBlanks: tables made of blanks, with names in capitals.
func TestBlanks(t *testing.T) {
	row := "web-%d    1/1     Running            %d          3d\n"
	text := "NAME     READY   STATUS             RESTARTS   AGE\n"
	for i := range 9 {
		text += fmt.Sprintf(row, i, i)
	}
	text += "api-2    0/1     CrashLoopBackOff   12         3d\n"
	r, ok, err := Of(t.Context(), doc.Recognise([]byte(text), nil))
	if err != nil || !ok || r.Items != 10 || r.Form != "table" {
		t.Fatalf("%+v, %v, %v", r, ok, err)
	}
	const last = `{"NAME":"api-2","READY":"0/1","STATUS":"CrashLoopBackOff","RESTARTS":12,"AGE":"3d"}` + "\n"
	if !strings.HasSuffix(string(r.Data), last) {
		t.Errorf("%s", r.Data)
	}
}
