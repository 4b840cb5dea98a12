package judge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func keyOf(i int) key { return keysOf("m", Question{Text: "x"})(fmt.Sprint(i)) }

// Judgements are bounded for an agent and for all; those not asked for longest go first.
func TestKeptBound(t *testing.T) {
	value := json.RawMessage(`"` + strings.Repeat("x", 98) + `"`)
	k := newKept(10 * 400) // ten of them
	for agent := range 20 {
		for i := range 15 {
			k.put(fmt.Sprint(agent), keyOf(i), Judgement{Value: value})
			k.get(fmt.Sprint(agent), keyOf(0))
		}
	}
	sum := int64(0)
	for name, a := range k.agents {
		if len(a.byKey) != a.latest.Len() || a.size > 10*400 || a.size != int64(400*len(a.byKey)) || len(a.byKey) == 0 {
			t.Errorf("agent %s: %d kept, %d listed, %d bytes", name, len(a.byKey), a.latest.Len(), a.size)
		}
		sum += a.size
	}
	if sum != k.size || k.size != 80*400 || k.all.Len() != 80 || len(k.agents) != 8 {
		t.Errorf("%d bytes, %d said; %d kept of %d agents", sum, k.size, k.all.Len(), len(k.agents))
	}
	for i, want := range map[int]bool{0: true, 1: false, 14: true} {
		if _, ok := k.get("19", keyOf(i)); ok != want {
			t.Errorf("judgement %d is kept: %v", i, ok)
		}
	}
	if _, ok := k.get("0", keyOf(0)); ok {
		t.Error("the first agent's are kept")
	}
	k.put("19", keyOf(14), Judgement{Value: json.RawMessage("1")})
	if j, _ := k.get("19", keyOf(14)); string(j.Value) != "1" || k.size != 79*400+301 {
		t.Errorf("replaced: %s, %d bytes", j.Value, k.size)
	}
}

// A judgement is of one model, question and item.
func TestKeys(t *testing.T) {
	seen := map[key]string{}
	for _, model := range []string{"m", "m2"} {
		for _, q := range []Question{{Text: "x"}, {Text: "xy"}, {Text: "x", Guide: "y"}, {Text: "x", Type: "number"}, {Text: "x", Labels: []string{"a", "b"}}, {Text: "x", Labels: []string{"b", "a"}}, {Text: "x", Labels: []string{`a","b`, "c"}}} {
			for _, item := range []string{"", "i", "yi"} {
				what := fmt.Sprint(model, q, item)
				k := keysOf(model, q)(item)
				if seen[k] != "" {
					t.Errorf("%s and %s are one", seen[k], what)
				}
				seen[k] = what
			}
		}
	}
}

// Whatever a model replies, answers are of the question's kind, or have a problem.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{"answers":[{"item":1000,"answer":"a","confidence":0.5},{"item":1001,"answer":"B "}]}`,
		"```json\n{\"answers\":[{\"item\":1000,\"answer\":1e400}]}\n```", `{"answers":[{"item":1000,"answer":[[]]},{"item":1000,"answer":true}]}`,
		`{"answers":[]}{"answers":[]}`, `<think>{"answers":[]}</think>{"answers":[{"item":1001,"answer":12.50,"confidence":7}]}`,
		`{"answers":[{"item":1002,"answer":"a"}]}`, `{"answers":[{"answer":"a"}]}`, strings.Repeat("{", 200), "\xff", `{"answers":null}`,
	} {
		f.Add(text)
	}
	forms := []*form{newForm(Question{Text: "x", Labels: []string{"a", "b"}}), newForm(Question{Text: "x", Type: "number"}), newForm(Question{Text: "x", Type: "boolean"}), newForm(Question{Text: "x"})}
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range forms {
			got, err := form.read(text, 1000, 2)
			if err != nil {
				continue
			}
			if len(got) != 2 {
				t.Fatalf("%d judgements", len(got))
			}
			for _, j := range got {
				if (j.Value == nil) == (j.Problem == "") || j.Confidence > 1 {
					t.Fatalf("%+v", j)
				}
				if j.Value == nil {
					continue
				}
				value, problem := form.check(j.Value)
				if problem != "" || string(value) != string(j.Value) || !json.Valid(j.Value) || len(j.Value) > 4*maxAnswer+100 {
					t.Fatalf("%s becomes %s: %s", j.Value, value, problem)
				}
			}
		}
	})
}

func TestRead(t *testing.T) {
	labelled := newForm(Question{Text: "x", Labels: []string{"a", "b"}})
	for _, tt := range []struct{ text, want string }{
		{`{"answers":[{"item":1000,"answer":"A ","confidence":0.5},{"item":1001,"answer":"b"}]}`, `"a" 0.5, "b" -1`},
		{`{"answers":[{"item":1000,"answer":"a"}]}`, `"a" -1, the model left it out`},
		{`{"answers":[{"item":1000,"answer":"a"},{"item":1000,"answer":"a"},{"item":1001,"answer":"c"}]}`, `the model answered twice, the answer was none of the labels`},
		{`{"answers":[{"item":1000,"answer":"a"},{"item":1002,"answer":"a"}]}`, "an answer for an item that was not asked about"},
		{`{"answers":[{"item":1000,"answer":"a"},{"answer":"a"}]}`, "an answer without the number of its item"},
		{"Here:\n```json\n{\"answers\":[{\"item\":1000,\"answer\":\"a\"},{\"item\":1001,\"answer\":\"b\"}]}\n```", `"a" -1, "b" -1`},
		{`The item {x} says {"answers":[]}, but {"answers":[{"item":1000,"answer":"a"}]}`, "a reply without the JSON that was asked for"},
		{`{"answers":[{"item":1000,"ans`, "a reply without the JSON that was asked for"},
		{"", "a reply without the JSON that was asked for"},
	} {
		got, err := labelled.read(tt.text, 1000, 2)
		var said []string
		for _, j := range got {
			if j.Value != nil {
				said = append(said, fmt.Sprintf("%s %v", j.Value, j.Confidence))
			} else {
				said = append(said, j.Problem)
			}
		}
		if err != nil {
			said = []string{err.Error()}
		}
		if got := strings.Join(said, ", "); got != tt.want {
			t.Errorf("%s\n%s, want %s", tt.text, got, tt.want)
		}
	}
}
