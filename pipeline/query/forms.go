package query

import (
	"regexp"
	"strings"
)

// Whole programs of other languages.
var (
	sqlForm     = regexp.MustCompile(`(?is)^\s*select\s+(.+?)\s+from\s+([\w."]+)(?:\s+where\s+(.+?))?(?:\s+group\s+by\s+(\w+))?(?:\s+order\s+by\s+([\w.]+)(\s+desc)?(?:\s+asc)?)?(?:\s+limit\s+(\d+))?\s*;?\s*$`)
	pythonForm  = regexp.MustCompile(`(?s)^\s*(?:(len|sum|list|set|sorted|max|min)\s*\()?\s*([\[(]?)\s*(.+?)\s+for\s+(\w+)\s+in\s+(.+?)(?:\s+if\s+(.+?))?\s*[\])]*\s*$`)
	filterForm  = regexp.MustCompile(`(?s)^(.*?)\[\?\s*\(?(.+?)\)?\s*\](.*)$`)
	lambdaForm  = regexp.MustCompile(`(?s)^(.*?)\.(filter|map|find|some|every|forEach|flatMap)\(\s*\(?(\w+)\)?\s*=>\s*(.+?)\)((?:\.\w+|\s*\||\s*$).*)$`)
	jmesCall    = regexp.MustCompile(`^\s*(length|keys|values|sort|max|min|sum|avg|reverse|to_string|join|sort_by|max_by|min_by|unique|type)\(\s*(?:('[^']*'),\s*)?([\w.@\[\]*]+)(?:,\s*&([\w.]+))?\s*\)(.*)$`)
	multiSelect = regexp.MustCompile(`\.\[([\w\s,.]+)\]`)
	multiHash   = regexp.MustCompile(`\.\{([^}]*)\}`)
	pointerForm = regexp.MustCompile(`^\s*/((?:[\w-]+/?)+)$`)
	countForm   = regexp.MustCompile(`(?i)^count\s*\((.*)\)(?:\s+as\s+\w+)?$`)
	equals      = regexp.MustCompile(`([^=!<>])=([^=~>])`)
)

// forms are programs that say in jq what s says in another language.
func (a *adviser) forms(s string) (programs []string) {
	if m := sqlForm.FindStringSubmatch(s); m != nil {
		programs = append(programs, a.sql(m))
	}
	if m := pythonForm.FindStringSubmatch(s); m != nil {
		body := a.of(m[5]) + "[]"
		if m[6] != "" {
			body += " | select(" + a.item(m[6], m[4]) + ")"
		}
		body = "[" + body + " | " + a.item(m[3], m[4]) + "]"
		if f := map[string]string{"len": "length", "sum": "add", "set": "unique", "sorted": "sort", "max": "max", "min": "min"}[m[1]]; f != "" {
			body += " | " + f
		}
		programs = append(programs, body)
	}
	if m := filterForm.FindStringSubmatch(s); m != nil {
		rest := strings.TrimSpace(m[3])
		switch {
		case rest == "":
		case rest[0] == '|':
			rest = " " + strings.Replace(rest, "| [", "| .[", 1)
		default:
			rest = multiSelect.ReplaceAllString(rest, ".[$1]")
			if in := multiSelect.FindStringSubmatch(rest); in != nil {
				rest = "[." + strings.Join(strings.Fields(strings.ReplaceAll(in[1], ",", " ")), ", .") + "]"
			}
			if in := multiHash.FindStringSubmatch(rest); in != nil {
				rest = "{" + a.translate(in[1], true) + "}"
			}
			rest = " | " + rest
		}
		body := a.of(m[1]) + "[] | select(" + a.condition(m[2], "@") + ")"
		if strings.HasPrefix(m[3], " |") {
			body, rest = "["+body+"]", strings.ReplaceAll(rest, "(@)", "")
		}
		programs = append(programs, body+rest)
	}
	if m := lambdaForm.FindStringSubmatch(s); m != nil {
		f := map[string]string{"filter": "map(select(%))", "map": "map(%)", "flatMap": "map(%)", "forEach": "map(%)", "find": "map(select(%)) | .[0]", "some": "any(%)", "every": "all(%)"}[m[2]]
		programs = append(programs, a.of(m[1])+" | "+strings.ReplaceAll(f, "%", a.item(m[4], m[3]))+m[5])
	}
	if m := jmesCall.FindStringSubmatch(s); m != nil {
		f := m[1]
		switch {
		case m[4] != "":
			f = strings.TrimSuffix(f, "_by") + "_by(." + m[4] + ")"
		case m[2] != "":
			f += `("` + strings.Trim(m[2], "'") + `")`
		}
		of := a.of(strings.TrimPrefix(m[3], "@"))
		if strings.HasSuffix(of, "[]") {
			of = "[" + of + "]"
		}
		if i := strings.Index(of, "[]."); i >= 0 && of[0] == '.' {
			of = "[" + of + "]"
		}
		programs = append(programs, of+" | "+f+strings.Replace(m[5], "[", " | .[", 1))
	}
	if multiHash.MatchString(s) {
		programs = append(programs, multiHash.ReplaceAllStringFunc(s, func(in string) string { return " | {" + a.translate(in[2:len(in)-1], true) + "}" }))
	}
	if m := pointerForm.FindStringSubmatch(s); m != nil {
		programs = append(programs, "."+strings.ReplaceAll(strings.Trim(m[1], "/"), "/", "."))
	}
	return programs
}

