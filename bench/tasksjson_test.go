package bench

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// jsonTasks are about arrays of records.
var jsonTasks = []task{
	{"flights.json", structure, "Which range does delay have?", func(b []byte) []fact {
		d := numbersOf(recordsOf(b), "delay")
		return []fact{num("delay", slices.Min(d)), num("delay", slices.Max(d))}
	}, nil, []step{explore("")}},
	{"flights.json", value, "What is the distance of the flight from HNL to SFO of 2001/01/01 01:10?", func(b []byte) []fact {
		for _, r := range recordsOf(b) {
			if r["date"] == "2001/01/01 01:10" {
				return []fact{num("2001/01/01 01:10", r["distance"].(float64))}
			}
		}
		return nil
	}, nil, []step{jq(`.[] | select(.date == "2001/01/01 01:10")`)}},
	{"flights.json", count, "How many flights have the origin ORD?", func(b []byte) []fact {
		return []fact{num("ORD", countIf(recordsOf(b), func(r record) bool { return r["origin"] == "ORD" }))}
	}, times, []step{jq(`[.[] | select(.origin == "ORD")] | length`)}},
	{"flights.json", top, "Which three origins have the most flights?", func(b []byte) []fact {
		return counted(most(recordsOf(b), func(r record) string { return show(r["origin"]) }, 3))
	}, times, []step{jq(`group_by(.origin) | map({origin: .[0].origin, flights: length}) | sort_by(-.flights)[:3]`)}},
	{"flights.json", aggregate, "What is the mean delay of flights to the destination SFO?", func(b []byte) []fact {
		to := only(recordsOf(b), func(r record) bool { return r["destination"] == "SFO" })
		return []fact{about("SFO", mean(numbersOf(to, "delay")))}
	}, nil, []step{jq(`[.[] | select(.destination == "SFO") | .delay] | add / length`)}},
	{"movies.json", structure, "How many movies are there, and which values has MPAA Rating?", func(b []byte) []fact {
		all := recordsOf(b)
		facts := []fact{num("items|movies|records", len(all))}
		keys, _ := most(only(all, func(r record) bool { return r["MPAA Rating"] != nil }), func(r record) string { return show(r["MPAA Rating"]) }, 99)
		for _, k := range keys {
			facts = append(facts, labelled("MPAA Rating|×|unique", k))
		}
		return facts
	}, nil, []step{explore(""), jq(`map(."MPAA Rating") | unique`)}},
	{"movies.json", value, `What is the Production Budget of the movie with the Title "Avatar"?`, func(b []byte) []fact {
		for _, r := range recordsOf(b) {
			if n, ok := r["Production Budget"].(float64); ok && r["Title"] == "Avatar" {
				return []fact{num("Avatar", n)}
			}
		}
		return nil
	}, nil, []step{jq(`.[] | select(.Title == "Avatar") | ."Production Budget"`)}},
	{"movies.json", count, "How many movies have no Rotten Tomatoes Rating?", func(b []byte) []fact {
		return []fact{num("Rotten Tomatoes Rating", countIf(recordsOf(b), func(r record) bool { return r["Rotten Tomatoes Rating"] == nil }))}
	}, regexp.MustCompile(`null|missing|absent`), []step{jq(`map(select(."Rotten Tomatoes Rating" == null)) | length`)}},
	{"movies.json", top, "Which movie has the highest Worldwide Gross?", func(b []byte) []fact {
		all := only(recordsOf(b), func(r record) bool { return r["Worldwide Gross"] != nil })
		best := slices.MaxFunc(all, func(a, b record) int {
			return cmp.Compare(a["Worldwide Gross"].(float64), b["Worldwide Gross"].(float64))
		})
		return []fact{labelled("Worldwide Gross", show(best["Title"]))}
	}, extreme, []step{jq(`max_by(."Worldwide Gross") | {Title, "Worldwide Gross"}`)}},
	{"movies.json", aggregate, `What is the mean IMDB Rating of movies whose Major Genre is "Drama"?`, func(b []byte) []fact {
		drama := only(recordsOf(b), func(r record) bool { return r["Major Genre"] == "Drama" })
		return []fact{about("Drama", mean(numbersOf(drama, "IMDB Rating")))}
	}, nil, []step{jq(`[.[] | select(."Major Genre" == "Drama") | ."IMDB Rating" | numbers] | add / length`)}},
	{"movies.json", filter, "Which movies has the Director Martin Campbell made?", func(b []byte) (facts []fact) {
		for _, r := range recordsOf(b) {
			if r["Director"] == "Martin Campbell" {
				facts = append(facts, says(show(r["Title"])))
			}
		}
		return facts
	}, nil, []step{jq(`map(select(.Director == "Martin Campbell") | .Title)`)}},
	{"cars.json", structure, "Which range does Miles_per_Gallon have?", func(b []byte) []fact {
		d := numbersOf(recordsOf(b), "Miles_per_Gallon")
		return []fact{num("Miles_per_Gallon", slices.Min(d)), num("Miles_per_Gallon", slices.Max(d))}
	}, nil, []step{explore("")}},
	{"cars.json", count, "How many cars have the Origin Japan?", func(b []byte) []fact {
		return []fact{num("Japan", countIf(recordsOf(b), func(r record) bool { return r["Origin"] == "Japan" }))}
	}, times, []step{jq(`map(select(.Origin == "Japan")) | length`)}},
	{"cars.json", value, "What is the Acceleration of the ford torino of 1970?", func(b []byte) []fact {
		for _, r := range recordsOf(b) {
			if r["Name"] == "ford torino" {
				return []fact{num("ford torino", r["Acceleration"].(float64))}
			}
		}
		return nil
	}, nil, []step{jq(`.[] | select(.Name == "ford torino")`)}},
	{"cars.json", top, "Which car has the highest Weight_in_lbs?", func(b []byte) []fact {
		best := slices.MaxFunc(recordsOf(b), func(a, b record) int {
			return cmp.Compare(a["Weight_in_lbs"].(float64), b["Weight_in_lbs"].(float64))
		})
		return []fact{labelled("Weight_in_lbs", show(best["Name"]))}
	}, extreme, []step{jq(`max_by(.Weight_in_lbs) | {Name, Weight_in_lbs}`)}},
	{"cars.json", aggregate, "What is the mean Horsepower of the cars with 8 Cylinders?", func(b []byte) []fact {
		eight := only(recordsOf(b), func(r record) bool { return r["Cylinders"] == 8.0 })
		return []fact{about("Horsepower.*8|8.*Horsepower", mean(numbersOf(eight, "Horsepower")))}
	}, nil, []step{jq(`[.[] | select(.Cylinders == 8) | .Horsepower | numbers] | add / length`)}},
	{"cars.json", filter, "Which cars have 3 Cylinders?", func(b []byte) []fact {
		var names []string
		for _, r := range recordsOf(b) {
			if r["Cylinders"] == 3.0 {
				names = append(names, show(r["Name"]))
			}
		}
		return allOf(names)
	}, nil, []step{jq(`[.[] | select(.Cylinders == 3) | .Name]`)}},
	{"gotest.jsonl", structure, "Which packages were tested?", func(b []byte) []fact {
		return allOf(firstOf(lineMatches(b, `"Package":"([^"]*)"`)))
	}, nil, []step{jq(`map(.Package) | unique`)}},
	{"gotest.jsonl", filter, "Which tests failed?", func(b []byte) []fact {
		return allOf(firstOf(lineMatches(b, `"Action":"fail".*"Test":"([^"]*)"`)))
	}, regexp.MustCompile("fail"), []step{jq(`map(select(.Action == "fail") | .Test)`)}},
	{"gotest.jsonl", cause, "Why did TestManyServers fail?", func(b []byte) []fact {
		return allOf(firstOf(lineMatches(b, `"Test":"TestManyServers","Output":" *real_servers_test.go:\d+: ([^:]*):`)))
	}, nil, []step{jq(`.[] | select(.Test == "TestManyServers" and .Output) | .Output`)}},
	{"gotest.jsonl", top, "Which three tests have the highest Elapsed?", func(b []byte) []fact {
		var all []record
		for line := range strings.Lines(string(b)) {
			if r := decode[record]([]byte(line)); r["Test"] != nil && r["Elapsed"] != nil {
				all = append(all, r)
			}
		}
		slices.SortStableFunc(all, func(a, b record) int { return cmp.Compare(b["Elapsed"].(float64), a["Elapsed"].(float64)) })
		var facts []fact
		for _, r := range all[:3] {
			facts = append(facts, num(`\b`+show(r["Test"])+`\b`, r["Elapsed"].(float64)))
		}
		return facts
	}, extreme, []step{jq(`map(select(.Test and .Elapsed)) | sort_by(-.Elapsed)[:3] | map({Test, Elapsed})`)}},
	{"gotest.jsonl", count, "How many tests passed in the package rlmproxy/search?", func(b []byte) []fact {
		return []fact{num("rlmproxy/search", len(lineMatches(b, `"Action":"pass","Package":"rlmproxy/search","Test"`)))}
	}, nil, []step{jq(`map(select(.Action == "pass" and .Package == "rlmproxy/search" and .Test)) | length`)}},
}

var (
	// times stands beside a count that a preview states of all records.
	times = regexp.MustCompile(`×|\bcount\b`)
	// extreme stands beside the record that has the largest value, when a preview
	// shows it for that.
	extreme = regexp.MustCompile(`(?i)\bmax\b|highest|largest|longest|outlier|top\b`)
)
