package main

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadmePicture holds docs/demo.svg against what the demo prints. -update draws it anew.
// IDs and the counts that they change are those of the run that drew it.
func TestReadmePicture(t *testing.T) {
	const file = "../../docs/demo.svg"
	got := picture(runAlone(t, "demo"))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Lines by chance: an ID, its tokens, and what they add up to.
	same := func(s string) string {
		return regexp.MustCompile(`(?m)^.*(tokens read|with it: |>  +saved ).*$`).ReplaceAllString(withoutIDs(s), "")
	}
	if same(got) != same(string(want)) {
		t.Error("docs/demo.svg is not what the demo prints: go test ./cmd/rlmproxy -run Picture -update")
	}
}

// picture draws what the demo prints, a step every two seconds.
func picture(demo string) string {
	const width, line = 118, 18 // characters, pixels
	var b strings.Builder
	lines := strings.Split("$ rlmproxy demo\n\n"+strings.TrimRight(demo, "\n"), "\n")
	step := 0
	for i, text := range lines {
		class := "say"
		switch head := strings.TrimSpace(text); {
		case regexp.MustCompile(`^\d\. |^ +the whole task`).MatchString(text):
			step++
		case strings.HasPrefix(head, "→"):
			class = "call"
		case strings.HasPrefix(head, "│"):
			class = "read"
		}
		if runes := []rune(text); len(runes) > width {
			text = string(runes[:width-1]) + "…"
		}
		fmt.Fprintf(&b, "<text class=\"%s\" style=\"animation-delay:%ds\" x=\"12\" y=\"%d\">%s</text>\n", class, 2*step, 24+i*line, html.EscapeString(text))
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 %d" font-family="monospace" font-size="12" role="img" aria-label="rlmproxy demo">
<style>
text { white-space: pre; animation: show .3s both }
@keyframes show { from { opacity: 0 } }
@media (prefers-reduced-motion) { text { animation: none } }
.say { fill: #e6edf3 } .call { fill: #79c0ff } .read { fill: #9da7b3 }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
%s</svg>
`, 24+len(lines)*line, b.String())
}
