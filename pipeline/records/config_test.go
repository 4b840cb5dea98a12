package records

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/pipeline/doc"
)

func TestYAMLRecords(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"kinds", "a: 1\nb: 0x10\nc: 1.50\nd: yes\ne: true\nf: ~\ng: 2026-01-02\nh: .nan\ni: '1'\n", `{"a":1,"b":16,"c":1.50,"d":"yes","e":true,"f":null,"g":"2026-01-02","h":".nan","i":"1"}`},
		{"order and lists", "z:\n  - x: 1\n  - [a, {b: c}]\na: |\n  one\n  two\n", `{"z":[{"x":1},["a",{"b":"c"}]],"a":"one\ntwo\n"}`},
		{"aliases and merges", "base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\nagain: *b\n", `{"base":{"x":1,"y":2},"use":{"y":3,"x":1},"again":{"x":1,"y":2}}`},
		{"documents", "a: 1\nb: 2\n---\nc: 3\n---\n", `[{"a":1,"b":2},{"c":3}]`},
		{"tags of its own", "a: !Ref x\nb: !Sub {c: d}\n", `{"a":"x","b":{"c":"d"}}`},
		{"a template", "a: 1\nb: {{ .Values.x }}\nc: 3\n", ""},
		{"an alias of itself", "a: &a [*a]\nb: 1\n", ""},
		{"a key that is a list", "? [a, b]\n: 1\nc: 2\nd: 3\n", ""},
	} {
		got, _ := of(t, tt.in)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s:\n%s", tt.name, d)
		}
	}
}

func TestConfigRecords(t *testing.T) {
	for _, tt := range []struct{ name, in, form, want string }{
		{"TOML", "# c\ntitle = \"x\"\n[owner]\nborn = 1979-05-27T07:32:00Z\nn = 1_000\n[[p]]\na = [1, 2.5]\n", "TOML", `{"owner":{"born":"1979-05-27T07:32:00Z","n":1000},"p":[{"a":[1,2.5]}],"title":"x"}`},
		{"INI", "; c\ntop = 1\n[a b]\nx = 1 = 2\ny: = z\n", "", ""},
		{"sections", "; c\ntop = 1\n[a b]\nx = 1 = 2\nx = \"q\"\n[c]\n[a b]\nz =\n", "INI", `{"top":"1","a b":{"x":["1 = 2","q"],"z":""},"c":{}}`},
		{"of git", "[user]\n\tname = A B\n\temail = a@b\n[core]\n\tbare = false\n", "INI", `{"user":{"name":"A B","email":"a@b"},"core":{"bare":"false"}}`},
		{"of setuptools", "[options]\nname = x\ninstall_requires =\n    foo==1.0\n    bar\nzip_safe = no\n", "INI", `{"options":{"name":"x","install_requires":"\nfoo==1.0\nbar","zip_safe":"no"}}`},
		{".properties", "! c\na.b=1\nlong=one \\\n  two\nc.d=x\n", "properties", `{"a.b":"1","long":"one \ntwo","c.d":"x"}`},
		{"of PostgreSQL", "#----\n# FILE\n#----\n\n#port = 1\nport = 2\t# words\nname = 'a b'\nport = 3\n", "properties", `{"port":["2\t# words","3"],"name":"a b"}`},
		{".env", "export A=1\nB='x y'\nC=\n", "properties", `{"A":"1","B":"x y","C":""}`},
		{"a key and a section", "a = b c\nd = e f\n[a]\nx = y z\n", "", ""},
		{"code", "x = f(1)\ny = g(x)\nprint(y)\n", "", ""},
		{"prose", "Dear all,\nx = 1 and so on.\ny = 2\nz = 3\n", "", ""},
		{"XML", "<?xml version=\"1.0\"?>\n<!-- c -->\n<a:r x=\"1\" xmlns:a=\"u\">\n <b>1</b>\n <c/>\n <b k=\"v\">t&amp;u</b> tail\n</a:r>\n", "XML", `{"a:r":{"@x":"1","@xmlns:a":"u","b":["1",{"@k":"v","#text":"t&u"}],"c":"","#text":"tail"}}`},
		{"XML that is not closed", "<?xml version=\"1.0\"?>\n<a>\n<b>\n</a>\n", "", ""},
		{"XML with an entity of its own", "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY x \"y\">]>\n<a>&x;</a>\n", "", ""},
	} {
		got, form := of(t, tt.in)
		if d := cmp.Diff(tt.want, got); d != "" || form != tt.form {
			t.Errorf("%s: %s\n%s", tt.name, form, d)
		}
	}
}

