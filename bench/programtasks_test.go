package bench

import (
	"fmt"
	"strings"
)

// A programTask is a question that takes several steps, answered in two ways: by calls of
// proxy_filter, and by a program of proxy_run. In both, $1 is the cache ID of the first reply
// that has one, $2 that of the second, and so on.
type programTask struct {
	kind     string
	question string
	look     []string // what either way calls first, to see what there is
	jq       []string // the calls behind it, each "tool arguments"; the last one has the answer
	run      string   // the program
}

// joined is a proxy_filter over the results with these numbers.
func joined(program string, from, to int) string {
	var ids []string
	for i := from; i <= to; i++ {
		ids = append(ids, fmt.Sprintf(`"$%d"`, i))
	}
	return fmt.Sprintf(`proxy_filter {"cache_ids":[%s],"jq":%s}`, strings.Join(ids, ","), quote(program))
}

// alone is a proxy_filter over the first result.
func alone(program string) string {
	return `proxy_filter {"cache_id":"$1","jq":` + quote(program) + `}`
}

// kept is a call of proxy_filter that keeps what it selects, and shows one item of it.
func kept(call string) string { return strings.TrimSuffix(call, "}") + `,"keep":true,"limit":1}` }

// restOfIssues calls the pages behind the first one. Of each, it reads how many issues it has.
func restOfIssues() (calls []string) {
	for page := 2; page <= issuePages; page++ {
		calls = append(calls, fmt.Sprintf(`proxy_filter {"tool":"issues","arguments":{"page":%d},"jq":".items | length"}`, page))
	}
	return calls
}

// restOfEvents follows the cursors.
func restOfEvents() (calls []string) {
	for page := 1; page < eventPages; page++ {
		calls = append(calls, fmt.Sprintf(`proxy_filter {"tool":"events","arguments":{"cursor":"c%d"},"jq":".next"}`, page))
	}
	return calls
}

const (
	allIssues = `const all = callAll(Array.from({length: 14}, (_, i) => ["issues", {page: i + 1}])).flatMap(p => p.items)` + "\n"
	allEvents = `const all = []
for (let p = call("events", {}); ; p = call("events", {cursor: p.next})) { all.push(...p.events); if (!p.next) break }` + "\n"
	tallied = `const count = (list, key) => { const n = {}; for (const x of list) { const k = key(x); n[k] = (n[k] ?? 0) + 1 } return n }` + "\n"
)

// ofIssues is a task over all pages of issues.
func ofIssues(question, program, js string) programTask {
	return programTask{"pages", question, []string{`issues {"page":1}`}, append(restOfIssues(), joined("[.[].items[]] | "+program, 1, issuePages)), allIssues + js}
}

// ofEvents is a task over all pages of events, which are more than one call joins.
func ofEvents(question, program, js string) programTask {
	calls := append(restOfEvents(), kept(joined("[.[].events[]]", 1, 20)), kept(joined("[.[].events[]]", 21, eventPages)), joined("add | "+program, eventPages+1, eventPages+2))
	return programTask{"pages", question, []string{`events {}`}, calls, allEvents + js}
}

// ofVersions is a task over two versions of something.
func ofVersions(tool, question, program, js string) programTask {
	look := []string{tool + ` {"name":"v1"}`, tool + ` {"name":"v2"}`}
	return programTask{"compare", question, look, []string{joined(program, 1, 2)}, `const a = result("$1"), b = result("$2")` + "\n" + js}
}

// ofTwo is a task over two results.
func ofTwo(one, two, question, program, js string) programTask {
	return programTask{"join", question, []string{one + " {}", two + " {}"}, []string{joined(program, 1, 2)}, `const a = result("$1"), b = result("$2")` + "\n" + js}
}

// ofOne is a task over one result.
func ofOne(tool, question, program, js string) programTask {
	return programTask{"top-n", question, []string{tool + " {}"}, []string{alone(program)}, `const a = result("$1")` + "\n" + js}
}

