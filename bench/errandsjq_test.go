package bench

import (
	"fmt"
	"regexp"
	"strings"
)

// A wrong jq program as agents write it, what it was meant to find, and the program that
// finds it.
type wrongProgram struct{ file, program, want, right string }

var wrongPrograms = []wrongProgram{
	{"earthquakes.json", `[.[].properties | select(.mag > 5.9) | .place]`, "Hualian", `[.features[].properties | select(.mag > 5.9) | .place]`},
	{"earthquakes.json", `.features | map(select(.mag > 5.9)) | map({place: .place})`, "Hualian", `.features | map(.properties) | map(select(.mag > 5.9)) | map({place: .place})`},
	{"earthquakes.json", `features[?properties.mag > 5.9].properties.place`, "Hualian", `.features[] | select(.properties.mag > 5.9) | .properties.place`},
	{"earthquakes.json", `.metadata | {count: .total, title: .titel}`, "USGS All Earthquakes", `.metadata | {count, title}`},
	{"flights.json", `[x["destination"] for x in data if x["delay"] > 500]`, "STL", `[.[] | select(.delay > 500) | .destination]`},
	{"flights.json", `SELECT destination FROM flights WHERE delay > 500`, "STL", `[.[] | select(.delay > 500) | .destination]`},
	{"movies.json", `.[] | select(.Title == "The Land Girls") | .IMDB Rating`, "6.1", `.[] | select(.Title == "The Land Girls") | ."IMDB Rating"`},
	{"movies.json", `map(select(.director == "Steven Spielberg")) | map(.title) | .[0:3]`, "Color Purple", `map(select(.Director == "Steven Spielberg")) | map(.Title) | .[0:3]`},
	{"movies.json", `map(select(Director = "Steven Spielberg")) | length`, "23", `map(select(.Director == "Steven Spielberg")) | length`},
	{"mime-db.json", `.application/json.extensions`, "map", `."application/json".extensions`},
	{"mime-db.json", `keys_unsorted | map(select(test("^image/x-adobe"))) | join(" ")`, "x-adobe-dng", `keys | map(select(test("^image/x-adobe"))) | join(" ")`},
	{"postgres.log", `split("\n")[] | select(test("(?<=FATAL: ).*"))`, "FATAL", `split("\n")[] | select(test("FATAL: .*"))`},
}

// jqErrands send a wrong program, then the one that the reply proposes, if there is one;
// else an agent looks at what there is, and writes it anew.
var jqErrands = func() (all []errand) {
	proposed := regexp.MustCompile(`(?m)^(\[?).*use: (.+)$`)
	for _, w := range wrongPrograms {
		all = append(all, errand{"jq as agents write it", w.file, w.program, func(r *reader) bool {
			send := func(program string) bool {
				return strings.Contains(r.call("proxy_filter", fmt.Sprintf(`"cache_id":"$id","jq":%q`, program)).text, w.want)
			}
			if send(w.program) {
				return true
			}
			if m := proposed.FindStringSubmatch(r.last.text); m != nil {
				program := m[2]
				if m[1] != "" { // a note stands in brackets
					program = strings.TrimSuffix(program, "]")
				}
				if send(program) {
					return true
				}
			}
			r.call("proxy_explore", `"cache_id":"$id"`)
			return send(w.right)
		}})
	}
	return all
}()
