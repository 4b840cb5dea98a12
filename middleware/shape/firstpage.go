package shape

import (
	"context"
	"fmt"

	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// outline is above what a preview says of the lines that are behind a first page.
const outline = "[outline of what follows:]\n"

// firstPage is a preview in about budget tokens of a text that is read in order: its first
// lines as they are, which need not be sent again, and the outline of the others. It
// reports false for other texts, for one of more than whole tokens, which nobody reads to
// its end, and where a line begins as one of ours.
func (p *preview) firstPage(budget, whole int) ([]byte, Facts, bool) {
	only, ok := p.of.only()
	if !ok || p.of.ID == "" || p.total > whole {
		return nil, Facts{}, false
	}
	v := p.of.Value(only)
	if v.Kind != pipeline.Text || !pipeline.InOrder(pipeline.Class(v)) {
		return nil, Facts{}, false
	}
	const lines = 70 // tokens of the lines of ours
	room := budget - lines - count([]byte(p.notes))
	page, next, err := (&pipeline.Slice{}).Fill(context.Background(), v, room*2/3)
	if err != nil || next == 0 || page.Unit != "lines" || count(page.Data) > room*2/3 {
		return nil, Facts{}, false
	}
	if len(frame.Quote(page.Data)) > len(page.Data) {
		return nil, Facts{}, false // a line that looks like ours would have to be marked
	}
	shown := fmt.Sprintf(" · the first %s of %s lines", show.Count(page.Items), show.Count(page.Total))
	text := append(firstLine(p.of.ID, p.from, count(page.Data), p.total, shown), p.notes...)
	text = fmt.Appendf(text, "next: proxy_filter {\"cache_id\":%q,\"offset\":%d,\"whole\":true}\n", p.of.ID, next)
	text = append(append(text, page.Data...), outline...)
	text = append(text, frame.Quote(pipeline.Rest(v, next, room/3))...)
	return text, Facts{CacheID: p.of.ID, Tokens: p.total, ShownTokens: count(text), Items: page.Total, ShownItems: page.Items}, true
}