var programTasks = []programTask{
	ofTwo("orders", "customers", "orders by country of the customer, the three with the most",
		`(.[1] | INDEX(.id)) as $c | .[0] | group_by($c[.customer].country) | map([$c[.[0].customer].country, length]) | sort_by(-.[1], .[0]) | .[:3]`,
		tallied+`const where = Object.fromEntries(b.map(c => [c.id, c.country]))
return Object.entries(count(a, o => where[o.customer])).sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1)).slice(0, 3)`),
	ofTwo("orders", "customers", "how many customers have no order",
		`(.[0] | map(.customer) | unique) as $have | .[1] | map(.id) - $have | length`,
		`const have = new Set(a.map(o => o.customer))
return b.filter(c => !have.has(c.id)).length`),
	ofTwo("orders", "customers", "how many orders go to another country than the customer's",
		`(.[1] | INDEX(.id)) as $c | .[0] | map(select(.ship_country != $c[.customer].country)) | length`,
		`const where = Object.fromEntries(b.map(c => [c.id, c.country]))
return a.filter(o => o.ship_country !== where[o.customer]).length`),
	ofTwo("orders", "products", "revenue by category",
		`(.[1] | INDEX(.sku)) as $p | .[0] | group_by($p[.sku].category) | map([$p[.[0].sku].category, (map(.units * $p[.sku].price) | add)])`,
		`const p = Object.fromEntries(b.map(x => [x.sku, x])), sum = {}
for (const o of a) sum[p[o.sku].category] = (sum[p[o.sku].category] ?? 0) + o.units * p[o.sku].price
return Object.entries(sum).sort()`),
	ofTwo("orders", "products", "products that nobody ordered",
		`(.[0] | map(.sku) | unique) as $have | .[1] | map(.sku) - $have | sort`,
		`const have = new Set(a.map(o => o.sku))
return b.map(p => p.sku).filter(s => !have.has(s)).sort()`),
	ofTwo("tickets", "employees", "open tickets of priority 1 by team",
		`(.[1] | INDEX(.id)) as $e | .[0] | map(select(.state == "open" and .priority == 1)) | group_by($e[.assignee | tostring].team) | map([$e[.[0].assignee | tostring].team, length])`,
		tallied+`return Object.entries(count(a.filter(t => t.state === "open" && t.priority === 1), t => b[t.assignee].team)).sort()`),
	ofOne("employees", "how many earn more than their manager",
		`INDEX(.id) as $e | map(select(.salary > $e[.manager | tostring].salary)) | length`,
		`return a.filter(e => e.salary > a[e.manager].salary).length`),
	{"join", "revenue by tier of the customer", []string{"orders {}", "customers {}", "products {}"},
		[]string{joined(`(.[1] | INDEX(.id)) as $c | (.[2] | INDEX(.sku)) as $p | .[0] | group_by($c[.customer].tier) | map([$c[.[0].customer].tier, (map(.units * $p[.sku].price) | add)])`, 1, 3)},
		`const c = Object.fromEntries(result("$2").map(x => [x.id, x])), p = Object.fromEntries(result("$3").map(x => [x.sku, x])), sum = {}
for (const o of result("$1")) sum[c[o.customer].tier] = (sum[c[o.customer].tier] ?? 0) + o.units * p[o.sku].price
return Object.entries(sum).sort()`},

	ofIssues("the three authors with the most comments on their open issues",
		`map(select(.state == "open")) | group_by(.author) | map([.[0].author, (map(.comments) | add)]) | sort_by(-.[1], .[0]) | .[:3]`,
		`const n = {}
for (const i of all) if (i.state === "open") n[i.author] = (n[i.author] ?? 0) + i.comments
return Object.entries(n).sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1)).slice(0, 3)`),
	ofIssues("open bugs of p1",
		`map(select(.state == "open" and .labels == ["bug", "p1"])) | length`,
		`return all.filter(i => i.state === "open" && i.labels.join() === "bug,p1").length`),
	ofIssues("the oldest open bug",
		`map(select(.state == "open" and .labels[0] == "bug")) | min_by([.created, .number]) | [.number, .created]`,
		`const i = all.filter(i => i.state === "open" && i.labels[0] === "bug").sort((x, y) => x.created < y.created ? -1 : x.created > y.created ? 1 : x.number - y.number)[0]
return [i.number, i.created]`),
	ofIssues("titles that more than 42 issues share, with how many",
		`group_by(.title) | map([.[0].title, length]) | map(select(.[1] > 42)) | sort_by(-.[1], .[0])`,
		tallied+`return Object.entries(count(all, i => i.title)).filter(e => e[1] > 42).sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1))`),
	ofIssues("the median of comments by state",
		`group_by(.state) | map([.[0].state, (map(.comments) | sort | .[length / 2 | floor])])`,
		`return ["closed", "open"].map(s => { const c = all.filter(i => i.state === s).map(i => i.comments).sort((x, y) => x - y); return [s, c[Math.floor(c.length / 2)]] })`),
	ofEvents("errors by service",
		`map(select(.level == "error")) | group_by(.service) | map([.[0].service, length])`,
		tallied+`return Object.entries(count(all.filter(e => e.level === "error"), e => e.service)).sort()`),
	ofEvents("the longest gap between two events, in seconds",
		`map(.at) | [.[1:], .[:-1]] | transpose | map(.[0] - .[1]) | max`,
		`return Math.max(...all.slice(1).map((e, i) => e.at - all[i].at))`),
	{"pages", "who reviews most of the open p1 bugs of the first page, a call for each", []string{`issues {"page":1}`},
		func() []string {
			calls := []string{alone(`[.items[] | select(.state == "open" and .labels == ["bug", "p1"]) | .number]`)}
			bugs := openBugs()
			for _, n := range bugs {
				calls = append(calls, fmt.Sprintf(`proxy_filter {"tool":"issue","arguments":{"number":%d},"jq":".reviewers"}`, n))
			}
			return append(calls, joined(`[.[].reviewers[]] | group_by(.) | map([.[0], length]) | sort_by(-.[1], .[0]) | .[0]`, 3, 2+len(bugs)))
		}(),
		tallied + `const bugs = result("$1").items.filter(i => i.state === "open" && i.labels.join() === "bug,p1")
const n = count(callAll(bugs.map(i => ["issue", {number: i.number}])).flatMap(i => i.reviewers), r => r)
return Object.entries(n).sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1))[0]`},

	ofVersions("folder", "how many files are in the first only, how many in the second only",
		`map(map(.path)) | [(.[0] - .[1] | length), (.[1] - .[0] | length)]`,
		`const p = new Set(a.map(f => f.path)), q = new Set(b.map(f => f.path))
return [a.filter(f => !q.has(f.path)).length, b.filter(f => !p.has(f.path)).length]`),
	ofVersions("folder", "files that grew most, the five",
		`(.[0] | INDEX(.path)) as $a | .[1] | map(select($a[.path]) | [.path, .size - $a[.path].size]) | sort_by(-.[1], .[0]) | .[:5]`,
		`const old = Object.fromEntries(a.map(f => [f.path, f.size]))
return b.filter(f => f.path in old).map(f => [f.path, f.size - old[f.path]]).sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1)).slice(0, 5)`),
	ofVersions("folder", "bytes more or less by extension",
		`map(group_by(.path | split(".")[-1]) | map({key: (.[0].path | split(".")[-1]), value: (map(.size) | add)}) | from_entries) | .[0] as $a | .[1] | to_entries | map([.key, .value - $a[.key]])`,
		`const sum = list => { const n = {}; for (const f of list) { const e = f.path.split(".").pop(); n[e] = (n[e] ?? 0) + f.size } return n }
const x = sum(a), y = sum(b)
return Object.keys(y).sort().map(e => [e, y[e] - x[e]])`),
	ofVersions("folder", "files that were moved: the same content at another path, how many",
		`(.[0] | INDEX(.hash)) as $a | .[1] | map(select($a[.hash] and $a[.hash].path != .path)) | length`,
		`const old = Object.fromEntries(a.map(f => [f.hash, f.path]))
return b.filter(f => f.hash in old && old[f.hash] !== f.path).length`),
	ofVersions("lock", "packages with another major version, how many, and the first three",
		`map(.packages) | .[0] as $a | .[1] | to_entries | map(select((.value.version | split(".")[0]) != ($a[.key].version | split(".")[0])) | .key) | [length, .[:3]]`,
		`const major = p => p.version.split(".")[0]
const up = Object.keys(b.packages).filter(k => major(b.packages[k]) !== major(a.packages[k])).sort()
return [up.length, up.slice(0, 3)]`),
	ofVersions("config", "keys whose values differ",
		`.[1] as $b | .[0] | [paths(scalars) as $p | select(getpath($p) != ($b | getpath($p))) | $p | join(".")] | sort`,
		`const out = []
for (const s in a) for (const k in a[s]) if (a[s][k] !== b[s][k]) out.push(s + "." + k)
return out.sort()`),
	{"compare", "hosts of the first list that the second lacks, how many, and the first three", []string{`hosts {"name":"v1"}`, `hosts {"name":"v2"}`},
		[]string{joined(`map(split("\n") | map(select(. != ""))) | .[0] - .[1] | [length, .[:3]]`, 1, 2)},
		`const have = new Set(lines("$2")), gone = lines("$1").filter(h => h && !have.has(h))
return [gone.length, gone.slice(0, 3)]`},

	ofOne("flights", "routes of at least 20 flights with the longest mean delay, the three",
		`group_by(.origin + "-" + .destination) | map(select(length >= 20)) | map([.[0].origin + "-" + .[0].destination, (map(.delay) | add / length | round)]) | sort_by(-.[1], .[0]) | .[:3]`,
		`const r = {}
for (const f of a) (r[f.origin + "-" + f.destination] ??= []).push(f.delay)
return Object.entries(r).filter(e => e[1].length >= 20).map(([k, d]) => [k, Math.round(d.reduce((x, y) => x + y) / d.length)])
  .sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1)).slice(0, 3)`),
	ofOne("movies", "the three that earned most for what they cost, of those that cost over ten million",
		`map(select(."Production Budget" > 10000000 and ."Worldwide Gross")) | sort_by(-(."Worldwide Gross" / ."Production Budget")) | .[:3] | map(.Title)`,
		`return a.filter(m => m["Production Budget"] > 1e7 && m["Worldwide Gross"])
  .sort((x, y) => y["Worldwide Gross"] / y["Production Budget"] - x["Worldwide Gross"] / x["Production Budget"]).slice(0, 3).map(m => m.Title)`),
	ofOne("earthquakes", "the hour of the day (UTC) with the most of magnitude 2 and more",
		`[.features[].properties | select(.mag >= 2) | .time / 3600000 | floor % 24] | group_by(.) | max_by(length) | [.[0], length]`,
		tallied+`const n = count(a.features.map(f => f.properties).filter(p => p.mag >= 2), p => Math.floor(p.time / 3600000) % 24)
return Object.entries(n).map(([h, c]) => [+h, c]).sort((x, y) => y[1] - x[1] || y[0] - x[0])[0]`),
	ofOne("log", "the three most frequent errors, with how many",
		`[.[] | select(.level == "ERROR") | .message | scan("^[a-z]+ [a-z]+")] | group_by(.) | map([.[0], length]) | sort_by(-.[1], .[0]) | .[:3]`,
		tallied+`return Object.entries(count(lines("$1").flatMap(l => l.match(/ ERROR:  ([a-z]+ [a-z]+)/)?.[1] ?? []), e => e)).sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1)).slice(0, 3)`),
	ofOne("sales", "the week of seven days in a row with the most units: its first day, and the units",
		`map(.units) as $u | [range(0; ($u | length) - 6) | [., ($u[.:. + 7] | add)]] | max_by([.[1], -.[0]])`,
		`let best = [0, -1], sum = 0
a.forEach((s, i) => { sum += s.units - (i >= 7 ? a[i - 7].units : 0); if (i >= 6 && sum > best[1]) best = [i - 6, sum] })
return best`),
	ofOne("weather", "the longest run of days with rain: its last day, and how many",
		`reduce .[] as $d ([0, 0, ""]; if $d.weather == "rain" then .[0] += 1 | if .[0] > .[1] then [.[0], .[0], $d.date] else . end else .[0] = 0 end) | .[2:] + .[1:2]`,
		`let n = 0, best = ["", 0]
for (const line of lines("$1")) { const f = line.split(","); n = f[5] === "rain" ? n + 1 : 0; if (n > best[1]) best = [f[0], n] }
return best`),
	ofOne("orders", "the customers with the most different products, the three",
		`group_by(.customer) | map([.[0].customer, (map(.sku) | unique | length)]) | sort_by(-.[1], .[0]) | .[:3]`,
		`const s = {}
for (const o of a) (s[o.customer] ??= new Set()).add(o.sku)
return Object.entries(s).map(([c, set]) => [c, set.size]).sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1)).slice(0, 3)`),
}

// openBugs are those of the first page that the question about reviewers is about.
func openBugs() (numbers []int) {
	page := theDesk()["issues"](deskArgs{Page: 1}).(object)
	for _, i := range page["items"].([]object) {
		if labels := i["labels"].([]string); i["state"] == "open" && labels[0] == "bug" && labels[1] == "p1" {
			numbers = append(numbers, i["number"].(int))
		}
	}
	return numbers
}
