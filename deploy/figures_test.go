package deploy

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"rlmproxy/fleet/fleettest"
)

// TestFigures: each metric, with each of its labels and each value of a label that the
// dashboard and the alerts name, is in what /metrics puts out; and each metric of ours is in
// the dashboard.
func TestFigures(t *testing.T) {
	s := startServer(t)
	store := fleettest.Start(t)
	r := startReplica(t, s, store.URL, "RLMPROXY_REDACT=on", "RLMPROXY_AUDIT_FILE="+filepath.Join(t.TempDir(), "audit"))
	until(t, "it is ready", func() bool { status, _ := r.get("/readyz", ""); return status == 200 })
	for i, text := range []string{"", "long", "fails", "secret"} {
		if status, said := r.at().call(t.Context(), "do", fmt.Sprint(i), text); status != 200 {
			t.Fatalf("%d %s", status, said)
		}
	}
	_, text := r.get("/metrics", metricsToken)
	there := map[string]map[string][]string{} // the values of each label of each metric
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? \S+$`).FindAllStringSubmatch(text, -1) {
		if there[m[1]] == nil {
			there[m[1]] = map[string][]string{}
		}
		for _, l := range regexp.MustCompile(`([a-z_]+)="([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
			there[m[1]][l[1]] = append(there[m[1]][l[1]], l[2])
		}
	}
	// What Prometheus adds to each.
	for _, labels := range there {
		labels["job"], labels["instance"] = []string{"rlmproxy"}, []string{"x"}
	}
	there["up"] = map[string][]string{"job": {"rlmproxy"}, "instance": {"x"}}
	// What comes with errors that are not easy to have.
	errors := there["rlmproxy_call_errors_total"]
	errors["code"] = append(errors["code"], "too_busy", "rate_limited", "internal")

	var dashboard struct {
		Panels []struct {
			Type, Title string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "grafana.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	var alerts struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "prometheus/alerts.yaml")), &alerts); err != nil {
		t.Fatal(err)
	}
	exprs := map[string]string{} // by where they stand
	for i, p := range dashboard.Panels {
		for k, target := range p.Targets {
			exprs[fmt.Sprintf("panel %q, %d", p.Title, k)] = target.Expr
		}
		if p.Type != "row" && len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q: %d queries at %+v", p.Title, len(p.Targets), p.GridPos)
		}
		for _, other := range dashboard.Panels[:i] {
			a, b := p.GridPos, other.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("panels %q and %q overlap", p.Title, other.Title)
			}
		}
	}
	inDashboard := ""
	for _, expr := range exprs {
		inDashboard += expr + "\n"
	}
	for _, g := range alerts.Groups {
		for _, rule := range g.Rules {
			exprs["alert "+rule.Alert] = rule.Expr
			if rule.Annotations["summary"] == "" {
				t.Errorf("alert %s says nothing", rule.Alert)
			}
		}
	}
	if len(exprs) < 40 {
		t.Errorf("%d queries", len(exprs))
	}
	metric := regexp.MustCompile(`\b((?:rlmproxy|go|process)_[a-z_]+|up)\b(?:\{([^}]*)\})?`)
	matcher := regexp.MustCompile(`([a-z_]+)(=~|!~|!=|=)"([^"]*)"`)
	grouped := regexp.MustCompile(`by \(([a-z_, ]+)\)`)
	for where, expr := range exprs {
		found := metric.FindAllStringSubmatch(expr, -1)
		if len(found) == 0 {
			t.Errorf("%s names no metric: %s", where, expr)
		}
		for _, m := range found {
			labels := there[m[1]]
			if labels == nil {
				t.Errorf("%s: there is no metric %s", where, m[1])
				continue
			}
			for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
				for value := range strings.SplitSeq(l[3], "|") {
					if len(labels[l[1]]) == 0 {
						t.Errorf("%s: %s has no label %s", where, m[1], l[1])
					} else if value != "" && value != "$instance" && !slices.Contains(labels[l[1]], value) {
						t.Errorf("%s: no %s of %s is %q", where, l[1], m[1], value)
					}
				}
			}
			for _, g := range grouped.FindAllStringSubmatch(expr, -1) {
				for label := range strings.SplitSeq(g[1], ", ") {
					if len(labels[label]) == 0 {
						t.Errorf("%s: %s has no label %s", where, m[1], label)
					}
				}
			}
		}
	}
	documented := read(t, "../docs/operations.md")
	for name := range there {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if !strings.HasPrefix(name, "rlmproxy_") {
			continue
		}
		if !strings.Contains(inDashboard, base) {
			t.Errorf("the dashboard does not show %s", base)
		}
		rest := strings.TrimPrefix(base, "rlmproxy_") // a row may name several by their ends
		if _, end, _ := strings.Cut(rest, "_"); !strings.Contains(documented, base) && !strings.Contains(documented, "`_"+end+"`") {
			t.Errorf("docs/operations.md does not have %s", base)
		}
	}
}
