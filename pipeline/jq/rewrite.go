package jq

import (
	"slices"

	"github.com/itchyny/gojq"
)

// gojq copies an object or array for each change of it, so programs that build one in a
// loop take quadratic time. rewrite replaces those that agents write by functions of
// builtinDefinitions that give the same in one pass. K, V and E take nothing from the
// accumulator and give one value each:
//
//	reduce S as $x ({}; .[K] = V)        _object([S as $x | [K, V]])
//	reduce S as $x ({}; .[K] += V)       _sums([S as $x | [K, V]]; null)
//	   also .[K] = (.[K] // 0) + V and .[K] |= (. // 0) + V, with 0
//	reduce S as $x (L; . + E)            [L, (S as $x | E)] | add
//	IN($list[]), any($list[]; . == $x)   _among($list)
//	gsub("re"; "text")                   _gsub("re"; "text"; flags)
//	$text[a:b], and .[a:b] where no path is taken   _part($text; a; b)
func rewrite(q *gojq.Query) {
	defines, takesPaths := false, mayWrite(q)
	Walk(q, func(part any) {
		switch part := part.(type) {
		case *gojq.FuncDef: // maybe of one of these names
			defines = true
		case *gojq.Func:
			takesPaths = takesPaths || slices.Contains([]string{"path", "paths", "pick", "del", "delpaths", "to_entries", "tostream"}, part.Name)
		}
	})
	if defines {
		return
	}
	Walk(q, func(part any) {
		switch part := part.(type) {
		case *gojq.Term:
			switch {
			case part.Type == gojq.TermTypeReduce:
				rewriteReduce(part)
			case part.Type == gojq.TermTypeFunc:
				rewriteCall(part.Func)
			}
			rewriteSlice(part, takesPaths)
		}
	})
}

func termQuery(t *gojq.Term) *gojq.Query { return &gojq.Query{Term: t} }

func call(name string, args ...*gojq.Query) *gojq.Term {
	return &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}
}

func array(q *gojq.Query) *gojq.Query {
	return termQuery(&gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: q}})
}

func binary(left *gojq.Query, op gojq.Operator, right *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: left, Op: op, Right: right}
}

func rewriteReduce(t *gojq.Term) {
	r := t.Reduce
	start, update := r.Start.String(), unwrap(r.Update)
	each := func(body *gojq.Query) *gojq.Query {
		return &gojq.Query{Left: termQuery(&gojq.Term{Type: gojq.TermTypeQuery, Query: r.Query}), Patterns: r.Patterns, Op: gojq.OpPipe, Right: body}
	}
	instead := func(q *gojq.Query) {
		t.Type, t.Reduce, t.Query = gojq.TermTypeQuery, nil, q
	}
	if key := accumulated(update.Left); key != nil && start == "{}" && single(key) {
		pairs := func(v *gojq.Query) *gojq.Query { return array(each(array(binary(key, gojq.OpComma, v)))) }
		added, first := update.Right, termQuery(&gojq.Term{Type: gojq.TermTypeNull})
		switch update.Op {
		case gojq.OpAssign:
			if single(update.Right) {
				instead(termQuery(call("_object", pairs(update.Right))))
				return
			}
			added, first = summand(update.Right, update.Left.String())
		case gojq.OpModify:
			added, first = summand(update.Right, ".")
		case gojq.OpUpdateAdd:
		default:
			return
		}
		if added != nil && single(added) {
			instead(termQuery(call("_sums", pairs(added), first)))
		}
		return
	}
	if update.Op == gojq.OpAdd && update.Left.String() == "." || update.Op == gojq.OpUpdateAdd && update.Left.String() == "." {
		if single(update.Right) && slices.Contains(neutral, start) {
			instead(binary(array(binary(r.Start, gojq.OpComma, termQuery(&gojq.Term{Type: gojq.TermTypeQuery, Query: each(update.Right)}))), gojq.OpPipe, termQuery(call("add"))))
		}
	}
}

// unwrap is q without parentheses around it.
func unwrap(q *gojq.Query) *gojq.Query {
	for q.Term != nil && q.Term.Type == gojq.TermTypeQuery && len(q.Term.SuffixList) == 0 {
		q = q.Term.Query
	}
	return q
}

// accumulated is K of .[K], or nil.
func accumulated(q *gojq.Query) *gojq.Query {
	if q == nil || q.Term == nil {
		return nil
	}
	i := q.Term.Index
	if q.Term.Type == gojq.TermTypeIdentity && len(q.Term.SuffixList) == 1 {
		i = q.Term.SuffixList[0].Index
	} else if q.Term.Type != gojq.TermTypeIndex || len(q.Term.SuffixList) > 0 {
		return nil
	}
	if i == nil || i.IsSlice {
		return nil
	}
	return i.Start
}

// summand is V of old + V, with null, or of (old // L) + V, with L. Else V is nil.
func summand(q *gojq.Query, old string) (v, first *gojq.Query) {
	q = unwrap(q)
	if q.Op != gojq.OpAdd {
		return nil, nil
	}
	switch left := unwrap(q.Left); {
	case left.String() == old:
		return q.Right, termQuery(&gojq.Term{Type: gojq.TermTypeNull})
	case left.Op == gojq.OpAlt && left.Left.String() == old && slices.Contains(neutral, left.Right.String()):
		return q.Right, left.Right
	}
	return nil, nil
}

// neutral adds nothing.
var neutral = []string{"{}", "[]", `""`, "0"}

