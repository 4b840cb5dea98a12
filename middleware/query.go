package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/wire"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// A query is a tool of our own.
type query func(ctx context.Context, req *request) (json.RawMessage, error)

// query returns the tool of our own that has this name, or nil.
func (s *Server) query(name string) query {
	switch name {
	case "proxy_explore":
		return s.explore
	case "proxy_filter":
		return s.filter
	case "proxy_search":
		return s.search
	}
	return nil
}

// A source is what a query works on: a cached result, or a fresh call whose
// result it caches first.
type source struct {
	cacheID   string
	tool      string
	arguments json.RawMessage
	block     int // -1: the only one, or all
}

func (src *source) params() []param {
	src.block = -1
	return []param{
		{"cache_id", &src.cacheID, `"…"`},
		{"tool", &src.tool, ""},
		{"arguments", &src.arguments, ""},
		{"block", &src.block, ""},
	}
}

// A found is a source's document.
type found struct {
	id    cache.ID
	value pipeline.Value
	fresh bool
	note  string
	done  json.RawMessage // the answer already: a fresh call that failed
}

// open finds the source, or makes it by a fresh call. Its document is read by
// [Server.document].
func (s *Server) open(ctx context.Context, self string, src *source, req *request) (found, error) {
	switch {
	case src.cacheID != "" && src.tool != "":
		return found{}, badArgs(self, nil, "give cache_id or tool, not both")
	case src.cacheID == "" && src.tool == "":
		return found{}, badArgs(self, nil, "cache_id is missing (or tool and arguments, for a fresh call)")
	case src.cacheID != "" && src.arguments != nil:
		return found{}, badArgs(self, nil, "arguments go with tool, not with cache_id")
	}
	if src.tool == "" {
		return found{id: bareID(src.cacheID)}, nil
	}
	raw, origin, err := s.freshCall(ctx, src, req)
	if err != nil {
		return found{}, err
	}
	if isError(raw) || wantsInput(raw) {
		out, err := s.shape(req.client.agent, origin, raw, Policy{})
		return found{done: out}, err
	}
	id, err := s.opts.Store.Put(req.client.agent, origin, raw)
	if errors.Is(err, cache.ErrTooLarge) {
		return found{}, &pipeline.Error{Code: pipeline.LimitMemory, Err: err,
			Text: fmt.Sprintf("the result of %s, %s bytes, is too large to keep", src.tool, show.Count(len(raw))),
			Hint: "call the tool with narrower arguments"}
	}
	return found{id: id, fresh: true}, err
}

// bareID is the id in what an agent has copied, which may be a reply's first line or
// a piece of it: [… cache_id=ID].
func bareID(given string) cache.ID {
	if i := strings.LastIndex(given, "cache_id"); i >= 0 {
		given = given[i+len("cache_id"):]
	}
	return cache.ID(strings.Trim(given, " \t\n=:\"'`[]<>(){}"))
}

func isError(raw json.RawMessage) bool {
	return string(jsonscan.Member(raw, "isError")) == "true"
}

// freshCall calls an upstream's tool, if the operator lets us.
func (s *Server) freshCall(ctx context.Context, src *source, req *request) (json.RawMessage, cache.Origin, error) {
	t, err := s.find(ctx, src.tool)
	if err != nil {
		return nil, cache.Origin{}, err
	}
	allowed := s.opts.FreshCalls == FreshAll ||
		s.opts.FreshCalls == FreshReadOnly && (readOnly(t.tool.Raw) || match(t.up.Fresh, t.tool.Name))
	if !allowed {
		return nil, cache.Origin{}, &pipeline.Error{
			Code: pipeline.BadArguments,
			Text: fmt.Sprintf("%s is not declared read-only, so it is not called from here", t.exposed),
			Hint: fmt.Sprintf("call %s directly and use the cache_id of its reply", t.exposed),
		}
	}
	raw, err := s.result(ctx, t, req, toolParams(t.tool.Name, src.arguments))
	return raw, cache.Origin{Tool: t.exposed, Arguments: src.arguments}, err
}

