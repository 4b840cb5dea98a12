package bench

import "strings"

// tableErrands are on tables that are made of blanks.
var tableErrands = []errand{
	{"Tables made of blanks", "dpkg-list.txt", "the version of git",
		func(r *reader) bool {
			return strings.Contains(r.first.text, "1:2.39") || strings.Contains(r.call("proxy_search", `"cache_id":"$id","pattern":" git "`).text, "1:2.39")
		}},
}
