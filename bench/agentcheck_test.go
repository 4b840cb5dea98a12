package bench

import "testing"

// TestFact holds that an answer is recognised in any layout, and not by
// accident.
func TestFact(t *testing.T) {
	for _, c := range []struct {
		name  string
		fact  fact
		reply string
		query bool
		want  bool
	}{
		{"JSON", num("ORD", 1095), `[{"flights":1095,"origin":"ORD"}]`, true, true},
		{"thousands", num("ORD", 1095), "ORD ×1,095 DFW ×1,103", false, true},
		{"table", num("ORD", 1095), "flights|origin\n1095|ORD\n", true, true},
		{"part of a number", num("ORD", 95), "1095|ORD", true, false},
		{"part of a decimal", num("ORD", 10), "ORD 10.95", true, false},
		{"part of a word", num("ORD", 95), "ORD a95", true, false},
		{"label on another line", num("ORD", 1095), "origin ORD\n1095 DFW", true, false},
		{"label too far", num("ORD", 1095), "ORD" + string(make([]byte, 400)) + "1095", true, false},
		{"bare, asked for", num("ORD", 1095), "1095\n", true, true},
		{"bare, after a first line", num("ORD", 1095), "[1 of 3 items]\n1095\n", true, true},
		{"bare, not asked for", num("ORD", 1095), "1095\n", false, false},
		{"CSV", num("2012-01-01", 12.8), "2012-01-01,0.0,12.8,5.0", false, true},
		{"range", num("delay", 9), "delay: number, 9..46.6", false, true},
		{"upper end of a range", num("delay", 46.6), "delay: number, 9..46.6", false, true},
		{"negative", num("delay", -59), "delay: number, -59..522", false, true},
		{"dash", num("delay", 522), "delay: -59-522", false, true},
		{"not that negative", num("delay", 59), "delay: number, -59..522", false, false},
		{"rounded", about("mean", 15.6048), "mean 15.6", true, true},
		{"rounded too much", about("mean", 15.6048), "mean 16", true, false},
		{"indented JSON", num("Avatar", 7), "{\n  \"Title\": \"Avatar\",\n  \"n\": 7\n}", true, true},
		{"text", says("gp3"), `"gp2"|"gp3"|string`, false, true},
		{"part of a text", says("gp3"), "gp31", false, false},
		{"escaped", says(`A "goto" statement`), `{"text":"A \"goto\" statement transfers"}`, true, true},
		{"text beside its label", labelled("max", "Avatar"), "max: Avatar", false, true},
		{"text without its label", labelled("max", "Avatar"), "min: Avatar", false, false},
		{"either count", num("lines", 7).or(8), "8 lines", false, true},
	} {
		if got := c.fact.in(c.reply, c.query); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// TestTold holds that a preview's rows do not answer a question about all rows.
func TestTold(t *testing.T) {
	facts := []fact{num("ORD", 7)}
	for _, c := range []struct {
		name    string
		task    task
		replies []reply
		want    bool
	}{
		{"a count in a row", task{kind: count}, []reply{{text: "ORD 7"}}, false},
		{"a stated count", task{kind: count, stated: times}, []reply{{text: "ORD ×7"}}, true},
		{"a count not stated", task{kind: count, stated: times}, []reply{{text: "ORD 7"}}, false},
		{"a count before its label", task{kind: count, stated: times}, []reply{{text: "7 ORD flights"}}, true},
		{"a value in a row", task{kind: value}, []reply{{text: "ORD 7"}}, true},
		{"an answer", task{kind: count}, []reply{{text: "…"}, {text: "7"}}, true},
		{"another answer", task{kind: count}, []reply{{text: "…"}, {text: "8"}}, false},
	} {
		if got := c.task.told(facts, c.replies); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
	if (task{kind: value}).told(nil, []reply{{text: "anything"}}) {
		t.Error("a task without an answer was answered")
	}
}

// TestUnknown holds that the agent cannot use what it has not read.
func TestUnknown(t *testing.T) {
	read := []reply{{text: `each: name: string, "a"; sizes[].deep: number, 1..4200; ["US Gross"]: number` + "\n77: text"}}
	for _, c := range []struct {
		step step
		want string // empty: it knows all
	}{
		{jq(`.[] | select(.name == "a").sizes[].deep`), ""},
		{jq(`.[] | select(.nam == "a")`), "nam"},
		{jq(`.[] | .title`), "title"},
		{jq(`map({title})`), "title"},
		{jq(`map({title: .name})`), ""},
		{jq(`map(select(.name == "other"))`), "other"},
		{jq(`map(select(.sizes > 4200))`), ""},
		{jq(`map(select(.sizes > 4300))`), "4300"},
		{jq(`map(."US Gross")`), ""},
		{jq(`map(."UK Gross")`), "UK Gross"},
		{jq(`def walk(in): in.name; map(walk(.)) | map(select(test("^secret")))`), "secret"},
		{jq(`group_by(.name) | map({n: length}) | sort_by(.n)`), ""},
		{narrow(`"fields":["sizes.deep"]`), ""},
		{narrow(`"fields":["sizes.shallow"]`), "shallow"},
		{narrow(`"offset":76,"limit":500`), ""},
		{narrow(`"offset":500`), "500"},
		{explore(`"path":"items.name"`), "items"},
		{grep(`^NAME\s`), ""},
		{grep(`^title\s`), "title"},
		{grep(`asked \w+`), ""},
		{jq(`[match("deep: (\\d+)"; "g").captures[0].string]`), ""},
	} {
		q := task{question: "What was asked?"}
		if got := q.unknown(c.step, c.step.fill(reply{id: "x"}, reply{}), read); got != c.want {
			t.Errorf("%s: %q, want %q", c.step.args, got, c.want)
		}
	}
}
