package jq

import (
	"testing"
	"time"

	"rlmproxy/bench/corpus"
)

// TestCorpus: programs over real documents.
func TestCorpus(t *testing.T) {
	if raceDetector {
		t.Skip("slow, and nothing runs side by side")
	}
	all := []string{
		".", "length", "keys", "type", "[.. | numbers] | add, min, max, length", "[.. | strings] | unique | length", "[.. | objects | keys] | add | group_by(.) | map({k: .[0], n: length})",
		"[..] | sort | length", "[.. | select(type == \"array\") | length] | max", "to_entries | map(.key) | .[:5]", "[.. | scalars | tojson] | sort_by(length) | last", "[.. | objects | to_entries | from_entries] | length",
		"first(.. | strings), last(.. | strings)", "[.. | objects | with_entries(select(.value != null)) | length] | add", "map_values(tostring | length)?", "[paths] | length", "[.. | .id?] | map(values) | length",
	}
	for file, programs := range map[string][]string{
		"flights.json": {
			"[.[] | select(.delay > 60) | .origin]", "group_by(.origin) | map({origin: .[0].origin, n: length, delay: (map(.delay) | add / length)}) | sort_by(-.n)[:10]",
			"map(.delay) | add, min, max", "sort_by(.delay, .date)[:3]", "unique_by(.destination) | map(.destination) | join(\",\")", "[.[] | .distance / 3] | add", "max_by(.distance), min_by(.distance)",
			"map(select(.origin == \"SAN\" and .delay < 0) | {date, \"d\": -.delay}) | .[:20]", "[limit(3; .[] | select(.distance > 2500))]", "reduce .[:2000][] as $f ({}; .[$f.origin] += 1)",
		},
		"webhooks.json": {
			"[.[] | select(.examples|length > 5) | .name]", "map({name, actions: (.actions // [] | length)}) | group_by(.actions) | map({n: .[0].actions, names: map(.name)})",
			`map(.examples[0] // {} | to_entries | map(select(.value | type == "object") | .key)) | add | unique`, "[.[].examples[]?.sender?.login?] | unique", `.[] | select(.name | test("^pull")) | "\(.name): \(.description)"`,
		},
		"earthquakes.json": {"[.features[]? | .properties | select(.mag > 5) | {place, mag}] | sort_by(.mag) | reverse", "[.features[]?.properties.mag] | add", ".features | group_by(.properties.type) | map(length)"},
		"cars.json":        {"group_by(.Origin) | map({o: .[0].Origin, mpg: (map(.Miles_per_Gallon | values) | add)})", "map(.Name | ascii_upcase) | unique | length", "[.[] | select(.Horsepower == null) | .Name]", "map(.Weight_in_lbs) | sort | .[:10]"},
		"movies.json":      {"[.[] | select(.[\"IMDB Rating\"]? > 8) | .Title]", "map(.Title) | sort", "sort_by(.Title) | map(.Title)", "group_by(.Distributor) | map(length)", "unique_by(.Director) | length", "min_by(.Title), max_by(.Title)"},
		"stripe.json":      {".paths | keys | length", "[.paths[][] | .operationId?] | length", "[.. | .description? | strings | length] | add"},
		"sql.json":         {"map(keys)?"}, "tree.json": {"[.. | .name?] | map(strings) | length"}, "tree-src.json": {"[.. | .path?] | map(strings) | length"},
	} {
		data, err := corpus.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		tree := mustParse(t, string(data))
		if len(data) < 500_000 { // gojq takes seconds for some of them
			programs = append(programs, all...)
		}
		for _, source := range programs {
			way, diff := differs(source, tree, 20*time.Second)
			if diff != "" {
				t.Errorf("%s: %.600s", file, diff)
			}
			if way != fastly {
				t.Logf("%s: %s: %s", file, source, way)
			}
		}
	}
}
