package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline"
)

// alike are the names that agents give to parameters by mistake, in lower case and
// without "_": the first one that the tool has is meant. What is only spelt another
// way, as maxResults, is found by [nearest].
var alike = map[string][]string{
	"id": {"cache_id"}, "ids": {"cache_ids"}, "resultid": {"cache_id"}, "name": {"tool", "names"}, "toolname": {"tool", "name", "names"}, "tool": {"name", "names"}, "tools": {"names"}, "group": {"server"}, "args": {"arguments"}, "params": {"arguments"}, "input": {"arguments"},
	"query": {"question", "pattern", "jq"}, "q": {"question", "pattern", "jq", "query"}, "search": {"pattern", "query"}, "text": {"pattern", "query"}, "keyword": {"pattern", "query"}, "pattern": {"query"}, "regex": {"pattern"}, "prompt": {"question"}, "ask": {"question"}, "instructions": {"guide"}, "categories": {"labels"}, "classes": {"labels"}, "options": {"labels"},
	"filter": {"jq"}, "expression": {"jq"}, "program": {"jq"},
	"limit": {"max_results"}, "maxresults": {"max_results", "limit"}, "max": {"max_results", "limit"}, "count": {"max_results", "limit"},
	"n": {"max_results", "limit"}, "size": {"limit", "max_results"}, "pagesize": {"limit"}, "perpage": {"limit"}, "start": {"offset"}, "skip": {"offset"},
	"columns": {"fields"}, "select": {"fields"}, "keys": {"fields"}, "field": {"fields", "path"}, "path": {"fields"}, "paths": {"fields", "path"}, "omit": {"exclude"},
	"depth": {"max_depth"}, "context": {"context_lines"}, "lines": {"context_lines"}, "ignorecase": {"case_insensitive"}, "output": {"format"}, "index": {"block"}, "all": {"whole"}, "full": {"whole"},
}

// meant is the parameter that key is, or is another name of, or "".
func meant(key string, params []param) string {
	names := append([]string{key}, alike[plain(key)]...)
	for _, name := range names {
		if slices.ContainsFunc(params, func(p param) bool { return p.name == name }) {
			return name
		}
	}
	return ""
}

func plain(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }

// takes is the tool of ours that has what another one lacks, or "".
func takes(key string) string {
	for _, tool := range []string{"proxy_filter", "proxy_search", "proxy_explore"} { // of results
		if meant(key, paramsOf(tool)) != "" {
			return tool
		}
	}
	return ""
}

// pageNumber reports whether key counts pages, which none of our tools does.
func pageNumber(key string) bool {
	switch plain(key) {
	case "page", "pagenumber", "pageno", "pagenum", "pageindex":
		return true
	}
	return false
}

// paged is the offset of the page that args ask for, and its limit, of 20 if they
// do not say.
func paged(number, limit json.RawMessage) (offset, size json.RawMessage) {
	page, err := strconv.Atoi(strings.Trim(string(number), `"`))
	if err != nil || page < 1 || page > 1e6 {
		page = 1
	}
	n, err := strconv.Atoi(string(limit))
	if err != nil || n < 1 || n > 1e6 {
		n = 20
	}
	return strconv.AppendInt(nil, int64(page-1)*int64(n), 10), strconv.AppendInt(nil, int64(n), 10)
}

// righted turns a misuse into an error that shows a right call: it has what was
// given, as far as that is right.
func righted(tool string, args json.RawMessage, params []param, err error) error {
	var m *misuse
	if !errors.As(err, &m) {
		return err
	}
	if m.tool != tool {
		params = paramsOf(m.tool)
	}
	return &pipeline.Error{Code: pipeline.BadArguments, Text: m.text,
		Hint: "a right call: " + m.tool + " " + string(rightCall(m.tool, args, params))}
}

