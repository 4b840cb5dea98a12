package tools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/judge"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/items"
	"rlmproxy/pipeline/show"
)

const (
	maxMissed = 8  // items without an answer that are named
	maxTexts  = 10 // different answers that are told, where there are no labels
)

// unitsOf are the kinds of items whose plural is another word.
var unitsOf = map[string]string{"whole": "texts"}

// told is what an agent reads of a report: the lines above, and the counts.
func (a *ask) told(d *document, list *items.List, r *judge.Report) (head string, v pipeline.Value) {
	spent := fmt.Sprintf("%s, %s tokens", show.Plural(r.Calls, "calls"), show.Count(r.Input+r.Output))
	if r.Calls == 0 {
		spent = "no call"
	}
	if r.Cost > 0 {
		spent += fmt.Sprintf(", cost %.4g", r.Cost)
	}
	if r.Cached > 0 {
		spent += fmt.Sprintf(", %s judged before", show.Count(r.Cached))
	}
	first := fmt.Sprintf("judged %s of %s · %s", show.Count(r.Judged), show.Plural(len(list.Texts), cmp.Or(unitsOf[list.Kind], list.Kind+"s")), spent)
	notes := []string{first, missed(a.column, r)}
	if r.Stopped != "" {
		notes = append(notes, "stopped: "+show.Clip(r.Stopped, 300)+" · the same call goes on with the rest")
	}
	head = shape.Notes(notes...)
	if d.kept != "" {
		field := "." + a.column
		if !isWord(a.column) {
			field = "." + show.Quote(a.column)
		}
		jq := fmt.Sprintf("sort_by(%s) | reverse | .[:10]", field)
		if !a.counted() {
			jq = fmt.Sprintf("group_by(%s) | map({%s: .[0]%s, count: length})", field, show.Quote(a.column), field)
		}
		head += "next: " + frame.OneLine(fmt.Sprintf(`proxy_filter {"cache_id":%q,"jq":%s}`, d.kept, show.Quote(jq))) + "\n"
	}
	lines := a.counts(r)
	return head, pipeline.Value{Kind: pipeline.Text, Data: []byte(strings.Join(lines, "\n")), Items: len(lines), Total: len(lines), Unit: "lines"}
}

// isWord reports whether jq takes a name behind a dot.
func isWord(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && s[0] > '9'
}

// missed names items that the model was asked about and that have no answer, or says that
// there are none.
func missed(column string, r *judge.Report) string {
	var at []string
	n, why := 0, ""
	for i, j := range r.Judgements {
		if j.Value != nil || j.Problem == judge.NotAsked {
			continue
		}
		if n++; n <= maxMissed {
			at = append(at, strconv.Itoa(i))
			why = cmp.Or(why, j.Problem)
		}
	}
	switch {
	case n == 0:
		return ""
	case n > maxMissed:
		at = append(at, "…")
	}
	return fmt.Sprintf("not judged, %s null: %s, at offset %s · %s", show.Quote(column), show.Plural(n, "items"), strings.Join(at, ", "), show.Clip(why, 200))
}

// counted reports whether the answers are numbers.
func (a *ask) counted() bool { return a.question.Type == "number" && len(a.question.Labels) == 0 }

// counts are lines about the answers that there are.
func (a *ask) counts(r *judge.Report) []string {
	if a.counted() {
		return numbers(r)
	}
	n := map[string]int{}
	for _, l := range a.question.Labels {
		n[l] = 0
	}
	for _, j := range r.Judgements {
		if len(j.Value) > 0 {
			n[plainText(j.Value)]++
		}
	}
	order := slices.SortedFunc(maps.Keys(n), func(x, y string) int { return cmp.Or(n[y]-n[x], strings.Compare(x, y)) })
	var lines []string
	if len(a.question.Labels) == 0 && len(order) > maxTexts {
		lines = append(lines, fmt.Sprintf("%s different answers; the most frequent:", show.Count(len(order))))
		order = order[:maxTexts]
	}
	for _, answer := range order {
		lines = append(lines, fmt.Sprintf("%s: %s (%.1f%%)", frame.OneLine(show.Clip(answer, maxLabel)), show.Count(n[answer]), 100*float64(n[answer])/float64(max(r.Judged, 1))))
	}
	return lines
}

// plainText is an answer without quotes.
func plainText(value json.RawMessage) string {
	if value[0] == '"' {
		return jsonscan.Unquote(value)
	}
	return string(value)
}

// numbers tells of answers that are numbers.
func numbers(r *judge.Report) []string {
	var all []float64
	sum := 0.0
	for _, j := range r.Judgements {
		var f float64
		if len(j.Value) > 0 && json.Unmarshal(j.Value, &f) == nil {
			all = append(all, f)
			sum += f
		}
	}
	if all == nil {
		return []string{"no answers"}
	}
	slices.Sort(all)
	median := (all[(len(all)-1)/2] + all[len(all)/2]) / 2
	return []string{fmt.Sprintf("%s numbers: min %g, median %g, mean %.6g, max %g, sum %.10g", show.Count(len(all)), all[0], median, sum/float64(len(all)), all[len(all)-1], sum)}
}
