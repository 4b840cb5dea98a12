package jq

import "github.com/itchyny/gojq"

// clocks is what depends on when and where a program runs, and what to write
// instead: the same program over the same document is to give the same bytes.
// The zone of a worker is UTC, for what strptime makes of the names of zones;
// mktime, gmtime and strftime are UTC by themselves, and the environment is
// empty.
var clocks = map[string]string{
	"now/0":           `write the time as a literal: ("2025-06-01T00:00:00Z" | fromdate)`,
	"localtime/0":     "use gmtime, which is UTC",
	"strflocaltime/1": "use strftime, which is UTC",
}

// checkClock is an [*Error] for a program that asks for the time or the zone.
func checkClock(q *gojq.Query) error {
	own := map[string]bool{}
	walkQuery(q, func(n any) {
		if def, ok := n.(*gojq.FuncDef); ok {
			own[nameOf(def.Name, len(def.Args))] = true
			for _, arg := range def.Args {
				own[nameOf(arg, 0)] = true
			}
		}
	})
	var err error
	walkQuery(q, func(n any) {
		f, ok := n.(*gojq.Func)
		if !ok || err != nil {
			return
		}
		if name := nameOf(f.Name, len(f.Args)); clocks[name] != "" && !own[name] {
			err = &Error{Code: Bad, Text: "jq: " + f.Name + " is not allowed: a query gives the same answer at any time and place", Hint: clocks[name]}
		}
	})
	return err
}
