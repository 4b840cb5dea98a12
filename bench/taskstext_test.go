package bench

import (
	"regexp"
	"slices"
	"strconv"
)

// textTasks are about logs, source, prose, diffs, dumps and markup.
var textTasks = []task{
	{"postgres.log", structure, "Which different messages of the level ERROR are there?", func(b []byte) []fact {
		return allOf(firstOf(lineMatches(b, `ERROR:  (.*?)(?: at character \d+)?$`)))
	}, nil, []step{jq(`map(select(.level == "ERROR").message | split("\n")[0]) | unique | .[]`)}},
	{"postgres.log", logLine, "Which role does not exist?", captured(`FATAL:  (role "\w+" does not exist)`), nil,
		[]step{grep(`role .* does not exist`)}},
	{"postgres.log", cause, "Which statement was canceled due to statement timeout?",
		every(`canceling statement due to statement timeout\n.*STATEMENT:  (.*)`), nil,
		[]step{find(`"pattern":"due to statement timeout","context_lines":2`)}},
	{"postgres.log", count, "How many connections failed with too many clients?",
		matching(`too many clients`, "too many clients"), times, []step{grep(`too many clients`)}},
	{"postgres.log", count, "How often was the duplicate key value reported?",
		matching(`duplicate key value`, "duplicate key"), times, []step{grep(`duplicate key value`)}},
	{"postgres.log", top, "What is the longest duration of a statement, in ms?", func(b []byte) []fact {
		longest := 0.0
		for _, m := range lineMatches(b, `duration: ([\d.]+) ms`) {
			if n, err := strconv.ParseFloat(m[1], 64); err == nil {
				longest = max(longest, n)
			}
		}
		return []fact{num("duration", longest)}
	}, extreme, []step{jq(`[.[].message | scan("duration: ([0-9.]+) ms")[0] | tonumber] | max`), grep(`duration: \d{4,}\.`)}},
	{"postgres.log", logLine, "How was the server shut down?", every(`LOG:  (received \w+ shutdown request)`), nil, []step{grep(`shut`)}},
	{"ec2.d.ts", definition, "Which members has the interface CreateVpcRequest?", func(b []byte) []fact {
		body := lineMatches(b, `(?s)export interface CreateVpcRequest \{\n(.*?)\n  \}`)[0][1]
		return allOf(firstOf(lineMatches([]byte(body), `^    (\w+\?: \w+);`)))
	}, nil, []step{grep(`interface CreateVpcRequest\b`), narrow(`"offset":$line,"limit":60`)}},
	{"ec2.d.ts", value, "Which values has the type VolumeType?", every(`(export type VolumeType = .*);`), nil,
		[]step{grep(`type VolumeType\b`)}},
	{"ec2.d.ts", count, "How many lines begin an export interface?",
		matching(`^  export interface`, "interface"), times, []step{grep(`^\s*export interface`)}},
	{"ec2.d.ts", definition, "Which result does deleteSubnet(params) give?", every(`^  deleteSubnet\(params.*=> void\): (Request<.*>);`), nil,
		[]step{grep(`deleteSubnet\(params`)}},
	{"changelog.md", structure, "Which is the newest version, and of what date?", func(b []byte) []fact {
		m := lineMatches(b, `^#+ \[(\d+\.\d+\.\d+)\].*\((\d+-\d+-\d+)\)`)[0]
		return []fact{labelled(regexp.QuoteMeta(m[1]), m[2])}
	}, nil, []step{explore("")}},
	{"changelog.md", value, "When was 6.0.0 released?", captured(`^#+ \[6\.0\.0\].*\((\d+-\d+-\d+)\)`), nil, []step{grep(`^#+ \[6\.0\.0\]`)}},
	{"changelog.md", section, "What changed in 7.5.3?", captured(`(?s)^## \[7\.5\.3\].*?\n- \*\*\w+:\*\* ([^(]*) \(\[`), nil,
		[]step{grep(`^#+ \[7\.5\.3\]`), narrow(`"offset":$line,"limit":10`)}},
	{"changelog.md", count, "How many headings say BREAKING CHANGES?",
		matching(`^#+ BREAKING CHANGES`, "BREAKING"), times, []step{grep(`^#+ BREAKING CHANGES`)}},
	{"commander.md", structure, "Which headings of level 2 are there?", every(`^(## .*)`), nil,
		[]step{find(`"pattern":"^## ","max_results":50`)}},
	{"commander.md", section, "Which events does the section Life cycle hooks support?", func(b []byte) []fact {
		return allOf(firstOf(lineMatches(b, "`((?:pre|post)(?:Action|Subcommand))`")))
	}, nil, []step{find(`"pattern":"^#+ Life cycle hooks","mode":"context","context_type":"section"`)}},
	{"commander.md", section, "How is help displayed after errors?", captured("(?s)^### Display help after errors.*?```js\\n(.*?);"), nil,
		[]step{find(`"pattern":"help displayed after errors","mode":"bm25","top_k":2`)}},
	{"commander.md", value, "Which version of Node does it require?", captured(`(requires at least v\d+)`), nil, []step{grep(`require.* v\d`)}},
	{"history.diff", fileList, "Which files are changed, over all commits?", func(b []byte) []fact {
		return allOf(firstOf(lineMatches(b, `^diff --git a/.* b/(.*)`)))
	}, nil, []step{jq(`[.[].files[].path] | unique`)}},
	{"history.diff", count, "How many commits are there?", matching(`^commit `, "commits?"), times, []step{grep(`^commit `)}},
	{"history.diff", definition, "Which fields has the new type logWriter?", func(b []byte) []fact {
		body := lineMatches(b, `(?s)^\+type logWriter struct \{\n(.*?)\n\+\}`)[0][1]
		return allOf(firstOf(lineMatches([]byte(body), `^\+\t(\w+ +[\w.\[\]{} ]*\w)`)))
	}, nil, []step{find(`"pattern":"type logWriter","context_lines":12`)}},
	{"panic.txt", cause, "What is the panic?", captured(`^panic: (.*)`), nil, []step{grep(`^panic`)}},
	{"panic.txt", cause, "Which line of wire was running?", captured(`(?s)\[running\]:.*?(middleware/wire/conn\.go:\d+)`), nil,
		[]step{find(`"pattern":"running","context_lines":4`)}},
	{"panic.txt", count, "How many goroutines are there?", matching(`^goroutine \d+ \[`, "goroutines?"), times, []step{grep(`^goroutine \d+ \[`)}},
	{"panic.txt", count, "How many goroutines wait in IO wait?", matching(`^goroutine .*IO wait`, "IO wait"), times, []step{grep(`\[IO wait`)}},
	{"gojq-tests.yaml", count, "How many entries have a name, at the start of a line?", matching(`^- name:`, "name"), times, []step{grep(`^- name:`)}},
	{"gojq-tests.yaml", value, `Which error does "number literal error" expect?`,
		captured(`name: number literal error\n(?:.*\n){6}\s*(\^ +invalid token .*)`), nil,
		[]step{find(`"pattern":"name: number literal error","context_lines":9`)}},
	{"gojq-tests.yaml", count, "How many entries have exit_code 5?", matching(`exit_code: 5$`, "exit_code"), times, []step{grep(`exit_code: 5$`)}},
	{"page-snapshot.txt", structure, "Which headings of level=2 are there?", every(`(heading "[^"]*") \[level=2\]`), nil,
		[]step{find(`"pattern":"heading .*level=2","max_results":60`)}},
	{"page-snapshot.txt", value, `Which ref has the heading "Goto statements"?`, every(`heading "Goto statements" .*\[ref=(e\d+)\]`), nil,
		[]step{grep(`heading "Goto statements"`)}},
	{"page-snapshot.txt", section, `What does the section "Goto statements" begin with?`, every(`heading "Goto statements" .*\n\s*- paragraph \[ref=\w+\]: (.*)`), nil,
		[]step{find(`"pattern":"\"Goto statements\"","context_lines":4`)}},
	{"page-snapshot.txt", count, "How many links are there?", matching(`- link `, "links?"), times, []step{grep(`- link `)}},
	{"go_mem.html", structure, "Which h2 headings are there?", every(`<h2 id="\w+">(.*)</h2>`), nil, []step{grep(`<h2`)}},
	{"go_mem.html", section, "What is said of the closing of a channel?", func(b []byte) []fact {
		m := lineMatches(b, `(The closing of a channel .*)\n(.*)`)[0]
		return []fact{says(m[1]), says(m[2])}
	}, nil, []step{find(`"pattern":"closing of a channel","context_lines":2`)}},
	{"go_mem.html", value, "Of which date is this Version?", captured(`(Version of \w+ \d+, \d+)`), nil, []step{grep(`Version`)}},
}

