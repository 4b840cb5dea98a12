package bench

import (
	"strings"
)

// recordErrands are on texts made of records, and on JSON that is not alone or not strict.
var recordErrands = []errand{
	inOne("worker.log", "the hour with most errors", `"14"`, "jq",
		`map(select(.level == "ERROR") | .time[11:13]) | group_by(.) | max_by(length)[0]`),
	inOne("uploads.log", "errors by region", `"eu-1":13`, "jq",
		`map(select(.level == "ERROR")) | group_by(.region) | map({(.[0].region): length}) | add`),
	inOne("access.log", "which path failed most", `"/api/items/0"`, "jq",
		`map(select(.status >= 500)) | group_by(.path) | max_by(length)[0].path`),
	inOne("git-log-stat.txt", "the file of most commits", "docs/architecture.md", "jq",
		`[.[].files[]?.path] | group_by(.) | max_by(length)[0]`),
	inOne("git-log-patch.txt", "the file with most added lines", "middleware/traces/traces.go", "jq",
		`[.[].files[]?] | group_by(.path) | max_by(map(.added) | add)[0].path`),
	inOne("git-show-merges.txt", "the file that most merges change", "docs/architecture.md", "jq",
		`[.[].files[].path] | group_by(.) | max_by(length)[0]`),
	inOne("rust-platforms.html", "targets of tier 3 for a RISC-V without std", "riscv32e-unknown-none-elf", "jq", `map(select((.target | startswith("riscv32e")) and .std != "✓").target)`),
	inOne("rust-platforms.html", "whether riscv64a23 has std", "✓", "jq", `.[] | select(.target == "riscv64a23-unknown-linux-gnu").std`),
	inOne("golangci.yml", "the rules of revive that have arguments", "unhandled-error", "jq", `[.linters.settings.revive.rules[] | select(.arguments).name]`),
	inOne("gojq-tests.yaml", "how many tests want exit code 5", "15", "jq", `map(select(.exit_code == 5)) | length`),
	inOne("cargo-tree.toml", "where cargo-credential-wincred is", "credential/cargo-credential-wincred", "jq", `.workspace.dependencies["cargo-credential-wincred"].path`),
	inOne("commons-parent.pom", "the plugins of the build", "maven-jar-plugin", "jq", `[.project.build.plugins.plugin[].artifactId]`),
	inOne("commits.csv", "the subject of the commit with the longest body", "fewer abuses that test the same", "jq", `max_by(.body | length).subject`),
	inOne("cars-nan.json", "the car that goes farthest", "mazda glc", "jq", `max_by(.Miles_per_Gallon).Name`),
	inOne("npm-ls.txt", "the version of express", "5.3.0", "jq", `.dependencies.express.version`),
}

// inOne is an errand that one call answers, of proxy_filter with jq or of proxy_search.
func inOne(file, want, found, param, query string) errand {
	tool := "proxy_filter"
	if param == "search" {
		tool, param = "proxy_search", "pattern"
	}
	return errand{"Texts made of records", file, want, func(r *reader) bool {
		if !r.first.cut {
			return strings.Contains(r.first.text, found)
		}
		return strings.Contains(r.call(tool, `"cache_id":"$id",`+quote(param)+":"+quote(query)).text, found)
	}}
}
