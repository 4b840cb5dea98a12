package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// above is how many tokens the lines above a page have, about.
const above = 48

// page answers a proxy_filter: with what stages select, or all if there are none, from
// offset on, as many items as the limit has room for. Its first line says where the next
// page begins, so what is asked for is read to its end without any page being cut.
func (c *call) page(ctx context.Context, f *filter, stages pipeline.Pipeline) (json.RawMessage, error) {
	if err := f.check(stages); err != nil {
		return nil, err
	}
	d, done, err := c.open(ctx, &f.source)
	if err != nil || done != nil {
		return done, err
	}
	done, err = c.pageOf(ctx, f, stages, &d)
	return done, c.hinted(&d, err)
}

// check is [check] of what selects, and of the format.
func (f *filter) check(stages pipeline.Pipeline) error {
	if err := check(&f.source, stages); err != nil {
		return err
	}
	return f.format.Check()
}

// pageOf answers with a page of what stages make of an open document.
func (c *call) pageOf(ctx context.Context, f *filter, stages pipeline.Pipeline, d *document) (json.RawMessage, error) {
	ctx, cancel, done, err := c.readAll(ctx, c.opts.QueryTimeout, f.source.block, d)
	defer cancel()
	if err != nil || done != nil {
		return done, err
	}
	return c.shown(ctx, f, stages, d)
}

// shown answers with a page of what stages make of a document that was read.
func (c *call) shown(ctx context.Context, f *filter, stages pipeline.Pipeline, d *document) (json.RawMessage, error) {
	v, err := stages.Run(ctx, d.value)
	if err != nil {
		return nil, err
	}
	if f.keep {
		if err := c.keep(d, v); err != nil {
			return nil, err
		}
	}
	p := pager{c, f, d, len(stages) > 0, pipeline.Value{}, ""}
	switch as := f.format.As; {
	case as == "text" && v.Whole != nil:
		v = v.AsText()
	case v.Kind == pipeline.Text && as != "" && as != "text":
		// A text that is asked for as records is paged as records.
		if as == "table" {
			as = "json"
		}
		if v, err = (&pipeline.Format{As: as}).Apply(ctx, v); err != nil {
			return nil, err
		}
	case as == "text" && pipeline.IsItself(v):
		if v, err = f.format.Apply(ctx, v); err != nil {
			return nil, err
		}
	}
	p.value = v
	if list, ok := pipeline.Below(v); ok && (f.slice.Offset > 0 || f.slice.Limit > 0 || !f.whole && !p.fits(v)) {
		p.wrapped(list)
	}
	if f.whole {
		return p.all(ctx)
	}
	return p.answer(ctx)
}

// A pager answers one call with a part of a value.
type pager struct {
	*call
	f        *filter
	d        *document
	selected bool // the value is what fields or jq left
	value    pipeline.Value
	list     string // where in the document the items are, if not in the value itself
}

// fits reports whether v is short enough for one reply, minified as its page would be.
func (p *pager) fits(v pipeline.Value) bool {
	budget := p.opts.Shaper.Budget() - above
	if len(v.Data) > 1000*budget {
		return false
	}
	return tokens.AtMost(jsonscan.AppendMinified(nil, v.Data), budget)
}

// wrapped pages a list in place of the document that it stands in. The first page tells
// what is around the list.
func (p *pager) wrapped(list pipeline.Wrapped) {
	const most = 600 // bytes that are told
	note := p.value.Note
	p.value, p.list = list.Value, " of "+show.Clip(list.At.String(), 200)
	p.value.Note = note
	if p.f.slice.Offset > 0 {
		return
	}
	around := jsonscan.AppendMinified(nil, list.Around)
	if len(around) <= most {
		p.d.note = join(p.d.note, "around the list: "+string(around))
		return
	}
	p.d.note = join(p.d.note, fmt.Sprintf(`around the list, shortened: %s · whole: "exclude":[%s]`,
		show.Elide(around, most), show.Quote(show.Clip(list.At.String(), 200))))
}

// join puts two notes on a line each, unless one is empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " · " + b
}

// all answers with all that there is from the offset on, or says how many pages it takes.
func (p *pager) all(ctx context.Context) (json.RawMessage, error) {
	v := p.value
	p.f.slice.Compact = p.compact()
	page, err := p.f.slice.Apply(ctx, v)
	if err == nil {
		page, err = p.formatted(ctx, page)
	}
	if err != nil {
		return nil, err
	}
	head := p.header(0, page)
	if most := p.opts.Shaper.MaxWhole(); !tokens.AtMost(append([]byte(head), page.Data...), most) {
		n, _ := tokens.Count(page.Data)
		each := p.opts.Shaper.Budget() - above
		call := p.sameCall(p.f.slice.Offset)
		return nil, &pipeline.Error{Code: pipeline.BadArguments,
			Text: fmt.Sprintf("whole: it has ~%s tokens; maxWholeTokens is %s", show.Count(n), show.Count(most)),
			Hint: fmt.Sprintf("read about %s pages, the first with %s; or select with fields, jq or proxy_search", show.Count((n+each-1)/each), call)}
	}
	return p.reply(p.d, head, page, true)
}