func TestHTMLRecords(t *testing.T) {
	const page = "<html><body>\n"
	for _, tt := range []struct{ name, in, want string }{
		{"one table", page + "<table><tr><th>Name<th>N &amp; M</tr>\n<tr><td><a href=x>a <b>b</b></a><td>1</tr><tr><td>c<script>x</script><td>1,2</table>", `{"Name":"a b","N & M":1}` + "\n" + `{"Name":"c","N & M":"1,2"}`},
		{"two tables", page + "<h2>First</h2><table><tr><th>a<th>b<tr><td>1<td>2</table><h2>Second</h2><table><caption>cap</caption><tr><th>a<th>a<tr><td>1<td>2</table>",
			`{"table":1,"under":"First","a":1,"b":2}` + "\n" + `{"table":2,"under":"cap","a":1,"a_2":2}`},
		{"spans", page + "<table><tr><th>a<th>b<th>c<tr><td rowspan=2>x<td colspan=2>y<tr><td>1<td>2</table>", `{"a":"x","b":"y","c":"y"}` + "\n" + `{"a":"x","b":1,"c":2}`},
		{"no header", page + "<table><tr><td>a<td>1<tr><td>b<td>2<td>3</table>", `{"c1":"a","c2":1}` + "\n" + `{"c1":"b","c2":2,"c3":3}`},
		{"a table for the layout", page + "<table><tr><td><table><tr><th>a<th>b<tr><td>1<td>2</table><td>x</table>", `{"a":1,"b":2}`},
		{"a table that does not end", page + "<table><tr><th>a<th>b<tr><td>1<td>2</table><table><tr><th>c<th>d<tr><td>3<td>4\n<tr><td>5<td>6", `{"table":1,"a":1,"b":2}` + "\n" + `{"table":2,"c":3,"d":4}` + "\n" + `{"table":2,"c":5,"d":6}`},
		{"short cells", page + "<table><tr><th>a<th>b" + strings.Repeat("<tr><td>1<td>2", 20) + "</table>", strings.TrimSpace(strings.Repeat(`{"a":1,"b":2}`+"\n", 20))},
		{"a long cell", page + "<table><tr><th>a<th>b<tr><td>" + strings.Repeat("x<i>y</i>", 3000) + "<td>2</table>", `{"a":"` + strings.Repeat("xy", 3000) + `","b":2}`},
		{"too many columns", page + "<table><tr><th>a<th>b<tr>" + strings.Repeat("<td>1", 501) + "</table>", ""},
		{"none", page + "<p>text\n<p>more\n", ""},
	} {
		got, _ := of(t, tt.in)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s:\n%s", tt.name, d)
		}
	}
}

// TestHostileForms: what would take a parser's stack, or much more memory than the text
// has, is text; and the answer comes in time.
func TestHostileForms(t *testing.T) {
	laughs := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		p := string(c - 1)
		laughs += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+p+", ", 8) + "*" + p + "]\n"
	}
	merges := "a: &a {x: 1}\n"
	for c := 'b'; c < 'm'; c++ {
		p := string(c - 1)
		merges += string(c) + ": &" + string(c) + "\n  <<: [" + strings.Repeat("*"+p+", ", 8) + "*" + p + "]\n"
	}
	tables := ""
	for i := range 2000 {
		tables += fmt.Sprintf("[c%d.%sx]\n", i, strings.Repeat("a.", 490))
	}
	deep := strings.Repeat("[", 300_000)
	for _, tt := range []struct{ name, text string }{
		{"aliases of aliases", laughs},
		{"merges of merges", merges},
		{"YAML brackets", "a: 1\nb: 2\nc: " + deep},
		{"YAML indents", "a: 1\n" + strings.Repeat("- ", 20_000) + "x\n"},
		{"TOML brackets", "a = 1\nb = " + deep},
		{"TOML brackets with strings", "a = 1\nb = " + strings.Repeat("[\"]\", ", 50_000)},
		{"TOML tables", "a = 1\n[" + strings.Repeat("a.", 1_900_000) + "b]\n"},
		{"TOML keys of many parts", "a = 1\nb = 2\n" + tables},
		{"XML elements", "<?xml version=\"1.0\"?>\n" + strings.Repeat("<a>", 200_000)},
		{"HTML tables", "<html>\n" + strings.Repeat("<table><tr><td>", 100_000)},
		{"HTML spans", "<html>\n<table>" + strings.Repeat("<tr><td rowspan=200 colspan=200>some text in it", 3_000)},
		{"HTML spans of a long text", "<html>\n<table><tr><td colspan=200>" + strings.Repeat("some words ", 500_000) + "<td>x</table>"},
		{"hunks", "diff --git a/x b/x\n--- a/x\n+++ b/x\n" + strings.Repeat("@@ -1,999999999 +1,999999999 @@\n", 50_000)},
		{"pairs", "2026-01-02 03:04:05 INFO a\n" + strings.Repeat("2026-01-02 03:04:05 INFO "+strings.Repeat("a=1 ", 20_000)+"\n", 20)},
		{"one value", "a = b\nc = d\ne =\n" + strings.Repeat(" a\n", 390_000)},
		{"one key", "a = b c\n" + strings.Repeat("a = b c\n", 100_000)},
	} {
		begin := time.Now()
		r, ok, err := Of(context.Background(), doc.Recognise([]byte(tt.text), nil))
		if took := time.Since(begin); took > 5*time.Second || err != nil || ok && len(r.Data) > 4*len(tt.text)+2000 {
			t.Errorf("%s: %d bytes of %d in %s, %v", tt.name, len(r.Data), len(tt.text), took, err)
		}
	}
}