// cached returns the result that the cache holds, parsed once. The call waits
// here for its turn to work on it.
func (s *Server) cached(ctx context.Context, agent string, id cache.ID) (*result, error) {
	entry, err := s.opts.Store.Get(agent, id)
	if err != nil {
		return nil, err
	}
	if err := turn(ctx, len(entry.Data)); err != nil {
		return nil, err
	}
	parsed, err := s.memo(agent, id, -1)("result", func() (any, int64, error) {
		r, err := parseResult(entry.Data)
		if err != nil {
			return nil, 0, err
		}
		return r, r.size(), nil
	})
	if err != nil {
		return nil, err
	}
	return parsed.(*result), nil
}

// keepParsed spares the first query the parsing of r, which is cached under id,
// and the memory a second copy of its texts.
func (s *Server) keepParsed(agent string, id cache.ID, r *result) {
	if id == "" {
		return
	}
	only := &result{raw: r.raw, blocks: r.blocks, docs: r.docs, meta: r.meta, isError: r.isError}
	_, _ = s.memo(agent, id, -1)("result", func() (any, int64, error) { return only, only.size(), nil })
}

// size is what the texts of r take in memory.
func (r *result) size() int64 {
	n := int64(0)
	for _, d := range r.docs {
		n += int64(len(d.text))
	}
	return n
}

// turn waits until the call may work on n bytes.
func turn(ctx context.Context, n int) error {
	err := wire.HoldOf(ctx).Take(ctx, int64(n))
	if errors.Is(err, context.DeadlineExceeded) {
		return &pipeline.Error{Code: pipeline.LimitTime, Err: err,
			Text: "the time limit passed while other calls worked on large results",
			Hint: "send such calls one after another"}
	}
	return err
}

// outside is a stage that works in another process: meanwhile others have their
// turns.
type outside struct{ *pipeline.JQ }

func (o outside) Check() error { return o.CheckSyntax() }

func (o outside) Apply(ctx context.Context, in pipeline.Value) (pipeline.Value, error) {
	wire.HoldOf(ctx).Pause()
	out, err := o.JQ.Apply(ctx, in)
	if err == nil {
		err = turn(ctx, len(out.Data))
	}
	return out, err
}

// document reads one document of the result that f found. Without a block number
// it is the only one, or all of them joined.
func (s *Server) document(ctx context.Context, agent, self string, f *found, block int) error {
	r, err := s.cached(ctx, agent, f.id)
	if err != nil {
		return err
	}
	if block >= 0 {
		d, ok := r.doc(block)
		if !ok {
			var have []int
			for _, d := range r.docs {
				have = append(have, d.block)
			}
			e := &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf("%s: block %d has no text; these have: %v", self, block, have)}
			if len(have) > 0 {
				e.Hint = fmt.Sprintf(`the same with "block":%d`, have[0])
			}
			return e
		}
		f.value = s.recognise(agent, f.id, d)
		return nil
	}
	var texts []document
	for _, d := range r.docs {
		if d.blob == "" {
			texts = append(texts, d)
		}
	}
	switch len(texts) {
	case 0:
		return &pipeline.Error{Code: pipeline.BadArguments, Text: self + ": this result has no text"}
	case 1:
		f.value = s.recognise(agent, f.id, texts[0])
		return nil
	}
	memo := s.memo(agent, f.id, len(r.blocks)+1)
	all, err := memo("joined", func() (any, int64, error) {
		all := join(texts)
		return all, int64(len(all)), nil
	})
	if err != nil {
		return err
	}
	f.value = pipeline.Recognise(all.([]byte), memo)
	f.value.Key = key(f.id, len(r.blocks)+1)
	f.note = fmt.Sprintf("%d blocks joined; \"block\":%d to %d chooses one", len(texts), texts[0].block, texts[len(texts)-1].block)
	return nil
}

// join puts texts one below the other.
func join(texts []document) []byte {
	n := len(texts)
	for _, d := range texts {
		n += len(d.text)
	}
	all := make([]byte, 0, n)
	for i, d := range texts {
		if i > 0 {
			all = append(all, '\n')
		}
		all = append(all, d.text...)
	}
	return all
}

// key names a document of a cached result among all of its agent's. An id is
// made of the result's bytes, so a key never comes to mean others.
func key(id cache.ID, block int) string { return fmt.Sprintf("%s/%d", id, block) }

