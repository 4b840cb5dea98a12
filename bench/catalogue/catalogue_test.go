package catalogue

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"rlmproxy/pipeline/tokens"
)

// TestServers counts the tools, compares the README's table with them, and holds
// each to what a client needs of a tool.
func TestServers(t *testing.T) {
	servers, err := Servers()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	row := func(format string, cells ...any) {
		if want := fmt.Sprintf(format, cells...); !strings.Contains(string(readme), "\n"+want) {
			t.Errorf("README.md lacks the row\n%s", want)
		}
	}
	before, sum, cost := "", 0, 0
	for _, s := range servers {
		if s.Name <= before || strings.Contains(s.Name, "/") {
			t.Errorf("%q stands behind %q", s.Name, before)
		}
		before = s.Name
		seen, here, annotated, shaped := map[string]bool{}, 0, 0, 0
		for i, raw := range s.Tools {
			var tool struct {
				Name                      string
				InputSchema               struct{ Type string }
				Annotations, OutputSchema json.RawMessage
			}
			if err := json.Unmarshal(raw, &tool); err != nil {
				t.Fatalf("%s: tool %d: %v", s.Name, i, err)
			}
			if tool.Name == "" || seen[tool.Name] || tool.InputSchema.Type != "object" {
				t.Errorf("%s: tool %d: name %q, seen before: %v, type %q", s.Name, i, tool.Name, seen[tool.Name], tool.InputSchema.Type)
			}
			seen[tool.Name] = true
			n, _ := tokens.Count(raw)
			here += n
			if tool.Annotations != nil {
				annotated++
			}
			if tool.OutputSchema != nil {
				shaped++
			}
		}
		row("| %s | %s | %d | %s | %d | %d | %s, ", s.Name, s.Package, len(s.Tools), thousands(here), annotated, shaped, s.Licence)
		sum, cost = sum+len(s.Tools), cost+here
	}
	row("| together | %d servers | %d | %s |", len(servers), sum, thousands(cost))
	if sum < 300 || cost < 30_000 {
		t.Errorf("%d tools of %d tokens: want 300 and 30,000", sum, cost)
	}
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return thousands(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// TestOpenAPI holds that the tools of Stripe are what its description becomes today.
func TestOpenAPI(t *testing.T) {
	servers, err := Servers()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(servers, func(s Server) bool { return s.Name == "stripe" })
	if i < 0 {
		t.Fatal("no server is called stripe")
	}
	made, err := stripe()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(made, servers[i].Tools, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
		t.Errorf("%d tools are made of the description and differ from the %d kept; see README.md for how they are written", len(made), len(servers[i].Tools))
	}
}

// TestSources holds that the catalogue has the servers that TestCollect asks.
func TestSources(t *testing.T) {
	servers, err := Servers()
	if err != nil {
		t.Fatal(err)
	}
	same := slices.EqualFunc(servers, sources, func(a Server, b source) bool {
		return a.Name == b.name && a.Package == b.pack && a.Licence == b.licence
	})
	if !same {
		t.Error("data/tools.json.gz is of other servers than collect_test.go names")
	}
}

// TestQueries holds the queries to the rules in the README.
func TestQueries(t *testing.T) {
	queries, err := Queries()
	if err != nil {
		t.Fatal(err)
	}
	servers, err := Servers()
	if err != nil {
		t.Fatal(err)
	}
	exists := map[Tool]bool{}
	for _, s := range servers {
		for _, raw := range s.Tools {
			name, err := nameOf(raw)
			if err != nil {
				t.Fatal(err)
			}
			exists[Tool{s.Name, name}] = true
		}
	}
	asked, kinds, meant, strangers := map[string]bool{}, map[string]int{}, map[string]int{}, 0
	for _, q := range queries {
		if text := strings.ToLower(q.Query); asked[text] {
			t.Errorf("%q is asked twice", q.Query)
		} else {
			asked[text] = true
		}
		if !slices.Contains(Kinds, q.Kind) || len(q.Tools) == 0 {
			t.Errorf("%q: kind %q, %d tools", q.Query, q.Kind, len(q.Tools))
		}
		kinds[q.Kind]++
		words, of := len(strings.Fields(q.Query)), map[string]bool{}
		for i, tool := range q.Tools {
			if !exists[tool] || slices.Contains(q.Tools[:i], tool) {
				t.Errorf("%q: %s does not exist, or is named twice", q.Query, tool)
			}
			of[tool.Server] = true
		}
		for server := range of {
			meant[server]++
		}
		switch {
		case q.Kind == "words" && words > 2,
			q.Kind == "sentence" && (words < 12 || !strings.HasSuffix(q.Query, ".")),
			q.Kind == "server" && !strings.HasPrefix(q.Query, strings.ReplaceAll(q.Tools[0].Server, "-", " ")):
			t.Errorf("%q is not of kind %s", q.Query, q.Kind)
		}
		if !slices.ContainsFunc(q.Tools, func(tool Tool) bool { return shares(q.Query, tool.Name) }) {
			strangers++
		}
	}
	t.Logf("%d queries; kinds %v; %d share no word with a name; by server %v", len(queries), kinds, strangers, meant)
	if len(queries) != 100 || kinds["words"] < 20 || kinds["sentence"] < 20 || kinds["server"] < 10 || kinds["typo"] < 5 || kinds["twin"] < 5 {
		t.Errorf("%d queries, by kind %v", len(queries), kinds)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if strangers < 34 || !strings.Contains(string(readme), fmt.Sprintf("\n%d of them share no word", strangers)) {
		t.Errorf("%d queries share no word with the name of a right tool: want 34, and README.md to say so", strangers)
	}
	for kind, n := range kinds {
		if !strings.Contains(string(readme), fmt.Sprintf("\n| %s | %d |", kind, n)) {
			t.Errorf("README.md does not say that %d queries are of kind %s", n, kind)
		}
	}
	if len(meant) < 15 {
		t.Errorf("tools of %d servers are meant: want 15", len(meant))
	}
	for server, n := range meant {
		if n > 10 && (server != "stripe" || n > 15) {
			t.Errorf("%d queries mean %s", n, server)
		}
	}
}

// shares reports whether a query has a word of a name: two words are the same
// that begin with the same four letters, so that inflections count.
func shares(query, name string) bool {
	in := parts(query)
	return slices.ContainsFunc(parts(name), func(p string) bool { return slices.Contains(in, p) })
}

var fillers = strings.Fields("a an and as at by for from get i in into is it of on or post so that the to")

// parts splits a text into its words, and names of several words into those.
func parts(text string) (words []string) {
	var word []rune
	end := func() {
		if w := strings.TrimSuffix(strings.ToLower(string(word)), "s"); w != "" && !slices.Contains(fillers, w) {
			words = append(words, w[:min(4, len(w))])
		}
		word = word[:0]
	}
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]):
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}