// rightCall makes of args some that the tool takes, as long as what they name is
// there.
func rightCall(tool string, args json.RawMessage, params []param) json.RawMessage {
	have := map[string]json.RawMessage{}
	var page json.RawMessage
	inner := []byte{'{'} // what a tool that is called takes, beside arguments in place of within
	if len(args) > 0 {
		args = objectOf(args)
	}
	if len(args) > 0 {
		_ = jsonscan.Members(args, func(key string, value json.RawMessage) error {
			if pageNumber(key) && tool == "proxy_filter" {
				page = value
				return nil
			}
			name := key
			if !slices.ContainsFunc(params, func(p param) bool { return p.name == key }) {
				if Calls(tool) {
					name = meant(key, params)
				} else {
					name = nearest(key, params)
				}
			}
			if name == "" && Calls(tool) && len(value) <= maxRepeated {
				inner = jsonscan.AppendMember(inner, key, value)
			}
			i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
			if i < 0 || len(value) > maxRepeated || name != key && have[name] != nil {
				return nil
			}
			if value = fitting(value, params[i]); value != nil {
				have[name] = value
			}
			return nil
		})
	}
	if page != nil {
		have["offset"], have["limit"] = paged(page, have["limit"])
	}
	if have["cache_id"] != nil || have["tool"] != nil || string(have["cache_ids"]) == "[]" {
		delete(have, "cache_ids")
	}
	if string(have["limit"]) == "0" {
		delete(have, "limit")
	}
	switch {
	case !forResults(tool):
		if len(inner) > 1 && have["arguments"] == nil {
			have["arguments"] = append(inner, '}')
		}
		for _, p := range params {
			if have[p.name] == nil && p.example != "" {
				have[p.name] = json.RawMessage(p.example)
			}
		}
	case have["cache_ids"] != nil:
		if have["jq"] == nil {
			have["jq"] = json.RawMessage(`"."`)
		}
		for _, other := range []string{"arguments", "fields", "exclude", "mode"} {
			delete(have, other)
		}
	case have["cache_id"] != nil:
		delete(have, "tool")
		delete(have, "arguments")
	case have["tool"] == nil:
		have["cache_id"] = json.RawMessage(`"…"`)
		delete(have, "arguments")
	}
	if tool == "proxy_ask" && have["question"] == nil {
		have["question"] = json.RawMessage(`"What is this about?"`)
	}
	if tool == "proxy_ask" && have["labels"] != nil {
		if have["labels"] = rightLabels(have["labels"]); have["labels"] != nil {
			delete(have, "type")
		}
	}
	if tool == "proxy_search" && have["pattern"] == nil {
		have["pattern"] = json.RawMessage(`"error"`)
	}
	if mode := string(have["mode"]); tool == "proxy_filter" && (mode != `"include"` && mode != `"exclude"` || have["exclude"] != nil) {
		delete(have, "mode")
	}
	out := []byte{'{'}
	for _, p := range params {
		if value := have[p.name]; value != nil {
			out = jsonscan.AppendMember(out, p.name, value)
		}
	}
	return append(out, '}')
}

var commas = regexp.MustCompile(` *,[ ,]*`)

// fitting is value as p takes it: what a string holds, a string as the only one of
// several, or p's example; nil if there is none.
func fitting(value json.RawMessage, p param) json.RawMessage {
	if string(value) == "null" || string(value) == `""` {
		return nil
	}
	if _, list := p.into.(*[]json.RawMessage); list { // what is in it may be what is wrong
		return nil
	}
	candidates := []json.RawMessage{value}
	switch inside := value[1:max(1, len(value)-1)]; value[0] {
	case '"':
		one := "[" + string(value) + "]"
		if !bytes.ContainsAny(inside, `"\`) { // several, as a.b,c.d
			one = `["` + commas.ReplaceAllString(strings.Trim(string(inside), ", "), `","`) + `"]`
		}
		candidates = append(candidates, jsonscan.AppendUnquoted(nil, value), json.RawMessage(one))
	case '[':
		candidates = append(candidates, inside)
	}
	for _, c := range append(candidates, json.RawMessage(p.example)) {
		if _, isObject := p.into.(*json.RawMessage); isObject {
			if len(c) > 0 && objectOf(c) != nil {
				return objectOf(c)
			}
		} else if fits(c, p.into) && p.allows(c) {
			return c
		}
	}
	return nil
}

// allows reports whether value is one of those that the schema names, if it names any.
func (p param) allows(value json.RawMessage) bool {
	var s struct{ Enum []string }
	_ = json.Unmarshal([]byte("{"+p.schema+"}"), &s) // ours
	return s.Enum == nil || slices.Contains(s.Enum, jsonscan.Unquote(value))
}

// rightLabels are labels as proxy_ask takes them.
func rightLabels(given json.RawMessage) json.RawMessage {
	var labels []string
	_ = json.Unmarshal(given, &labels) // it fits
	var once []string
	for _, l := range labels {
		if l = strings.TrimSpace(l); l != "" && len(l) <= maxLabel && !slices.ContainsFunc(once, func(o string) bool { return strings.EqualFold(o, l) }) && len(once) < maxLabels {
			once = append(once, l)
		}
	}
	if len(once) == 1 {
		once = append(once, "other")
	}
	if len(once) == 0 {
		return nil
	}
	right := []byte{'['}
	for _, l := range once {
		right = jsonscan.AppendElement(right, jsonscan.Quote(l))
	}
	return append(right, ']')
}

// fits reports whether value is of into's type; whole numbers count something.
func fits(value json.RawMessage, into any) bool {
	one := reflect.New(reflect.TypeOf(into).Elem())
	return json.Unmarshal(value, one.Interface()) == nil && (!one.Elem().CanInt() || one.Elem().Int() >= 0)
}
