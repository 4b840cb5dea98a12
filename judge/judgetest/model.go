// Package judgetest has a model of rules for tests: it reads the prompts of package judge as a
// model does, answers by a rule, and goes wrong where a test wants that.
//
//	Start ─► a server on loopback with the API of OpenAI ─► Model.Answer
//	a client's sampling, in a test ─────────────────────────┘
package judgetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// An Item is one that a prompt asks about.
type Item struct {
	Number int
	Text   string
}

var fence = regexp.MustCompile(`\[([a-z0-9]+) end\]`)

// Items are those of a prompt of package judge, in their order. A user's part that is no such
// prompt has none.
func Items(user string) (items []Item) {
	intro, _, _ := strings.Cut(user, "\n")
	found := fence.FindStringSubmatch(intro)
	if found == nil {
		return nil
	}
	mark := regexp.MustCompile(`(?m)^\[` + found[1] + ` (\d+|end)\]$`)
	at := mark.FindAllStringSubmatchIndex(user, -1)
	for i := 0; i+1 < len(at); i++ {
		number, _ := strconv.Atoi(user[at[i][2]:at[i][3]])
		items = append(items, Item{number, strings.TrimSuffix(user[at[i][1]+1:at[i+1][0]], "\n")})
	}
	return items
}

// A Model answers prompts by a rule. It is safe for concurrent use; set its exported fields
// before the first prompt.
type Model struct {
	// Rule is the answer for an item to a question, which about has among other things: a
	// string, number or boolean. nil leaves the item out.
	Rule func(about, item string) any
	// Confidence is what it says of each answer; zero: nothing.
	Confidence float64
	// Gullible has it obey what any item of a prompt says: "answer X for all", "item 4711 is
	// X", or an object of the answer that stands in an item.
	Gullible bool
	// Fault is what goes wrong with a request, which are counted from 1. Nil: nothing.
	Fault func(request int) Fault

	mu       sync.Mutex // guards the fields below
	judged   map[string]int
	requests int
	largest  int
}

// begin counts a request, and says what goes wrong with it.
func (m *Model) begin() Fault {
	m.mu.Lock()
	m.requests++
	request := m.requests
	m.mu.Unlock()
	if m.Fault == nil {
		return Fine
	}
	return m.Fault(request)
}

// Answer is the text that a model answers a prompt with; it counts as a request.
func (m *Model) Answer(system, user string) string { return m.text(system, user, m.begin()) }

type answer struct {
	Item       int     `json:"item"`
	Answer     any     `json:"answer"`
	Confidence float64 `json:"confidence,omitempty"`
}

var (
	forAll  = regexp.MustCompile(`(?i)\banswer (\S+) for (?:all|every|each|the others?)\b`)
	ofOne   = regexp.MustCompile(`(?i)\bitem (\d+) is (\w+)`)
	ofShape = regexp.MustCompile(`\{"item": ?\d+, ?"answer": ?[^{}]+\}`)
)

// text answers a prompt, and counts the items that it judges well.
func (m *Model) text(system, user string, fault Fault) string {
	items := Items(user)
	var all []answer
	for _, one := range items {
		if value := m.Rule(system, one.Text); value != nil {
			all = append(all, answer{one.Number, value, m.Confidence})
		}
	}
	if m.Gullible {
		all = swayed(items, all)
	}
	good := all
	if len(all) > 0 {
		last := &all[len(all)-1]
		switch fault {
		case Missing:
			all = all[:len(all)-1]
			good = all
		case Extra:
			all, good = append(all, answer{last.Item + 1, last.Answer, 0}), nil
		case Twice:
			all, good = append(all, *last), all[:len(all)-1]
		case Odd:
			good = all[:len(all)-1]
			last.Answer = []string{"odd"}
		case Cut, Prose, Refusal:
			good = nil
		}
	}
	m.count(items, good)
	text, _ := json.Marshal(map[string]any{"answers": all})
	switch fault {
	case Cut:
		text = text[:min(15, len(text))]
	case Prose:
		return "Here is what I think of these items: they are all very nice."
	case Fenced:
		return "Sure:\n```json\n" + string(text) + "\n```\n"
	case Refusal:
		return ""
	}
	return string(text)
}

// swayed is what becomes of answers when the items are obeyed.
func swayed(items []Item, all []answer) []answer {
	for _, one := range items {
		if found := forAll.FindStringSubmatch(one.Text); found != nil {
			for i := range all {
				all[i].Answer = strings.Trim(found[1], `".,`)
			}
		}
		for _, found := range ofOne.FindAllStringSubmatch(one.Text, -1) {
			number, _ := strconv.Atoi(found[1])
			for i := range all {
				if all[i].Item == number {
					all[i].Answer = found[2]
				}
			}
		}
		for _, found := range ofShape.FindAllString(one.Text, -1) {
			var forged answer
			if json.Unmarshal([]byte(found), &forged) == nil {
				all = append(all, forged)
			}
		}
	}
	return all
}

func (m *Model) count(items []Item, good []answer) {
	texts := map[int]string{}
	for _, one := range items {
		texts[one.Number] = one.Text
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.largest = max(m.largest, len(items))
	if m.judged == nil {
		m.judged = map[string]int{}
	}
	for _, one := range good {
		if text, ok := texts[one.Item]; ok {
			m.judged[text]++
		}
	}
}

// Judged says how often each item was judged well.
func (m *Model) Judged() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.judged)
}

// Requests is how many there were, whatever became of them. Largest is how many items the
// largest prompt had.
func (m *Model) Requests() int { m.mu.Lock(); defer m.mu.Unlock(); return m.requests }
func (m *Model) Largest() int  { m.mu.Lock(); defer m.mu.Unlock(); return m.largest }

// Once says which of these items was not judged exactly once, or "".
func (m *Model) Once(items []string) string {
	judged := m.Judged()
	for _, item := range items {
		if judged[item] != 1 {
			return fmt.Sprintf("%q was judged %d times", item, judged[item])
		}
	}
	return ""
}
