package bench

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
)

// tableTasks are about CSV and TSV. jq works on them as on an array of objects
// by the names in the header; whether values are numbers there is left open.
var tableTasks = []task{
	{"zipcodes.csv", structure, "Which columns are there, and how many lines?", columns(','), nil, []step{explore("")}},
	{"zipcodes.csv", value, "In which city is the zip_code 98101?", cell(',', "zip_code", "98101", "city"), nil,
		[]step{jq(`.[] | select(.zip_code == "98101")`), grep(`^98101,`)}},
	{"zipcodes.csv", value, "In which state is San Fransisco?", cell(',', "city", "San Francisco", "state"), nil,
		[]step{find(`"pattern":"San Fransisco","mode":"fuzzy","max_results":5`)}},
	{"zipcodes.csv", count, "How many zip codes has the state HI?", tableCount(',', "state", "HI"), times,
		[]step{jq(`map(select(.state == "HI")) | length`), grep(`,HI,`)}},
	{"zipcodes.csv", top, "Which three states have the most zip codes?", func(b []byte) []fact {
		return counted(most(csvRows(b), func(r map[string]string) string { return r["state"] }, 3))
	}, times, []step{jq(`group_by(.state) | map({state: .[0].state, n: length}) | sort_by(-.n)[:3]`)}},
	{"airports.csv", structure, "Which columns are there, and how many lines?", columns(','), nil, []step{explore("")}},
	{"airports.csv", value, "Which name has the airport with the iata SEA?", cell(',', "iata", "SEA", "name"), nil,
		[]step{jq(`.[] | select(.iata == "SEA")`), grep(`^SEA,`)}},
	{"airports.csv", count, "How many airports has the state AK?", tableCount(',', "state", "AK"), times,
		[]step{jq(`map(select(.state == "AK")) | length`), grep(`,AK,`)}},
	{"airports.csv", top, "Which airport has the highest latitude?", func(b []byte) []fact {
		best := slices.MaxFunc(csvRows(b), func(a, b map[string]string) int { return compare(a, b, "latitude") })
		return []fact{labelled(`latitude|71\.28`, best["name"])}
	}, extreme, []step{jq(`max_by(.latitude | tonumber)`), grep(`,7\d\.\d+,-`)}},
	{"seattle-weather.csv", structure, "Which columns are there, and how many lines?", columns(','), nil, []step{explore("")}},
	{"seattle-weather.csv", value, "Which temp_max had 2014-07-04?", cell(',', "date", "2014-07-04", "temp_max"), nil,
		[]step{jq(`.[] | select(.date == "2014-07-04") | {date, temp_max}`), grep(`^2014-07-04`)}},
	{"seattle-weather.csv", count, "How many days had the weather snow?", tableCount(',', "weather", "snow"), times,
		[]step{jq(`map(select(.weather == "snow")) | length`), grep(`,snow$`)}},
	{"seattle-weather.csv", top, "Which date had the highest temp_max?", func(b []byte) []fact {
		best := slices.MaxFunc(csvRows(b), func(a, b map[string]string) int { return compare(a, b, "temp_max") })
		return []fact{labelled(`temp_max|35\.6`, best["date"])}
	}, extreme, []step{jq(`max_by(.temp_max | tonumber) | {date, temp_max}`), grep(`,3[5-9]\.\d,`)}},
	{"seattle-weather.csv", aggregate, "What is the mean wind of the days with the weather fog?", func(b []byte) []fact {
		foggy := only(csvRows(b), func(r map[string]string) bool { return r["weather"] == "fog" })
		return []fact{about("wind.*fog|fog.*wind", mean(column(foggy, "wind")))}
	}, nil, []step{jq(`map(select(.weather == "fog") | .wind | tonumber) | add / length`)}},
	{"us-employment.csv", structure, "Which columns are there, and how many lines?", columns(','), nil,
		[]step{explore(""), narrow(`"limit":1`)}},
	{"us-employment.csv", value, "What was construction in the month 2010-03-01?", cell(',', "month", "2010-03-01", "construction"), nil,
		[]step{jq(`.[] | select(.month == "2010-03-01") | {month, construction}`), grep(`^2010-03-01,`)}},
	{"us-employment.csv", top, "In which month was nonfarm lowest?", func(b []byte) []fact {
		worst := slices.MinFunc(csvRows(b), func(a, b map[string]string) int { return compare(a, b, "nonfarm") })
		return []fact{labelled(`nonfarm|129,?726`, worst["month"])}
	}, regexp.MustCompile(`(?i)\bmin\b|lowest|smallest`), []step{jq(`min_by(.nonfarm | tonumber) | {month, nonfarm}`)}},
	{"unemployment.tsv", value, "Which rate has the id 6075?", cell('\t', "id", "6075", "rate"), nil,
		[]step{jq(`.[] | select((.id | tostring) == "6075")`), grep(`^6075\t`)}},
	{"unemployment.tsv", count, "How many ids have a rate of .2 or more?", func(b []byte) []fact {
		_, all := rows(b, '\t')
		return []fact{num(`\.2|match`, countIf(all, func(r map[string]string) bool { return column([]map[string]string{r}, "rate")[0] >= .2 }))}
	}, nil, []step{jq(`map(select((.rate | tonumber) >= 0.2)) | length`), grep(`\t\.[2-9]`)}},
	{"unemployment.tsv", top, "Which id has the highest rate?", func(b []byte) []fact {
		_, all := rows(b, '\t')
		best := slices.MaxFunc(all, func(a, b map[string]string) int { return compare(a, b, "rate") })
		return []fact{labelled(`rate|\.301`, best["id"])}
	}, extreme, []step{jq(`max_by(.rate | tonumber)`), grep(`\t\.[3-9]`)}},
}

func grep(pattern string) step { return find(`"pattern":` + quote(pattern)) }

func compare(a, b map[string]string, name string) int {
	return cmp.Compare(column([]map[string]string{a}, name)[0], column([]map[string]string{b}, name)[0])
}

// columns answers with the names in the header, and the lines with or without
// it.
func columns(comma rune) func([]byte) []fact {
	return func(b []byte) []fact {
		header, all := rows(b, comma)
		return append(allOf(header), num("lines|rows|records|items", len(all)).or(len(all)+1))
	}
}

// cell answers with one value of the row where key has the value of.
func cell(comma rune, key, of, name string) func([]byte) []fact {
	return func(b []byte) []fact {
		_, all := rows(b, comma)
		i := slices.IndexFunc(all, func(r map[string]string) bool { return r[key] == of })
		label := `\b` + regexp.QuoteMeta(of) + `\b`
		if n, err := strconv.ParseFloat(all[i][name], 64); err == nil {
			return []fact{num(label, n)}
		}
		return []fact{labelled(label, all[i][name])}
	}
}

func tableCount(comma rune, name, is string) func([]byte) []fact {
	return func(b []byte) []fact {
		_, all := rows(b, comma)
		return []fact{num(`\b`+is+`\b|match`, countIf(all, func(r map[string]string) bool { return r[name] == is }))}
	}
}
