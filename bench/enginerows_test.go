package bench

// Programs that look at every record, but for jqFew. After jqUpdate, which writes,
// the tree is parsed again.
const (
	jqNames   = "[.[] | select(.examples|length > 5) | .name]"
	jqLate    = "[.[] | select(.delay > 60) | .origin]"
	jqFew     = ".[1000:1010] | map(.origin)"
	jqGroup   = "group_by(.origin) | map({origin: .[0].origin, n: length, delay: (map(.delay) | add / length)}) | sort_by(-.n)[:10]"
	jqObject  = `map(select(.distance > 2000 and (.destination | startswith("S"))) | {from: .origin, to: .destination, "late": (.delay > 15)})`
	jqTop     = "sort_by(.delay) | reverse | .[:5] | map({date, delay})"
	jqEntries = `map(.examples[0] // {} | to_entries | map(select(.value | type == "object") | .key)) | add | unique`
	jqUpdate  = ".[:20000] | map(.delay |= . + 1) | map(.delay) | add"
	jqTable   = `[.[] | select(.state == "CA") | .city] | length`
)

const (
	foldPattern     = "(?i)subnetid"
	anyPattern      = "SubnetIds|RouteTableId|VpcPeering|NitroEnclave"
	requiredPattern = `\b\w+GatewayRoute\w*\b`
	numberPattern   = `\d{5},-?\d+\.\d+`
	quotedPattern   = `"[^"]*card[^"]*"`
)