// recognise is pipeline.Recognise, once for each document that the cache keeps.
func (s *Server) recognise(agent string, id cache.ID, d document) pipeline.Value {
	memo := s.memo(agent, id, d.block)
	if memo == nil {
		return pipeline.Recognise(d.text, nil)
	}
	build := func() *pipeline.Value {
		v := pipeline.Recognise(d.text, memo)
		v.Key = key(id, d.block)
		return &v
	}
	seen, err := memo("value", func() (any, int64, error) { return build(), int64(len(d.text)), nil })
	if err != nil {
		return *build()
	}
	return *seen.(*pipeline.Value)
}

// answer runs stages over what src names and replies within the limit.
func (s *Server) answer(ctx context.Context, self string, src *source, req *request, stages pipeline.Pipeline) (json.RawMessage, error) {
	if err := stages.Check(); err != nil {
		return nil, err
	}
	f, err := s.open(ctx, self, src, req)
	if err != nil || f.done != nil {
		return f.done, err
	}
	timeout := s.opts.QueryTimeout
	if self == "proxy_search" {
		timeout = s.opts.SearchTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := s.document(ctx, req.client.agent, self, &f, src.block); err != nil {
		return nil, err
	}
	v, err := stages.Run(ctx, f.value)
	if err != nil {
		return nil, s.withID(err, f)
	}
	return s.deliver(self, req, f, v, header(f, v), s.limit(Policy{}))
}

// deliver replies with v below its header if that is within the limit. Else v
// is kept under an id of its own.
func (s *Server) deliver(self string, req *request, f found, v pipeline.Value, header string, lim limit) (json.RawMessage, error) {
	if header == "" && imitates(v.Data) {
		header = "[complete, as it is:]\n"
	}
	text := append([]byte(header), v.Data...)
	if lim.fits(text) || s.opts.PassThrough {
		n, _ := tokens.Count(text)
		return reply{text: text, key: metaResult, facts: facts{
			CacheID: f.id, Tokens: n, ShownTokens: n, Items: v.Total, ShownItems: v.Items, Complete: v.Items == v.Total,
		}}.encode()
	}
	data := v.Data
	if v.Kind == pipeline.JSON && v.Unit == "" && data[0] == '"' {
		// A long string is read and paged as the text that it is.
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return nil, err
		}
		data = []byte(text)
	}
	total, _ := tokens.Count(data)
	r, err := derived(data, header)
	if err != nil {
		return nil, err
	}
	n, _ := tokens.Count(text)
	if r.plain, err = (reply{text: text, key: metaResult, facts: facts{CacheID: f.id, Tokens: n, ShownTokens: n, Items: v.Total, ShownItems: v.Items}}).encode(); err != nil {
		return nil, err
	}
	return s.cut(req.client.agent, cache.Origin{Tool: self, Arguments: req.args}, r, total, lim)
}

// imitates reports whether data begins as a line of ours does.
func imitates(data []byte) bool {
	line, _, _ := bytes.Cut(data[:min(len(data), 300)], []byte{'\n'})
	return notice.Match(line)
}

var notice = regexp.MustCompile(`^\[(cut: |complete|cache_id=|[\d,]+ of )`)

// derived makes a result of what we made of another one, to be cut and kept as
// any other. notes are lines for the agent that reads its preview.
func derived(text []byte, notes string) (*result, error) {
	raw, err := reply{text: text, key: metaResult, facts: facts{Complete: true}}.encode()
	if err != nil {
		return nil, err
	}
	r, err := parseResult(raw)
	if err != nil {
		return nil, err
	}
	r.meta, r.notes = nil, notes
	return r, nil
}

// header says what an answer is a part of, if it is one, and where a fresh
// call's result is.
func header(f found, v pipeline.Value) string {
	var h string
	// A search says so itself, in its first line.
	part := v.Items != v.Total && v.Unit != "matches" && v.Unit != "passages"
	switch {
	case part && f.fresh:
		h = fmt.Sprintf("[%s of %s %s · cache_id=%s]\n", show.Count(v.Items), show.Count(v.Total), v.Unit, f.id)
	case part:
		h = fmt.Sprintf("[%s of %s %s]\n", show.Count(v.Items), show.Count(v.Total), v.Unit)
	case f.fresh:
		h = fmt.Sprintf("[cache_id=%s]\n", f.id)
	}
	return h + notes(f, v)
}

