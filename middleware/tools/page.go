package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// page answers a proxy_filter that selects nothing: with the items from offset
// on, as many as the limit has room for. Its first line says where the next page
// begins, so a document is read to its end without any page being cut.
func (c *call) page(ctx context.Context, f *filter) (json.RawMessage, error) {
	if err := f.format.Check(); err != nil {
		return nil, err
	}
	d, done, err := c.open(ctx, &f.source)
	if err != nil || done != nil {
		return done, err
	}
	done, err = c.pageOf(ctx, f, &d)
	return done, d.hinted(err)
}

// pageOf answers with a page of an open document.
func (c *call) pageOf(ctx context.Context, f *filter, d *document) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.QueryTimeout)
	defer cancel()
	if err := c.read(ctx, d, f.source.block); err != nil {
		return nil, err
	}
	if as := f.format.As; d.value.Kind == pipeline.Text && as != "" && as != "text" {
		// A table that is asked for as records is paged as records.
		var err error
		if d.value, err = (&pipeline.Format{As: "lines"}).Apply(ctx, d.value); err != nil {
			return nil, err
		}
	}
	v, head, err := c.fill(ctx, f, d)
	if err != nil {
		return nil, err
	}
	return c.reply(d, head, v)
}

// fill returns the items of a page, as f wants them written, and what stands above
// them. One item that does not fit is a page: it is cut like any answer.
func (c *call) fill(ctx context.Context, f *filter, d *document) (page pipeline.Value, head string, err error) {
	const above = 48 // tokens of the lines above a page
	f.slice.Compact = f.format.As == "" || f.format.As == "json"
	for budget := c.opts.Shaper.Budget() - above; ; budget = budget * 2 / 3 {
		items, next, err := f.slice.Fill(ctx, d.value, budget)
		if err != nil {
			return page, "", err
		}
		page = items
		if f.format.As != "" {
			if page, err = f.format.Apply(ctx, items); err != nil {
				return page, "", err
			}
		}
		page.Items, page.Total, page.Unit = items.Items, items.Total, items.Unit
		head = pageHeader(d, f.slice.Offset, next, page)
		if items.Items <= 1 || c.opts.Shaper.Fits(head, page.Data) {
			return page, head, nil
		}
	}
}

// pageHeader says which part of a document a page is, if it is one. next is the
// offset of the page behind it, 0 if it is the last.
func pageHeader(d *document, offset, next int, v pipeline.Value) string {
	if v.Items == v.Total {
		return header(d, v, false)
	}
	line := fmt.Sprintf("%s of %s %s", show.Count(v.Items), show.Count(v.Total), v.Unit)
	if offset > 0 {
		line += fmt.Sprintf(", from offset %d", offset)
	}
	if next > 0 {
		line += fmt.Sprintf(" · next offset %d", next)
	}
	if d.fresh {
		line += fmt.Sprintf(" · cache_id=%s", d.id)
	}
	return shape.Notes(line, d.note, v.Note)
}
