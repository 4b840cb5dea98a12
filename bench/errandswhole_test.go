package bench

import (
	"regexp"
	"strings"
)

// goesOn matches the lines that say where a list goes on: at an offset, or by a call.
var goesOn = regexp.MustCompile(`(?m)^\[.* next offset (\d+)|^next: proxy_filter \{(.*"offset":.*)\}$`)

// readList reads what a call of proxy_filter gives to its end: the pages that replies
// name, and those of a reply that is itself cut.
func (r *reader) readList(args string) string {
	args = strings.ReplaceAll(args, "$id", r.first.id)
	var read strings.Builder
	for r.calls < 12 {
		got := r.call("proxy_filter", args)
		read.WriteString(got.text)
		lines := strings.SplitN(got.text, "\n", 4)
		m := goesOn.FindStringSubmatch(strings.Join(lines[:len(lines)-1], "\n"))
		if got.cut {
			read.WriteString(r.readList(`"cache_id":"` + got.id + `"`))
		}
		switch {
		case m == nil:
			return read.String()
		case m[2] != "":
			args = m[2]
		default:
			args, _, _ = strings.Cut(args, `,"offset"`)
			args += `,"offset":` + m[1]
		}
	}
	return read.String()
}

// hasAll reports whether text has each of words.
func hasAll(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// wholeErrands are on what an agent wants all of.
var wholeErrands = []errand{
	{"A list below a wrapper", "ec2-waiters.json", "all waiters, page by page",
		func(r *reader) bool {
			want := []string{`"InstanceExists"`, `"SpotInstanceRequestFulfilled"`, `"VpnConnectionDeleted"`}
			return hasAll(r.readList(`"cache_id":"$id"`), want...) || hasAll(r.readList(`"cache_id":"$id","jq":".waiters | to_entries"`), want...)
		}},
	{"A list below a wrapper", "earthquakes.json", "the five events from the 500th on",
		func(r *reader) bool {
			want := []string{"17km ESE of Julian, CA", `"us1000cfvu"`}
			return hasAll(r.call("proxy_filter", `"cache_id":"$id","offset":500,"limit":5`).text, want...) ||
				hasAll(r.readList(`"cache_id":"$id","jq":".features[500:505]"`), want...)
		}},
	{"Bytes for editing", "package.json", "the file as it is",
		func(r *reader) bool {
			text := r.first.text
			if text != string(r.whole) && r.first.id != "" {
				text = r.call("proxy_filter", `"cache_id":"$id","format":"text"`).text
			}
			return text == string(r.whole)
		}},
	{"Asked for by name", "movies.json", "title, director and rating of all above 8.0",
		func(r *reader) bool {
			return hasAll(r.readList(`"cache_id":"$id","jq":".[] | select(.\"IMDB Rating\" > 8.0) | {Title, Director, r: .\"IMDB Rating\"}"`), "To Kill A Mockingbird", "WALL-E")
		}},
	{"Asked for by name", "webhooks.json", "name, actions and description of all events",
		func(r *reader) bool {
			return hasAll(r.readList(`"cache_id":"$id","fields":["name","actions","description"]`), `"branch_protection_rule"`, `"workflow_run"`)
		}},
}
