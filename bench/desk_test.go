package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"rlmproxy/bench/corpus"
	"rlmproxy/middleware"
	"rlmproxy/middleware/upstream"
)

// A desk is a server with the tools of an office: records that belong together, lists in pages,
// folders in two versions. What it answers is made by rule, the same each time.
type desk map[string]func(args deskArgs) any

// deskArgs are what its tools take.
type deskArgs struct {
	Page, Number int
	Cursor, Name string
}

var _ middleware.Caller = desk(nil)

func (d desk) State() (upstream.State, error) { return upstream.Ready, nil }
func (d desk) Settled(context.Context)        {}
func (d desk) Prompts() []upstream.Tool       { return nil }
func (d desk) Info() *upstream.Info           { return &upstream.Info{} }

func (d desk) Notify(context.Context, string, json.RawMessage) error { return nil }

func (d desk) Tools() []upstream.Tool {
	var list []upstream.Tool
	for _, name := range slices.Sorted(maps.Keys(d)) {
		list = append(list, upstream.Tool{Name: name, Raw: fmt.Appendf(nil, `{"name":%q,"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, name)})
	}
	return list
}

func (d desk) Call(_ context.Context, r upstream.Request) (json.RawMessage, error) {
	var c struct {
		Name      string
		Arguments deskArgs
	}
	if err := json.Unmarshal(r.Params, &c); err != nil {
		return nil, err
	}
	value := d[c.Name](c.Arguments)
	if text, ok := value.(string); ok {
		return textResult(text)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return textResult(string(text))
}

type object = map[string]any

// How much there is of what comes in pages.
const (
	issuePages, issuesAPage = 14, 50
	eventPages, eventsAPage = 26, 100
)

// theDesk is one for all tests.
var theDesk = sync.OnceValue(newDesk)

// newDesk returns a desk.
func newDesk() desk {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	countries := []string{"AT", "BR", "CA", "DE", "FR", "IN", "JP", "US"}
	people := []string{"ana", "ben", "chen", "dora", "eli", "finn", "gita", "hugo", "ines", "jonas", "kaya", "lars"}
	day := func(n int) string { return fmt.Sprintf("2026-%02d-%02d", 1+n/28%12, 1+n%28) }

	var customers, orders, products, employees, tickets, sales []object
	for i := range 400 {
		customers = append(customers, object{"id": fmt.Sprintf("C%03d", i), "name": fmt.Sprintf("Customer %d", i), "country": pick(countries...),
			"tier": pick("gold", "silver", "bronze"), "email": fmt.Sprintf("c%d@example.com", i)})
	}
	for i := range 150 {
		products = append(products, object{"sku": fmt.Sprintf("P%03d", i), "name": fmt.Sprintf("Product %d", i), "price": 100 + rng.IntN(9900), "category": pick("tools", "books", "food", "toys")})
	}
	for i := range 2500 {
		orders = append(orders, object{"id": i, "customer": fmt.Sprintf("C%03d", rng.IntN(370)), "sku": fmt.Sprintf("P%03d", rng.IntN(140)), "units": 1 + rng.IntN(9),
			"ship_country": pick(countries...), "day": day(rng.IntN(336))})
	}
	for i := range 300 {
		employees = append(employees, object{"id": i, "name": fmt.Sprintf("%s-%d", pick(people...), i), "team": pick("web", "data", "ops", "mobile", "billing"), "manager": i / 10, "salary": 40_000 + 100*rng.IntN(600)})
	}
	for i := range 1200 {
		tickets = append(tickets, object{"id": i, "assignee": rng.IntN(300), "state": pick("open", "open", "closed"), "priority": 1 + rng.IntN(4), "opened": day(rng.IntN(336)), "title": "Ticket about " + pick(people...)})
	}
	for i := range 700 {
		sales = append(sales, object{"day": i, "store": pick("north", "south", "east"), "units": rng.IntN(500), "revenue": rng.IntN(90_000)})
	}
	var issues []object
	for i := range issuePages * issuesAPage {
		issues = append(issues, object{"number": i + 1, "title": fmt.Sprintf("%s fails on %s", pick("login", "search", "export", "upload", "sync"), pick("linux", "windows", "macos", "android")), "state": pick("open", "closed"),
			"labels": []string{pick("bug", "feature", "docs"), pick("p1", "p2", "p3")}, "author": pick(people...), "comments": rng.IntN(90), "created": day(rng.IntN(336)),
			"body": strings.Repeat(pick("It worked before. ", "See the log. ", "Steps below. "), 3)})
	}
	events := make([]object, 0, eventPages*eventsAPage)
	for i := range eventPages * eventsAPage {
		events = append(events, object{"at": 1_780_000_000 + 17*i + rng.IntN(15), "level": pick("info", "info", "warn", "error"), "service": pick("api", "db", "mail", "jobs"), "ms": rng.IntN(4000), "user": pick(people...)})
	}
	folder := func(seed uint64, change int) (files []object) {
		own := rand.New(rand.NewPCG(seed, 9))
		base := rand.New(rand.NewPCG(7, 7))
		for i := range 900 {
			size, hash := 100+base.IntN(90_000), fmt.Sprintf("%08x", base.Uint32())
			path := fmt.Sprintf("src/%s/file%03d.%s", []string{"api", "core", "web", "db"}[i%4], i, []string{"go", "ts", "md", "json"}[i*7%4])
			switch own.IntN(change) {
			case 0:
				continue // it is not there
			case 1:
				size, hash = size+1+own.IntN(5000), fmt.Sprintf("%08x", own.Uint32())
			case 2:
				path = "lib/" + path
			}
			files = append(files, object{"path": path, "size": size, "hash": hash})
		}
		return files
	}
	folders := map[string][]object{"v1": folder(1, 30), "v2": folder(2, 30)}
	locks := map[string]object{}
	configs := map[string]object{}
	hosts := map[string]string{}
	for i, name := range []string{"v1", "v2"} {
		own := rand.New(rand.NewPCG(uint64(i), 5))
		packages, config := object{}, object{}
		var lines []string
		for n := range 400 {
			major, minor := 1+n%5, n%13
			if own.IntN(9) == 0 {
				major += i
				minor += 1 + own.IntN(3)
			}
			packages[fmt.Sprintf("package-%03d", n)] = object{"version": fmt.Sprintf("%d.%d.%d", major, minor, n%7), "license": pick("MIT", "BSD", "Apache-2.0")}
			section := fmt.Sprintf("section%02d", n%20)
			if config[section] == nil {
				config[section] = object{}
			}
			value := n * 3
			if own.IntN(25) == 0 {
				value += i
			}
			config[section].(object)[fmt.Sprintf("key%03d", n)] = value
		}
		for n := range 1500 {
			if own.IntN(40) > 0 {
				lines = append(lines, fmt.Sprintf("host-%04d.example.com", n))
			}
		}
		locks[name], configs[name], hosts[name] = object{"packages": packages}, config, strings.Join(lines, "\n")+"\n"
	}
	fixed := func(value any) func(deskArgs) any { return func(deskArgs) any { return value } }
	file := func(name string) func(deskArgs) any {
		return func(deskArgs) any {
			data, err := corpus.Open(name)
			if err != nil {
				return err.Error()
			}
			return string(data)
		}
	}
	return desk{
		"customers": fixed(customers), "orders": fixed(orders), "products": fixed(products), "employees": fixed(employees), "tickets": fixed(tickets), "sales": fixed(sales),
		"movies": file("movies.json"), "flights": file("flights.json"), "earthquakes": file("earthquakes.json"), "log": file("postgres.log"), "weather": file("seattle-weather.csv"),
		"folder": func(a deskArgs) any { return folders[a.Name] },
		"lock":   func(a deskArgs) any { return locks[a.Name] },
		"config": func(a deskArgs) any { return configs[a.Name] },
		"hosts":  func(a deskArgs) any { return hosts[a.Name] },
		"issues": func(a deskArgs) any {
			page := max(a.Page, 1)
			if page > issuePages {
				return object{"page": page, "pages": issuePages, "items": []any{}}
			}
			return object{"page": page, "pages": issuePages, "items": issues[(page-1)*issuesAPage : page*issuesAPage]}
		},
		"issue": func(a deskArgs) any {
			n := a.Number
			return object{"number": n, "reviewers": []string{people[n%len(people)], people[n*5%len(people)]}, "hours": n * 7 % 40, "history": strings.Repeat("opened, labelled, reviewed; ", 20)}
		},
		"events": func(a deskArgs) any {
			page := 0
			if a.Cursor != "" {
				_, _ = fmt.Sscanf(a.Cursor, "c%d", &page) // 0 if it is none
			}
			next := any(nil)
			if page < eventPages-1 {
				next = fmt.Sprintf("c%d", page+1)
			}
			return object{"next": next, "events": events[page*eventsAPage : (page+1)*eventsAPage]}
		},
	}
}