// shortTasks are about results around the limit: those under it arrive whole,
// and there is nothing to ask; the steps serve lower limits.
var shortTasks = []task{
	{"flights, 1.9k", count, "How many flights have the origin LAS?", originLAS, times, []step{countLAS}},
	{"zipcodes, 1.9k", value, "In which city is the zip_code 00601?", cell(',', "zip_code", "00601", "city"), nil, []step{grep(`^00601,`)}},
	{"ec2.d.ts, 1.9k", structure, "Which class is declared?", captured(`(class \w+ extends \w+)`), nil, []step{grep(`\bclass\b`)}},
	{"flights, 2.1k", count, "How many flights have the origin LAS?", originLAS, times, []step{countLAS}},
	{"flights, 2.1k+, indented", count, "How many flights have the origin LAS?", originLAS, times, []step{countLAS}},
	{"zipcodes, 2.1k", value, "In which county is the zip_code 00646?", cell(',', "zip_code", "00646", "county"), nil,
		[]step{jq(`.[] | select(.zip_code == "00646")`), grep(`^00646,`)}},
	{"zipcodes, 2.1k", count, "How many zip codes has the state PR?", tableCount(',', "state", "PR"), times,
		[]step{jq(`map(select(.state == "PR")) | length`), grep(`,PR,`)}},
	{"ec2.d.ts, 2.6k", definition, "Which parameters has acceptVpcEndpointConnections?", captured(`acceptVpcEndpointConnections\((params: [\w.]+)`), nil,
		[]step{grep(`acceptVpcEndpointConnections\(`)}},
	{"flights, 6k", count, "How many flights have the origin LAS?", originLAS, times, []step{countLAS}},
	{"flights, 6k", top, "Which flight has the highest delay?", func(b []byte) []fact {
		d := numbersOf(recordsOf(b), "delay")
		return []fact{num("delay", slices.Max(d)), labelled(strconv.Itoa(int(slices.Max(d))), show(recordsOf(b)[slices.Index(d, slices.Max(d))]["date"]))}
	}, extreme, []step{jq(`max_by(.delay)`)}},
}

var countLAS = jq(`map(select(.origin == "LAS")) | length`)

func originLAS(b []byte) []fact {
	return []fact{num("LAS", countIf(recordsOf(b), func(r record) bool { return r["origin"] == "LAS" }))}
}
