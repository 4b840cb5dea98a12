package bench

import "strings"

// searchErrands are on what a hit of proxy_search comes with, and on reading on.
var searchErrands = []errand{
	{"Looking inside", "github-issues.json", "title and number of the issue that was created at 04:38:58",
		asks(`Test issue 7|"number":7`, `proxy_search "pattern":"created_at.*04:38:58"`, `proxy_filter "jq":".[6] | {number,title}"`)},
	{"Looking inside", "gotest.jsonl", "which test of which package said that a file is not there",
		asks(`TestWrapFilesystem|rlmproxy/e2e`, `proxy_search "pattern":"no such file or directory"`, `proxy_filter "jq":"[.[1296,1301] | {Package,Test}]"`)},
	{"Looking inside", "stripe.json", "the operation that redacts a session, and its operationId",
		asks(`/redact|PostIdentityVerificationSessionsSessionRedact`, `proxy_search "pattern":"Redact a VerificationSession"`,
			`proxy_filter "jq":".paths[\"/v1/identity/verification_sessions/{session}/redact\"].post.operationId"`)},
	{"Looking inside", "history.diff", "the commit that brought EnableLossless, its date and subject",
		asks(`5557e953c00b|2026-11-21|config: a preview`, `proxy_search "pattern":"^\\+.*EnableLossless +bool"`, `proxy_search "pattern":"^commit","context_lines":4,"max_results":3`)},
	{"Looking inside", "postgres.log", "the statement that divided by zero",
		asks(`SELECT 1/0`, `proxy_search "pattern":"division by zero"`, `proxy_filter "offset":2587,"limit":2`)},
	{"Looking inside", "postgres.log", "the table whose vacuum read 100 pages, and when",
		asks(`shop.public.orders|07:12:42.927`, `proxy_search "pattern":"109 scanned"`, `proxy_filter "offset":3660,"limit":5`)},
	{"Looking inside", "airports.csv", "city and latitude of the airport ORD, by their columns",
		asks(`iata,name,city,state,country,latitude,longitude|Chicago|41.979595`, `proxy_search "pattern":"^\"?ORD"`, `proxy_filter "limit":1`)},
	{"Looking inside", "jquery.min.js", "what makes the error of a bad XML document",
		asks(`parseFromString(|ce.error("Invalid XML`, `proxy_search "pattern":"getElementsByTagName\\(\"parsererror\"\\)"`,
			`proxy_search "pattern":".{100}getElementsByTagName\\(\"parsererror\"\\).{100}"`)},
	{"Looking inside", "jquery.min.js", "how the function that parses HTML begins and ends",
		asks(`ce.parseHTML=function(e,t,n)|ce.merge([],i.childNodes)))`, `proxy_search "pattern":"ce\\.parseHTML=function.*?childNodes\\)\\)\\)"`,
			`proxy_search "pattern":"ce\\.merge\\(\\[\\],i\\.childNodes\\)\\)\\)"`)},
	{"Looking inside", "ec2.d.ts", "the 37th interface of a VPC",
		asks(`interface DeleteVpcEndpointsResult`, `proxy_search "pattern":"export interface .*Vpc"`, `proxy_search "pattern":"export interface .*Vpc","offset":20`)},
	{"Looking inside", "webhooks.json", "the fields in which the login Codertocat stands",
		asks(`sender.login|repository.owner.login`, `proxy_search "pattern":"\"Codertocat\"","mode":"paths"`,
			`proxy_filter "jq":"[paths(strings) as $p | select(getpath($p) == \"Codertocat\") | $p | map(select(type == \"string\")) | join(\".\")] | unique"`)},
	{"Looking inside", "ec2.d.ts", "what stands around the first mention of a nitro enclave",
		asks(`Nitro`, `proxy_search "pattern":"Nitro Enclave","mode":"context","max_results":1`)},
}

// asks makes calls, each a tool and its arguments, until all of wants, with | between
// them, have been read.
func asks(wants string, calls ...string) func(r *reader) bool {
	return func(r *reader) bool {
		read := ""
		for _, c := range calls {
			tool, args, _ := strings.Cut(c, " ")
			read += r.call(tool, `"cache_id":"$id",`+args).text
			found := true
			for want := range strings.SplitSeq(wants, "|") {
				found = found && strings.Contains(read, want)
			}
			if found {
				return true
			}
		}
		return false
	}
}
