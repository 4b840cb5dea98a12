package search

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTokenize(t *testing.T) {
	tests := []struct {
		text string
		want string // tokens, separated by blanks
	}{
		{"", ""},
		{" ,.- \xff\x00", ""},
		{"Running dogs ran.", "run dog ran"},
		{"getUserName", "get user name getusernam"},
		{"HTTPServer2", "http server 2 httpserver2"},
		{"max_total_agents", "max total agent max_total_agents"},
		{"__init__", "init"},
		{"see a/b/c.go.", "see a b c go a/b/c.go"},
		{"2024-01-31 3.14", "2024 01 31 2024-01-31 3 14 3.14"},
		{"end. Next", "end next"},
		{"Größe ÉTÉ", "größe été"},
		{"北京大学", "北 北京 京 京大 大 大学 学"},
		{"Go语言v2", "go 语 语言 言 v 2 v2"},
		{"한국", "한 한국 국"},
		{strings.Repeat("x", 100), strings.Repeat("x", 64)},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(strings.Fields(tt.want), append([]string{}, tokenize([]byte(tt.text))...)); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", tt.text, diff)
		}
	}
}

func TestStem(t *testing.T) {
	tests := []struct{ word, want string }{
		// From the sample on Snowball's page of the algorithm.
		{"consigned", "consign"}, {"consistency", "consist"}, {"consolation", "consol"}, {"consolingly", "consol"},
		{"conspirators", "conspir"}, {"knackeries", "knackeri"}, {"kneeled", "kneel"}, {"knightly", "knight"}, {"knives", "knive"},
		// What Porter's first algorithm has otherwise.
		{"general", "general"}, {"generate", "generat"}, {"generic", "generic"}, {"news", "news"}, {"community", "communiti"},
		{"correctly", "correct"}, {"hourly", "hour"}, {"exceeded", "exceed"}, {"statuses", "status"}, {"deployments", "deploy"},
		// Ours.
		{"vpcs", "vpc"}, {"https", "http"}, {"dns", "dns"}, {"css", "css"}, {"xxss", "xxss"},
		{"is", "is"}, {"ies", "ie"}, {"a1s", "a1s"}, {"étés", "étés"},
	}
	for _, tt := range tests {
		if got := stem(tt.word); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.word, got, tt.want)
		}
	}
}

func FuzzTokenize(f *testing.F) {
	f.Add("getUserName a/b.go 北京 \xff __x__ ies eeding")
	f.Fuzz(func(t *testing.T, text string) {
		for _, token := range tokenize([]byte(text)) {
			// Lower case may take a byte or two more than upper.
			if token == "" || len(token) > 2*maxTokenBytes || !utf8.ValidString(token) {
				t.Fatalf("%q: token %q", text, token)
			}
		}
	})
}