// one are functions that give one value for one.
var one = []string{"tostring", "tonumber", "ascii_downcase", "ascii_upcase", "length", "tojson", "fromjson", "keys", "add", "type", "not", "floor",
	"split", "join", "first", "last", "ltrimstr", "rtrimstr", "min", "max", "sort", "unique", "trim", "null", "true", "false"}

// single reports that q gives one value for certain, from variables and literals alone.
func single(q *gojq.Query) bool { return oneOf(q, false) }

// oneOf is single for a query whose input counts too if dot is set.
func oneOf(q *gojq.Query, dot bool) bool {
	if q.Term == nil {
		switch q.Op {
		case gojq.OpPipe:
			return len(q.Patterns) == 0 && len(q.FuncDefs) == 0 && oneOf(q.Left, dot) && oneOf(q.Right, true)
		case gojq.OpAdd, gojq.OpSub, gojq.OpMul, gojq.OpEq, gojq.OpNe, gojq.OpAlt:
			return oneOf(q.Left, dot) && oneOf(q.Right, dot)
		}
		return false
	}
	t := q.Term
	for _, s := range t.SuffixList {
		if s.Index == nil || !indexIsSingle(s.Index, dot) {
			return false
		}
	}
	all := func(queries []*gojq.Query) bool {
		return !slices.ContainsFunc(queries, func(q *gojq.Query) bool { return !oneOf(q, dot) })
	}
	switch t.Type {
	case gojq.TermTypeIdentity:
		return dot
	case gojq.TermTypeIndex:
		return dot && indexIsSingle(t.Index, dot)
	case gojq.TermTypeNumber, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse:
		return true
	case gojq.TermTypeString:
		return all(t.Str.Queries)
	case gojq.TermTypeQuery:
		return oneOf(t.Query, dot)
	case gojq.TermTypeArray:
		return t.Array.Query == nil || oneOf(t.Array.Query, dot)
	case gojq.TermTypeFunc:
		return t.Func.Name[0] == '$' || dot && slices.Contains(one, t.Func.Name) && all(t.Func.Args)
	case gojq.TermTypeObject:
		for _, m := range t.Object.KeyVals {
			if m.KeyQuery != nil && !oneOf(m.KeyQuery, dot) || m.KeyString != nil && !all(m.KeyString.Queries) ||
				m.Val != nil && !oneOf(m.Val, dot) || m.Val == nil && (m.Key == "" || m.Key[0] != '$') {
				return false
			}
		}
		return true
	}
	return false
}

func indexIsSingle(i *gojq.Index, dot bool) bool {
	return (i.Str == nil || len(i.Str.Queries) == 0) && (i.Start == nil || oneOf(i.Start, dot)) && (i.End == nil || oneOf(i.End, dot))
}

func rewriteCall(f *gojq.Func) {
	switch arg := func(n int) *gojq.Query { return f.Args[n] }; {
	case f.Name == "IN" && len(f.Args) == 1:
		if list := listOf(arg(0)); list != nil {
			*f = *call("_among", list).Func
		}
	case f.Name == "any" && len(f.Args) == 2 && arg(1).Op == gojq.OpEq:
		list, x := listOf(arg(0)), arg(1).Right
		if x.String() == "." {
			x = arg(1).Left
		} else if arg(1).Left.String() != "." {
			return
		}
		if list != nil && single(x) {
			*f = *call("_among", x, list).Func
		}
	case (f.Name == "sub" || f.Name == "gsub") && (len(f.Args) == 2 || len(f.Args) == 3):
		if s := arg(1).Term; s == nil || s.Type != gojq.TermTypeString || len(s.Str.Queries) > 0 || len(s.SuffixList) > 0 {
			return
		}
		f.Name = "_" + f.Name
		if len(f.Args) == 2 {
			f.Args = append(f.Args[:2:2], termQuery(&gojq.Term{Type: gojq.TermTypeNull}))
		}
	}
}

// listOf is $list of $list[], or nil.
func listOf(q *gojq.Query) *gojq.Query {
	t := q.Term
	if t == nil || t.Type != gojq.TermTypeFunc || t.Func.Name[0] != '$' || len(t.SuffixList) == 0 {
		return nil
	}
	last := len(t.SuffixList) - 1
	list := termQuery(&gojq.Term{Type: t.Type, Func: t.Func, SuffixList: t.SuffixList[:last]})
	if !t.SuffixList[last].Iter || !single(list) {
		return nil
	}
	return list
}

// rewriteSlice has $text[a:b] cut by _part, where a and b give one value each.
func rewriteSlice(t *gojq.Term, takesPaths bool) {
	isSlice := func(i *gojq.Index) bool { return i != nil && i.IsSlice && indexIsSingle(i, true) }
	var at *gojq.Index
	var of *gojq.Term
	steps := t.SuffixList
	switch {
	case t.Type == gojq.TermTypeIndex && !takesPaths && isSlice(t.Index):
		at, of = t.Index, &gojq.Term{Type: gojq.TermTypeIdentity}
	case t.Type == gojq.TermTypeFunc && t.Func.Name[0] == '$' && len(steps) > 0 && isSlice(steps[0].Index):
		at, of, steps = steps[0].Index, &gojq.Term{Type: t.Type, Func: t.Func}, steps[1:]
	default:
		return
	}
	bound := func(q *gojq.Query) *gojq.Query {
		if q == nil {
			return termQuery(&gojq.Term{Type: gojq.TermTypeNull})
		}
		return q
	}
	*t = *call("_part", termQuery(of), bound(at.Start), bound(at.End))
	t.SuffixList = steps
}