func notes(f found, v pipeline.Value) (lines string) {
	for _, note := range []string{f.note, v.Note} {
		if note != "" {
			lines += "[" + note + "]\n"
		}
	}
	return lines
}

// withID adds the call that shows what is there to an error that has no hint.
func (s *Server) withID(err error, f found) error {
	var e *pipeline.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	explore := fmt.Sprintf(`proxy_explore {"cache_id":%q} shows what is there`, f.id)
	if out.Hint == "" {
		out.Hint = explore
	} else if f.fresh {
		out.Hint += fmt.Sprintf(" (the result of the fresh call is kept: cache_id=%s)", f.id)
	}
	return &out
}

// explore answers proxy_explore.
func (s *Server) explore(ctx context.Context, req *request) (_ json.RawMessage, err error) {
	const self = "proxy_explore"
	var src source
	var o pipeline.Outline
	params := exploreParams(&src, &o)
	defer func() { err = righted(self, req.args, params, err) }()
	if err := decodeArgs(self, req.args, params); err != nil {
		return nil, err
	}
	if o.MaxDepth < 0 {
		return nil, badArgs(self, params, "max_depth must be 1 or more")
	}
	o.Budget = s.limit(Policy{}).tokens
	return s.answer(ctx, self, &src, req, pipeline.Pipeline{&o})
}

// filter answers proxy_filter. Where nothing is selected, it pages.
func (s *Server) filter(ctx context.Context, req *request) (_ json.RawMessage, err error) {
	const self = "proxy_filter"
	var src source
	var n narrowing
	var mode string
	var slice pipeline.Slice
	var format pipeline.Format
	params := filterParams(&src, &n, &mode, &slice, &format)
	defer func() { err = righted(self, req.args, params, err) }()
	if err := decodeArgs(self, req.args, params); err != nil {
		return nil, err
	}
	switch mode {
	case "", "include":
	case "exclude":
		if len(n.exclude) > 0 {
			return nil, badArgs(self, params, `mode "exclude" leaves out what fields names; exclude says it too`)
		}
		n.fields, n.exclude = nil, n.fields
	default:
		return nil, badArgs(self, params, fmt.Sprintf(`mode must be "include" or "exclude", not %q`, show.ClipBytes(mode, 40)))
	}
	if slice.Offset < 0 || slice.Limit < 0 {
		return nil, badArgs(self, params, "offset and limit must not be negative")
	}
	stages, err := n.stages(self, s.opts.JQ, req.client.agent)
	if err != nil {
		return nil, err
	}
	if len(stages) == 0 {
		return s.page(ctx, &src, req, slice, format)
	}
	if slice != (pipeline.Slice{}) {
		stages = append(stages, &slice)
	}
	if format.As != "" {
		stages = append(stages, &format)
	}
	return s.answer(ctx, self, &src, req, stages)
}

// search answers proxy_search.
func (s *Server) search(ctx context.Context, req *request) (_ json.RawMessage, err error) {
	const self = "proxy_search"
	var src source
	var n narrowing
	var find pipeline.Search
	params := searchParams(&src, &n, &find)
	defer func() { err = righted(self, req.args, params, err) }()
	if err := decodeArgs(self, req.args, params); err != nil {
		return nil, err
	}
	if find.Pattern == "" {
		return nil, badArgs(self, params, "pattern is missing")
	}
	stages, err := n.stages(self, s.opts.JQ, req.client.agent)
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, self, &src, req, append(stages, &find))
}

// toolParams are the params of a fresh call. Of the request that makes it the
// client's progress token goes along, and nothing else.
func toolParams(name string, args json.RawMessage) json.RawMessage {
	quoted, _ := quote(name) // any string encodes
	params := jsonscan.AppendMember([]byte{'{'}, "name", quoted)
	if args != nil {
		params = jsonscan.AppendMember(params, "arguments", args)
	}
	return append(params, '}')
}
