package records

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/bench/corpus"
	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/show"
)

func TestCSVRecords(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"header", "id,name\n1,ann\n2,bob\n", `{"id":1,"name":"ann"}` + "\n" + `{"id":2,"name":"bob"}` + "\n"},
		{"TSV, CRLF, no end", "a\tb\r\n1\tx y\r\n2\t", `{"a":1,"b":"x y"}` + "\n" + `{"a":2,"b":""}` + "\n"},
		{"semicolons", "a;b\n1;2,5\n3;4,5\n", `{"a":1,"b":"2,5"}` + "\n" + `{"a":3,"b":"4,5"}` + "\n"},
		{"numbers", "a,b,c,d\n1e5,-3.2,01234,+1\n-0,0.10,1.,.5\n", `{"a":"1e5","b":-3.2,"c":"01234","d":"+1"}` + "\n" + `{"a":"-0","b":0.10,"c":"1.","d":".5"}` + "\n"},
		{"words", "a,b\ntrue,null\nNaN,Infinity\n", `{"a":"true","b":"null"}` + "\n" + `{"a":"NaN","b":"Infinity"}` + "\n"},
		{"spaces stay", "a, b\nx, 1\n y,2\n", `{"a":"x","b":" 1"}` + "\n" + `{"a":" y","b":2}` + "\n"},
		{"no header", "1,ann\n2,bob\n3,eve\n", `{"c1":1,"c2":"ann"}` + "\n" + `{"c1":2,"c2":"bob"}` + "\n" + `{"c1":3,"c2":"eve"}` + "\n"},
		{"names", ",a,a,a_2,\nx,x,x,x,x\ny,y,y,y,y\n", `{"column_1":"x","a":"x","a_2":"x","a_2_2":"x","column_5":"x"}` + "\n" + `{"column_1":"y","a":"y","a_2":"y","a_2_2":"y","column_5":"y"}` + "\n"},
		{"BOM", "\ufeffid,n\na,b\nc,d\n", `{"id":"a","n":"b"}` + "\n" + `{"id":"c","n":"d"}` + "\n"},
		{"blank lines", "a,b\n\nx,y\n  \n\r\nz,w\n", `{"a":"x","b":"y"}` + "\n" + `{"a":"z","b":"w"}` + "\n"},
		{"escapes", "a,b\n\\,\x01\né\u2028,\xff\n", `{"a":"\\","b":"\u0001"}` + "\n" + `{"a":"é\u2028","b":"\ufffd"}` + "\n"},
		{"odd rows", "a,b,c4\n" + strings.Repeat("1,2,3\n", 98) + "1\n1,2,3,4,5\n",
			strings.Repeat(`{"a":1,"b":2,"c4":3}`+"\n", 98) + `{"a":1}` + "\n" + `{"a":1,"b":2,"c4":3,"c4_2":4,"c5":5}` + "\n"},
	} {
		got, ok, err := Of(context.Background(), doc.Recognise([]byte(tt.in), doctest.MemoMap()))
		if err != nil || !ok {
			t.Errorf("%s: %v, %v", tt.name, ok, err)
			continue
		}
		if d := cmp.Diff(tt.want, string(got.Data)); d != "" {
			t.Errorf("%s:\n%s", tt.name, d)
		}
		want := doc.Counted(doc.JSONLines, got.Data, nil)
		if got.Kind != want.Kind || got.Items != want.Items || got.Total != want.Total || got.Unit != want.Unit {
			t.Errorf("%s: %v, %d of %d %s", tt.name, got.Kind, got.Items, got.Total, got.Unit)
		}
	}
	for _, in := range []string{"", "plain", "one line\nand another\nand more\n", "{\"a\":1}\n{\"a\":2}\n", "a,b\x00\nc,d\ne,f\n", "a,b\n1,2\n"} {
		if got, ok, err := Of(context.Background(), doc.Recognise([]byte(in), nil)); ok || err != nil {
			t.Errorf("%q has records %s, %v", in, got.Data, err)
		}
	}
}

// TestCSVQuotes has tables too short to be recognised with line ends in cells.
func TestCSVQuotes(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"quoted", "a,\"b c\"\n\"x, y\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"1\"\n", `{"a":"x, y","b c":"say \"hi\""}` + "\n" + `{"a":"two\nlines","b c":1}` + "\n"},
		{"quotes inside", "a,b\n5\" pipe,x\n6\" pipe,\"y\"z\n", `{"a":"5\" pipe","b":"x"}` + "\n" + `{"a":"6\" pipe","b":"y\"z"}` + "\n"},
		{"a quote that does not end", "a,b\n\"x,1\ny,2\n", `{"a":"x,1"}` + "\n" + `{"a":"y","b":2}` + "\n"},
	} {
		got, err := open([]byte(tt.in), ',').records(context.Background())
		if d := cmp.Diff(tt.want, string(got.Data)); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.name, err, d)
		}
	}
}