// matrix is all rows: each engine on the kinds of documents where it differs, in
// three sizes on one of them at least.
var matrix = []engine{
	{"recognise", "nested", "100KB 1MB 10MB", "json.Valid", recognise, valid},
	{"recognise", "flat", "10MB", "json.Valid", recognise, valid},
	{"recognise", "flat-lines csv source markdown log", "10MB", "byte-loop", recognise, byteLoop},

	{"jq-first", "flat", "100KB 1MB 10MB", "jq-cli", jqFirst(jqLate), jqCLI(jqLate)},
	{"jq-first", "nested", "10MB", "jq-cli", jqFirst(jqNames), jqCLI(jqNames)},
	{"jq-first", "flat", "10MB", "gojq", jqFirst(jqLate), parsedEachTime(jqLate)},
	{"jq-first", "nested", "10MB", "json.Valid", jqFirst(jqNames), valid},
	{"jq-first", "csv", "10MB", "byte-loop", jqFirst(jqTable), byteLoop},
	{"jq-second", "flat", "100KB 1MB 10MB", "jq-cli", jqSecond(jqLate), jqCLI(jqLate)},
	{"jq-second", "nested", "10MB", "jq-cli", jqSecond(jqNames), jqCLI(jqNames)},
	{"jq-second", "flat", "10MB", "gojq", jqSecond(jqLate), parsedEachTime(jqLate)},
	{"jq-second", "csv", "10MB", "byte-loop", jqSecond(jqTable), byteLoop},
	{"jq-second-few", "flat", "10MB", "jq-cli", jqSecond(jqFew), jqCLI(jqFew)},
	{"jq-second-group", "flat", "10MB", "jq-cli", jqSecond(jqGroup), jqCLI(jqGroup)},
	{"jq-second-object", "flat", "10MB", "jq-cli", jqSecond(jqObject), jqCLI(jqObject)},
	{"jq-second-top", "flat", "10MB", "jq-cli", jqSecond(jqTop), jqCLI(jqTop)},
	{"jq-second-entries", "nested", "10MB", "jq-cli", jqSecond(jqEntries), jqCLI(jqEntries)},
	{"jq-second-update", "flat", "10MB", "jq-cli", jqSecond(jqUpdate), jqCLI(jqUpdate)},

	{"project-5", "flat flat-lines", "100KB 1MB 10MB", "byte-loop", project("date", "delay", "distance", "origin", "destination"), byteLoop},
	{"project-5", "nested", "100KB 1MB 10MB", "byte-loop", project("name", "description", "actions", "examples.action", "examples.sender.login"), byteLoop},
	{"project-5", "csv", "100KB 1MB 10MB", "byte-loop", project("zip_code", "latitude", "city", "state", "county"), byteLoop},
	{"project-2", "flat", "10MB", "byte-loop", project("delay", "origin"), byteLoop},
	{"exclude-2", "flat", "10MB", "byte-loop", exclude("date", "distance"), byteLoop},
	{"exclude-2", "nested", "10MB", "byte-loop", exclude("description", "examples.sender"), byteLoop},

	{"outline", "nested", "100KB 1MB 10MB 20MB", "json.Valid", outline, valid},
	{"outline", "flat", "100KB 1MB 10MB 20MB", "json.Valid", outline, valid},
	{"outline", "spec", "2.5MB", "json.Valid", outline, valid},
	{"outline", "csv source", "100KB 1MB 10MB", "byte-loop", outline, byteLoop},
	{"outline", "markdown log", "10MB", "byte-loop", outline, byteLoop},

	{"regex-literal", "source", "100KB 1MB 10MB", "rg", regex("TransitGateway"), ripgrep("TransitGateway")},
	{"regex-literal", "source", "10MB", "bytes.Count", regex("TransitGateway"), countWord("TransitGateway")},
	{"regex-fold", "source line", "10MB", "rg", regex(foldPattern), ripgrep(foldPattern)},
	{"regex-any", "source line", "10MB", "rg", regex(anyPattern), ripgrep(anyPattern)},
	{"regex-required", "source line", "100KB 1MB 10MB", "rg", regex(requiredPattern), ripgrep(requiredPattern)},
	{"regex-required", "source line", "1MB", "regexp", regex(requiredPattern), stdRegexp(requiredPattern)},
	{"regex-literal", "line", "10MB", "rg", regex("SubnetIds"), ripgrep("SubnetIds")},
	{"regex-literal", "log", "10MB", "rg", regex("ERROR"), ripgrep("ERROR")},
	{"regex-unfiltered", "csv", "100KB 1MB 10MB", "rg", regex(numberPattern), ripgrep(numberPattern)},
	{"regex-unfiltered", "csv", "1MB", "regexp", regex(numberPattern), stdRegexp(numberPattern)},
	{"regex-quoted", "spec", "2.5MB", "rg", regex(quotedPattern), ripgrep(quotedPattern)},
	{"regex-quoted", "spec", "2.5MB", "regexp", regex(quotedPattern), stdRegexp(quotedPattern)},

	{"bm25-index", "source", "100KB 1MB 10MB", "byte-loop", bm25Index, byteLoop},
	{"bm25-index", "nested flat csv markdown log", "10MB", "byte-loop", bm25Index, byteLoop},
	{"bm25-index", "source csv", "1MB", "map-of-words", bm25Index, countWords},
	{"bm25-query", "source", "100KB 1MB 10MB", "bytes.Count", bm25Query("delete a subnet route table"), countWord("ubnet")},
	{"bm25-query", "log", "10MB", "bytes.Count", bm25Query("duplicate key violates unique constraint"), countWord("key")},

	{"fuzzy", "source", "100KB 1MB 10MB", "byte-loop", fuzzy("SecurtyGruop"), byteLoop},
	{"fuzzy", "source", "1MB", "levenshtein", fuzzy("SecurtyGruop"), editDistances("SecurtyGruop")},
	{"fuzzy", "nested", "10MB", "byte-loop", fuzzy("repositroy owner"), byteLoop},
	{"fuzzy", "csv", "10MB", "byte-loop", fuzzy("Sprngfield"), byteLoop},
	{"fuzzy", "log", "10MB", "byte-loop", fuzzy("dupplicate key value"), byteLoop},

	{"context", "source", "100KB 1MB 10MB", "byte-loop", around("TransitGateway", "paragraph"), byteLoop},
	{"context", "markdown", "10MB", "byte-loop", around("scheduler", "section"), byteLoop},
	{"context", "log", "10MB", "byte-loop", around("ERROR", "paragraph"), byteLoop},
	{"context", "flat", "10MB", "byte-loop", around(`"delay": 9\d`, "record"), byteLoop},
	{"context", "nested", "10MB", "byte-loop", around("Codertocat", "record"), byteLoop},
	{"context", "csv", "10MB", "byte-loop", around("San Jose", "record"), byteLoop},

	{"preview", "flat", "100KB 1MB 10MB", "byte-loop", preview, byteLoop},
	{"preview", "nested csv source markdown log", "10MB", "byte-loop", preview, byteLoop},
	{"preview", "spec", "2.5MB", "byte-loop", preview, byteLoop},
}
