package bench

import (
	"fmt"
	"slices"
	"strings"
)

// textErrands are on what tools print.
var textErrands = []errand{
	{"Tables made of blanks", "kubectl-pods.txt", "the pod of 400 that fails", inPreview("CrashLoop|Error|Pending|Evicted", "warehouse-sync-eeddf52ec-tgv79", "CrashLoopBackOff")},
	{"Tables made of blanks", "docker-ps.txt", "the container that is not up", inPreview("Exited|Restarting|Dead|unhealthy", "grafana-6", "Exited (137)")},
	{"Tables made of blanks", "ps-aux.txt", "the process that takes the processor", inPreview(` [1-9]\d+\.\d +\d+\.\d `, "while True")},
	{"Tables made of blanks", "ls-l.txt", "who else owns a file", inPreview(`^[-dlrwxst]+ +\d+ (\S+ +[^r]\w+|[^r]\w+ +\S+) `, "shadow")},
	{"Tables made of blanks", "netstat.txt", "the connection that one side has closed", inPreview("CLOSE_WAIT|FIN_WAIT2?", "CLOSE_WAIT", "FIN_WAIT2")},
	{"Output of test tools", "go-test-v.txt", "the tests that fail, and why", inPreview("^ *--- FAIL|^FAIL|panic:", "TestRead/BlankLine ", "TestPopEmpty", "index out of range")},
	{"Output of test tools", "go-test-json.jsonl", "the tests that fail", inPreview(`"Action":"fail"`, "TestRead/BlankLine", "TestPopEmpty")},
	{"Output of test tools", "pytest-v.txt", "the tests that fail, and why", inPreview("FAILED|ERROR | passed", "test_rounding", "0.2 == 0.21", "test_login", "318 passed")},
	{"Output of test tools", "jest-verbose.txt", "the tests that fail", inPreview("●|✕|^Tests:", "rejects a negative count", "has a currency", "finds the user", "3 failed")},
	{"Output of test tools", "mocha.txt", "the tests that fail", inPreview(`^\s+\d+\) |failing|passing`, "rejects a negative count", "has a currency", "finds the user", "3 failing")},
	{"Output of test tools", "vitest.txt", "the tests that fail", inPreview(` × |FAIL|Tests `, "rejects a negative count", "has a currency", "finds the user", "3 failed")},
	{"Output of test tools", "node-test.txt", "the tests that fail", inPreview(`not ok|^# (pass|fail)`, "rejects a negative count", "has a currency", "finds the user", "fail 3")},
	{"Output of test tools", "cargo-test.txt", "the tests that fail", inPreview(`FAILED|panicked`, "first_line", "total_of_two", "rounds", "60 passed")},
	{"Output of build tools", "cargo-build.txt", "the errors, with their places", inPreview(`^error|-->`, "cannot find value `y`", "mismatched types", "src/price.rs:1:")},
	{"Output of build tools", "make.txt", "the errors", inPreview(`error:|\*\*\*`, "src/mod37.c:4:89: error", "src/mod52.c:4:115: error")},
	{"Output of build tools", "ninja.txt", "what failed", inPreview(`FAILED|error:`, "mod37", "mod52", "src/mod52.c:4:115: error")},
	{"Output of build tools", "npm-install.txt", "why it failed", inPreview(`npm error|ERR!`, "E404", "@acme/anvil-internal@1.0.0")},
	{"Output of build tools", "tsc.txt", "how many errors", inPreview(`error TS7006`, "error TS", "2,235")},
	{"Output of build tools", "eslint.txt", "how many problems, and the most frequent", inPreview(`problems|no-undef`, "226 errors", "no-var")},
	{"Diffs, commits, blame", "merge.diff", "how much each file changes", orElse("proxy_filter", `"jq":"split(\"\\n\") | map(select(test(\"^(\\\\+|-| [+-])\")) | .[:1]) | group_by(.) | map(length)"`, []string{"["}, "3 files, +559 −79", "csv.go")},
	{"Diffs, commits, blame", "git-blame.txt", "the commits that most lines are of", orElse("proxy_filter", `"jq":"split(\"\\n\") | map(.[:8]) | group_by(.) | map({c: .[0], n: length}) | sort_by(-.n)"`, []string{"387"}, "387", "commits")},
	{"Diffs, commits, blame", "git-log-changes.txt", "the authors and the dates", inPreview(`^(Author|Date):`, "maintainers", "2026")},
	{"Trees of files", "tree.txt", "how many files the largest folder has", orElse("proxy_filter", `"jq":"split(\"\\n\") | map(select(test(\"rules/?$|lib\")))"`, []string{"rules"}, "rules", "20 directories, 405 files")},
	{"Trees of files", "du-a.txt", "the largest folder below lib", orElse("proxy_search", `"pattern":"^\\d{4,}\\s"`, []string{"2624\teslint/lib/rules"}, "lib/rules", "2,624")},
	{"Trees of files", "git-ls-files.txt", "how many files the folders have", inPreview(`^middleware/upstream/`, "middleware/", "pipeline/")},
	{"Trees of files", "rg.txt", "the file with most matches", inPreview(`source-code/source-code.js`, "languages/js/source-code/source-code.js")},
	{"Tables of page snapshots", "snapshot-tables.txt", "the columns, and the first row of the second table", orElse("proxy_filter", `"offset":629,"limit":40`, nil, "longitude", "HI")},
}

// inPreview looks for words in the first reply, and else with a search that finds them.
func inPreview(pattern string, words ...string) func(*reader) bool {
	return orElse("proxy_search", fmt.Sprintf(`"pattern":%q`, pattern), nil, words...)
}

// orElse looks for words in the first reply; those that are not there a call answers, with
// answer in its reply if that is said otherwise.
func orElse(tool, args string, answer []string, words ...string) func(*reader) bool {
	return func(r *reader) bool {
		text := r.first.text
		if containsAll(text, words) {
			return true
		}
		text += r.call(tool, `"cache_id":"$id",`+args).text
		return containsAll(text, words) || len(answer) > 0 && containsAll(text, answer)
	}
}

func containsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}