func TestCSVLimits(t *testing.T) {
	long := strings.Repeat("x", 100)
	var b strings.Builder
	for i := range maxColumns {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(long)
	}
	wide := "\n" + strings.Repeat(",", maxColumns-1)
	for _, tt := range []struct {
		name, in string
		code     string
	}{
		{"many columns", b.String() + strings.Repeat(wide, 10_000), doc.LimitMemory},
		{"a row of a million cells", "a,b\n" + strings.Repeat("1,2\n", 200) + strings.Repeat(",", 1_000_000), ""},
		{"a quote that does not end", "a,b\n" + strings.Repeat("1,2\n", 20_000) + "\"3,4\n" + strings.Repeat("1,2\n", 200_000), ""},
		{"one name", strings.Repeat("a,", maxColumns-1) + "a" + wide + wide, ""},
	} {
		got, ok, err := Of(context.Background(), doc.Recognise([]byte(tt.in), nil))
		if tt.code == "" {
			if !ok || err != nil || !json.Valid(got.Data[:bytes.IndexByte(got.Data, '\n')]) {
				t.Errorf("%s: %v, %v", tt.name, ok, err)
			}
			continue
		}
		if e, isError := err.(*doc.Error); !isError || e.Code != tt.code {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	got, _, err := Of(context.Background(), doc.Recognise([]byte("a,rest\n"+strings.Repeat("1,2\n", 100)+strings.Repeat("x,", maxColumns)+"1,y"), nil))
	if err != nil || !bytes.HasSuffix(got.Data, []byte(`,"c500":"x","rest_2":[1,"y"]}`+"\n")) {
		t.Errorf("the cells left over: %s, %v", got.Data[max(0, len(got.Data)-60):], err)
	}
}

func TestCSVHeaders(t *testing.T) {
	for in, want := range map[string]string{
		"Country,2019,2020\nDE,1,2\nFR,3,4\n":       `{"Country":"DE","2019":1,"2020":2}`,
		"Country,2019,2020\nDE,2001,2002\nFR,3,4\n": `{"c1":"Country","c2":2019,"c3":2020}`,
		"1,a\n2,b\n3,c\n":                           `{"c1":1,"c2":"a"}`,
	} {
		got, err := open([]byte(in), ',').records(context.Background())
		if first, _, _ := strings.Cut(string(got.Data), "\n"); err != nil || first != want {
			t.Errorf("%q: %s, %v", in, first, err)
		}
	}
}

// TestCSVQuoteUnclosed: one quote once took all rows behind it into its cell.
func TestCSVQuoteUnclosed(t *testing.T) {
	in := "id,size\n1,2\n10,\"10\" pipe\n" + strings.Repeat("5,\"6\"\n", 900)
	got, err := open([]byte(in), ',').records(context.Background())
	if err != nil || got.Total != 902 {
		t.Errorf("%d records, %v", got.Total, err)
	}
	in = "id,text\n" + strings.Repeat("1,\"a\nb\nc\"\n", 100)
	if got, err := open([]byte(in), ',').records(context.Background()); err != nil || got.Total != 100 {
		t.Errorf("cells of several lines: %d records, %v", got.Total, err)
	}
}

func TestCSVCodes(t *testing.T) {
	for in, want := range map[string]string{
		"v,x\n1.9,1\n1.10,2\n":       `{"v":"1.9","x":1}`,
		"price,x\n1.90,1\n1.10,2\n":  `{"price":1.90,"x":1}`,
		"value,x\n1.0,1\n2.25,2\n":   `{"value":1.0,"x":1}`,
		"hash,x\n12e5,1\nab12,2\n":   `{"hash":"12e5","x":1}`,
		"big,x\n1.5e+10,1\n2e-3,2\n": `{"big":1.5e+10,"x":1}`,
	} {
		got, err := open([]byte(in), ',').records(context.Background())
		if first, _, _ := strings.Cut(string(got.Data), "\n"); err != nil || first != want {
			t.Errorf("%q: %s, %v", in, first, err)
		}
	}
	got, ok, err := Of(context.Background(), doc.Recognise([]byte("zip,n\n10001,1\n00501,0\n,NA\n"), nil))
	const want = `{"zip":"10001","n":1}` + "\n" + `{"zip":"00501","n":0}` + "\n" + `{"zip":"","n":"NA"}` + "\n"
	if !ok || err != nil || string(got.Data) != want {
		t.Errorf("got %s, %v", got.Data, err)
	}
}

// slowRows is what encoding/csv makes of a table, as records.
func slowRows(t *rapid.T, data string, sep byte) []any {
	read := func(data string, lazy bool) ([][]string, error) {
		r := csv.NewReader(strings.NewReader(data))
		r.Comma, r.LazyQuotes, r.FieldsPerRecord = rune(sep), lazy, -1
		return r.ReadAll()
	}
	rows, err := read(data, false)
	if err != nil {
		rows = nil
		for line := range strings.Lines(data) {
			row, err := read(strings.TrimSuffix(line, "\n"), true)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row...)
		}
	}
	out := []any{}
	var names []string
	var find codes // tested by TestCSVCodes
	for _, row := range rows[min(1, len(rows)):] {
		for j, cell := range row {
			find.see(j, cell)
		}
	}
	for i, row := range rows {
		if i == 0 {
			names = row
			continue
		}
		if len(row) == 1 && strings.TrimSpace(row[0]) == "" {
			continue
		}
		record := map[string]any{}
		for j, cell := range row {
			record[names[j]] = jsonscan.Unquote([]byte(show.Quote(cell)))
			if !find[j].is && json.Valid([]byte(cell)) && strings.TrimSpace(cell) == cell && strings.IndexByte("-0123456789", cell[0]) >= 0 {
				record[names[j]] = json.Number(cell)
			}
		}
		out = append(out, record)
	}
	return out
}

func TestCSVReference(t *testing.T) {
	cell := rapid.OneOf(
		rapid.SampledFrom([]string{"", "1", "01", "-3.2", "1e5", " x", "x y", "é", "\xff", "\\", `"a"`, `"a,b"`, `"a` + "\n" + `b"`, `"a""b"`, `5"`, `"`, "a\r", "\r"}),
		rapid.StringMatching(`[0-9+\-.eE]{0,6}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		sep := rapid.SampledFrom([]byte(",\t;")).Draw(t, "sep")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
		lines := []string{strings.Join(names, string(sep))}
		for range rapid.IntRange(0, 6).Draw(t, "rows") {
			lines = append(lines, strings.Join(rapid.SliceOfN(cell, 0, 3).Draw(t, "row"), string(sep)))
		}
		data := strings.Join(lines, end)
		got, err := open([]byte(data), sep).records(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		have := []any{}
		for line := range jsonscan.Lines(got.Data) {
			have = append(have, doctest.Decode(t, line))
		}
		if d := cmp.Diff(slowRows(t, data, sep), have); d != "" {
			t.Fatalf("%q:\n%s", data, d)
		}
	})
}

func BenchmarkCSVRecords(b *testing.B) {
	plain, err := corpus.Open("zipcodes.csv")
	if err != nil {
		b.Fatal(err)
	}
	var quoted bytes.Buffer
	w := csv.NewWriter(&quoted)
	for line := range bytes.Lines(plain) {
		cells := strings.Split(strings.TrimSpace(string(line)), ",")
		cells[3] += ", USA"
		if err := w.Write(cells); err != nil {
			b.Fatal(err)
		}
	}
	w.Flush()
	for _, bb := range []struct {
		name string
		data []byte
	}{{"plain", plain}, {"quoted", quoted.Bytes()}} {
		b.Run("body="+bb.name, func(b *testing.B) {
			v := doc.Recognise(bb.data, nil)
			b.SetBytes(int64(len(bb.data)))
			b.ReportAllocs()
			out := 0
			for b.Loop() {
				r, _, err := Of(context.Background(), v)
				if err != nil {
					b.Fatal(err)
				}
				out = len(r.Data)
			}
			b.ReportMetric(float64(out), "out-bytes/op")
		})
	}
}

// TestRowsStand holds where rows stand: apart, in order, each at the start of a line.
func TestRowsStand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", ",", "\"", "\n", "\"\"", "\r\n", "\ufeff"})).Draw(t, "parts"), ""))
		last := 0
		for row := range open(text, ',').Rows() {
			if row.Start < last || row.End <= row.Start || row.End > len(text) || row.End < len(text) && text[row.End-1] != '\n' {
				t.Fatalf("%q: a row at %d to %d after %d", text, row.Start, row.End, last)
			}
			last = row.End
		}
	})
}