// answer answers with a page. What was selected is one page if it fits, and if it is an
// object or a single value, which is cut like any answer.
func (p *pager) answer(ctx context.Context) (json.RawMessage, error) {
	unsliced := p.f.slice.Offset == 0 && p.f.slice.Limit == 0
	if p.selected && unsliced && p.list == "" {
		v, err := p.formatted(ctx, p.value)
		if err != nil {
			return nil, err
		}
		if head := p.call.header(p.d, v, false); v.Unit == "" || v.Unit == "fields" || p.opts.Shaper.Fits(head, v.Data) {
			return p.reply(p.d, head, v, false)
		}
	}
	page, head, next, err := p.fill(ctx)
	if err != nil {
		return nil, err
	}
	asked := p.f.slice.Limit > 0 && page.Items == p.f.slice.Limit
	if with := head + "next: " + frame.OneLine(p.sameCall(next)) + "\n"; p.selected && next > 0 && !asked && p.opts.Shaper.Fits(with, page.Data) {
		head = with
	}
	return p.reply(p.d, head, page, false)
}

// fill returns the items of a page, as they are wanted written, what stands above them,
// and the offset of the page behind, 0 if it is the last. One item that does not fit is a
// page: it is cut like any answer.
func (p *pager) fill(ctx context.Context) (page pipeline.Value, head string, next int, err error) {
	p.f.slice.Compact = p.compact()
	room := above
	if p.selected {
		room += 20 + len(p.arguments)/3
	}
	for budget := p.opts.Shaper.Budget() - room; ; budget = budget * 2 / 3 {
		items, next, err := p.f.slice.Fill(ctx, p.value, budget)
		if err != nil {
			return page, "", 0, err
		}
		if page, err = p.formatted(ctx, items); err != nil {
			return page, "", 0, err
		}
		head = p.header(next, page)
		if items.Items <= 1 || p.opts.Shaper.Fits(head, page.Data) {
			return page, head, next, nil
		}
	}
}

// compact reports whether items of JSON are minified.
func (p *pager) compact() bool { return p.f.format.As == "" || p.f.format.As == "json" }

// formatted is v as it is wanted written, with the counts of v.
func (p *pager) formatted(ctx context.Context, v pipeline.Value) (pipeline.Value, error) {
	if p.f.format.As == "" {
		return v, nil
	}
	out, err := p.f.format.Apply(ctx, v)
	if err == nil {
		out.Items, out.Total, out.Unit = v.Items, v.Total, v.Unit
	}
	return out, err
}

// header says which part of the value a page is, if it is one. next is the offset of the
// page behind it, 0 if it is the last.
func (p *pager) header(next int, v pipeline.Value) string {
	if v.Items == v.Total && p.list == "" {
		return p.call.header(p.d, v, false)
	}
	line := fmt.Sprintf("%s of %s %s%s", show.Count(v.Items), show.Count(v.Total), v.Unit, p.list)
	if offset := p.f.slice.Offset; offset > 0 {
		line += fmt.Sprintf(", from offset %d", offset)
	}
	if next > 0 {
		line += fmt.Sprintf(" · next offset %d", next)
	}
	if p.d.fresh {
		line += fmt.Sprintf(" · cache_id=%s", p.d.id)
	}
	if p.d.kept != "" {
		line += " · " + keptAs + string(p.d.kept)
	}
	return shape.Notes(append([]string{line, p.d.note, v.Note}, p.healed...)...)
}

// sameCall is the call that is answered, for a page from an offset on, ready to send. A
// fresh call's result is kept, so its place is taken by the cache ID. So is that of a
// selection, which need not be made again.
func (p *pager) sameCall(offset int) string {
	call := json.RawMessage("{}")
	if id := cmp.Or(p.d.kept, p.d.id); id != "" {
		call = jsonscan.Object("cache_id", jsonscan.Quote(string(id)))
	}
	gone := []string{"cache_id", "tool", "arguments", "offset", "whole"}
	if p.d.kept != "" {
		gone = append(gone, "cache_ids", "block", "fields", "exclude", "mode", "jq", "keep")
	}
	_ = jsonscan.Members(objectOf(p.arguments), func(key string, value json.RawMessage) error {
		if !slices.Contains(gone, key) {
			if value[0] == '"' { // > and not \u003e
				value = jsonscan.Quote(jsonscan.Unquote(value))
			}
			call = jsonscan.With(call, key, value)
		}
		return nil
	})
	return p.tool + " " + string(jsonscan.With(call, "offset", fmt.Appendf(nil, "%d", offset)))
}