// sql is a query of SQL in jq.
func (a *adviser) sql(m []string) string {
	columns, table, where, group, order, desc, limit := strings.TrimSpace(m[1]), strings.Trim(m[2], `"`), m[3], m[4], m[5], m[6], m[7]
	body := a.list.JQ() + "[]"
	if a.root == nil || a.root.ByName[table] != nil {
		body = "." + table + "[]"
	}
	if where != "" {
		where = equals.ReplaceAllString(where, "$1==$2")
		body += " | select(" + a.condition(where, "") + ")"
	}
	columns = strings.TrimPrefix(strings.TrimPrefix(columns, "DISTINCT "), "distinct ")
	var fields []string
	for _, c := range strings.Split(columns, ",") {
		if c = strings.TrimSpace(c); !countForm.MatchString(c) && c != "*" {
			name := c[strings.LastIndexByte(c, '.')+1:]
			fields = append(fields, strings.Fields(name)[0])
		}
	}
	out := "[" + body + "]"
	switch {
	case group != "":
		return out + " | group_by(." + group + ") | map({" + group + ": .[0]." + group + ", count: length})"
	case len(fields) == 0 && columns != "*":
		return out + " | length"
	}
	if order != "" {
		out += " | sort_by(." + order + ")"
		if desc != "" {
			out += " | reverse"
		}
	}
	if limit != "" {
		out += " | .[:" + limit + "]"
	}
	if columns != "*" {
		out += " | map({" + strings.Join(fields, ", ") + "})"
	}
	return out
}

// of is a path to a list, as other languages have it, in jq.
func (a *adviser) of(s string) string {
	s = strings.TrimSpace(s)
	s = strings.TrimPrefix(strings.TrimPrefix(s, "$"), ".")
	s = strings.NewReplacer("[*]", "[]", "'", `"`).Replace(s)
	s = strings.TrimSuffix(s, "[]")
	if word := regexp.MustCompile(`^\w*`).FindString(s); word != "" && a.root != nil && a.root.ByName[word] == nil {
		if s = strings.TrimPrefix(strings.TrimPrefix(s, word), "."); s == "" { // the variable that has the document
			return a.list.JQ()
		}
	}
	return "." + s
}

// item is an expression about an item, which is called by a name, in jq.
func (a *adviser) item(s, name string) string {
	if name != "@" {
		name = `\b` + regexp.QuoteMeta(name) + `\b`
	}
	s = regexp.MustCompile(name+`(\.|\[)`).ReplaceAllString(s, ".$1")
	s = regexp.MustCompile(name).ReplaceAllString(s, ".")
	s = strings.ReplaceAll(s, "..", ".")
	return a.translate(s, false)
}

// condition is a condition about an item in jq. Words are fields of it.
func (a *adviser) condition(s, name string) string {
	if m := regexp.MustCompile(`^\s*(contains|starts_with|ends_with)\(\s*@?\.?([\w.]+)\s*,\s*(.+?)\)?\s*$`).FindStringSubmatch(s); m != nil {
		return a.translate("(."+m[2]+" | "+map[string]string{"contains": "contains", "starts_with": "startswith", "ends_with": "endswith"}[m[1]]+"("+m[3]+"))", false)
	}
	if name != "" {
		s = a.item(s, name)
	}
	s = a.translate(s, true)
	for _, fix := range slips {
		if !strings.Contains(s, "|") && strings.HasPrefix(fix.fix, "($1 |") {
			s = fix.found.ReplaceAllString(s, fix.fix)
		}
	}
	return s
}
