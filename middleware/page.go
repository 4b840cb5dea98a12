package middleware

import (
	"context"
	"encoding/json"
	"fmt"

	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// page answers a proxy_filter that selects nothing: with the items from offset
// on, as many as the limit has room for. What comes next is in its first line,
// so a document is read to its end without any page being cut.
func (s *Server) page(ctx context.Context, src *source, req *request, slice pipeline.Slice, format pipeline.Format) (json.RawMessage, error) {
	const self = "proxy_filter"
	if err := format.Check(); err != nil {
		return nil, err
	}
	f, err := s.open(ctx, self, src, req)
	if err != nil || f.done != nil {
		return f.done, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.QueryTimeout)
	defer cancel()
	if err := s.document(ctx, req.client.agent, self, &f, src.block); err != nil {
		return nil, err
	}
	v := f.value
	if v.Kind == pipeline.Text && format.As != "" {
		// The pages of a table that is asked for as records are records.
		if v, err = (&pipeline.Format{As: recordsOf(format.As)}).Apply(ctx, v); err != nil {
			return nil, s.withID(err, f)
		}
	}
	slice.Compact = format.As == "" || format.As == "json"
	lim := s.limit(Policy{})
	const above = 48 // tokens of the lines above a page
	for budget := lim.tokens - above; ; budget = budget * 2 / 3 {
		page, next, err := slice.Fill(ctx, v, budget)
		if err != nil {
			return nil, s.withID(err, f)
		}
		whole := page
		if format.As != "" {
			if page, err = (&format).Apply(ctx, page); err != nil {
				return nil, s.withID(err, f)
			}
		}
		page.Items, page.Total, page.Unit = whole.Items, whole.Total, whole.Unit
		head := pageHeader(f, page, slice, next)
		// One item that does not fit is cut like any result.
		if whole.Items <= 1 || lim.fits(append([]byte(head), page.Data...)) {
			return s.deliver(self, req, f, page, head, lim)
		}
	}
}

// recordsOf is the form in which a text is paged to be written as form: a text
// stays one, a table becomes records.
func recordsOf(form string) string {
	if form == "text" {
		return form
	}
	return "lines"
}

// pageHeader says which part of a document a page is, if it is one.
func pageHeader(f found, v pipeline.Value, slice pipeline.Slice, next int) string {
	if v.Items == v.Total {
		return header(f, v)
	}
	h := fmt.Sprintf("[%s of %s %s", show.Count(v.Items), show.Count(v.Total), v.Unit)
	if slice.Offset > 0 {
		h += fmt.Sprintf(", from offset %d", slice.Offset)
	}
	if next > 0 {
		h += fmt.Sprintf(" · next offset %d", next)
	}
	if f.fresh {
		h += fmt.Sprintf(" · cache_id=%s", f.id)
	}
	return h + "]\n" + notes(f, v)
}
