package bench

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Documents of some depth.
type (
	quakes struct {
		Metadata struct{ Title string }
		Features []struct{ Properties quake }
	}
	quake struct {
		Mag        float64
		Place, Net string
	}
	event struct {
		Name, Description string
		Actions           []string
		Examples          []any
	}
	openapi struct {
		Info       struct{ Version string }
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	entry struct {
		Name, Type string
		Children   []entry
	}
	sqlAnswer struct {
		Data struct {
			Statements []struct {
				Rows  []record
				Count int
			}
		}
	}
)

func quakesOf(data []byte) (out []quake) {
	for _, f := range decode[quakes](data).Features {
		out = append(out, f.Properties)
	}
	return out
}

// files are the paths below entries, directories left out.
func files(in string, entries []entry) (out []string) {
	for _, e := range entries {
		if e.Type == "file" {
			out = append(out, in+e.Name)
		}
		out = append(out, files(in+e.Name+"/", e.Children)...)
	}
	return out
}

func entryNames(entries []entry) (out []string) {
	for _, e := range entries {
		out = append(out, e.Name)
	}
	return out
}

func child(entries []entry, path ...string) []entry {
	for _, name := range path {
		i := slices.IndexFunc(entries, func(e entry) bool { return e.Name == name })
		entries = entries[i].Children
	}
	return entries
}

// walk lists the files below an array of entries, with their paths.
const walk = `def files(in): .[] | (in + .name) as $path | if .type == "file" then $path else .children // [] | files($path + "/") end; [files("")]`

// deepTasks are about nested JSON.
var deepTasks = []task{
	{"earthquakes.json", structure, "Which range do the magnitudes (mag) have?", func(b []byte) []fact {
		var mags []float64
		for _, q := range quakesOf(b) {
			mags = append(mags, q.Mag)
		}
		return []fact{num(`\bmag\b`, slices.Min(mags)), num(`\bmag\b`, slices.Max(mags))}
	}, nil, []step{explore("")}},
	{"earthquakes.json", value, "What is the title in the metadata?", func(b []byte) []fact {
		return []fact{says(decode[quakes](b).Metadata.Title)}
	}, nil, []step{jq(`.metadata.title`)}},
	{"earthquakes.json", top, "Where was the earthquake with the highest mag?", func(b []byte) []fact {
		best := slices.MaxFunc(quakesOf(b), func(a, b quake) int { return cmp.Compare(a.Mag, b.Mag) })
		return []fact{labelled("mag", best.Place)}
	}, extreme, []step{jq(`.features | max_by(.properties.mag).properties | {mag, place}`)}},
	{"earthquakes.json", count, "How many earthquakes had a mag of at least 4.5?", func(b []byte) []fact {
		return []fact{num(`4\.5`, countIf(quakesOf(b), func(q quake) bool { return q.Mag >= 4.5 }))}
	}, nil, []step{jq(`[.features[] | select(.properties.mag >= 4.5)] | length`)}},
	{"earthquakes.json", aggregate, "Which three values of net are the most frequent, and how often?", func(b []byte) []fact {
		return counted(most(quakesOf(b), func(q quake) string { return q.Net }, 3))
	}, times, []step{jq(`.features | group_by(.properties.net) | map({net: .[0].properties.net, n: length}) | sort_by(-.n)[:3]`)}},
	{"webhooks.json", structure, "How many events are there?", func(b []byte) []fact {
		return []fact{num("items|events|records", len(decode[[]event](b)))}
	}, nil, []step{explore("")}},
	{"webhooks.json", value, "What does the description of the event workflow_job say?", func(b []byte) []fact {
		for _, e := range decode[[]event](b) {
			if e.Name == "workflow_job" {
				begin, _, _ := strings.Cut(e.Description, ",")
				return []fact{says(begin)}
			}
		}
		return nil
	}, nil, []step{jq(`.[] | select(.name == "workflow_job").description`)}},
	{"webhooks.json", filter, "Which actions does the event pull_request have?", func(b []byte) []fact {
		for _, e := range decode[[]event](b) {
			if e.Name == "pull_request" {
				return allOf(e.Actions)
			}
		}
		return nil
	}, nil, []step{jq(`.[] | select(.name == "pull_request").actions`)}},
	{"webhooks.json", top, "Which three events have the most actions?", func(b []byte) (facts []fact) {
		all := decode[[]event](b)
		slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(len(b.Actions), len(a.Actions)) })
		for _, e := range all[:3] {
			facts = append(facts, num(`\b`+e.Name+`\b`, len(e.Actions)))
		}
		return facts
	}, extreme, []step{jq(`map({name, actions: (.actions | length)}) | sort_by(-.actions)[:3]`)}},
	{"webhooks.json", aggregate, "How many examples are there in all?", func(b []byte) []fact {
		n := 0
		for _, e := range decode[[]event](b) {
			n += len(e.Examples)
		}
		return []fact{num("examples", n)}
	}, nil, []step{jq(`map(.examples | length) | add`)}},
	{"stripe.json", structure, "How many paths does the API have?", func(b []byte) []fact {
		return []fact{num("paths", len(decode[openapi](b).Paths))}
	}, nil, []step{explore(`"path":"paths","max_depth":1`), jq(`.paths | length`)}},
	{"stripe.json", value, "Which version does info give?", func(b []byte) []fact {
		return []fact{says(decode[openapi](b).Info.Version)}
	}, nil, []step{jq(`.info.version`)}},
	{"stripe.json", definition, "Which properties does the schema coupon have, among components.schemas?", func(b []byte) []fact {
		return allOf(slices.Collect(maps.Keys(decode[openapi](b).Components.Schemas["coupon"].Properties)))
	}, nil, []step{jq(`.components.schemas.coupon.properties | keys`)}},
	{"stripe.json", value, "Which operationId has the post of /v1/refunds?", func(b []byte) []fact {
		return []fact{says(decode[openapi](b).Paths["/v1/refunds"]["post"].OperationID)}
	}, nil, []step{jq(`.paths["/v1/refunds"].post.operationId`)}},
	{"stripe.json", filter, "Which paths below /v1/subscriptions have a delete?", func(b []byte) (facts []fact) {
		for path, ops := range decode[openapi](b).Paths {
			if _, ok := ops["delete"]; ok && strings.HasPrefix(path, "/v1/subscriptions") {
				facts = append(facts, says(path))
			}
		}
		return facts
	}, nil, []step{jq(`[.paths | to_entries[] | select(.key | startswith("/v1/subscriptions")) | select(.value.delete) | .key]`)}},
	{"tree.json", structure, "What is in the top directory?", func(b []byte) []fact {
		return allOf(entryNames(decode[[]entry](b)))
	}, nil, []step{jq(`map(.name)`)}},
	{"tree.json", count, "How many entries have the type file, at any depth?", func(b []byte) []fact {
		return []fact{num("file", len(files("", decode[[]entry](b))))}
	}, times, []step{jq(`[.. | objects | select(.type == "file")] | length`)}},
	{"tree.json", filter, "Which children does the directory dist have?", func(b []byte) []fact {
		return allOf(entryNames(child(decode[[]entry](b), "dist")))
	}, nil, []step{jq(`.[] | select(.name == "dist").children | map(.name)`)}},
	{"tree.json", value, "In which directory of src is the file BehaviorSubject.ts?", func(b []byte) []fact {
		return allOf(only(files("", decode[[]entry](b)), func(p string) bool {
			return strings.HasPrefix(p, "src/") && strings.HasSuffix(p, "/BehaviorSubject.ts")
		}))
	}, nil, []step{jq(walk + ` | map(select(endswith("BehaviorSubject.ts")))`)}},
	{"tree-src.json", count, "How many entries have the type file, at any depth?", func(b []byte) []fact {
		return []fact{num("file", len(files("", decode[[]entry](b))))}
	}, times, []step{jq(`[.. | objects | select(.type == "file")] | length`)}},
	{"tree-src.json", filter, "Which children does internal/scheduler have?", func(b []byte) []fact {
		return allOf(entryNames(child(decode[[]entry](b), "internal", "scheduler")))
	}, nil, []step{jq(`.[] | select(.name == "internal").children[] | select(.name == "scheduler").children | map(.name)`)}},
	{"sql.json", count, "How many rows does the answer have?", func(b []byte) []fact {
		return []fact{num("rows|count", decode[sqlAnswer](b).Data.Statements[0].Count)}
	}, nil, []step{jq(`.data.statements[0].rows | length`)}},
	{"sql.json", value, "How many strikes has the airport ATLANTA INTL?", func(b []byte) []fact {
		for _, r := range decode[sqlAnswer](b).Data.Statements[0].Rows {
			if r["airport"] == "ATLANTA INTL" {
				return []fact{num("ATLANTA INTL", r["strikes"].(float64))}
			}
		}
		return nil
	}, nil, []step{jq(`.data.statements[0].rows[] | select(.airport == "ATLANTA INTL")`)}},
	{"sql.json", top, "Which airport has the highest cost_total?", func(b []byte) []fact {
		best := slices.MaxFunc(decode[sqlAnswer](b).Data.Statements[0].Rows, func(a, b record) int {
			return cmp.Compare(a["cost_total"].(float64), b["cost_total"].(float64))
		})
		return []fact{labelled("cost_total", show(best["airport"]))}
	}, extreme, []step{jq(`.data.statements[0].rows | max_by(.cost_total) | {airport, cost_total}`)}},
	{"sql.json", aggregate, "How many strikes have the airports in the state Texas together?", func(b []byte) []fact {
		sum := 0.0
		for _, r := range decode[sqlAnswer](b).Data.Statements[0].Rows {
			if r["state"] == "Texas" {
				sum += r["strikes"].(float64)
			}
		}
		return []fact{num("Texas", sum)}
	}, nil, []step{jq(`[.data.statements[0].rows[] | select(.state == "Texas").strikes] | add`)}},
}
