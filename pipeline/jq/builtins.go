package jq

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// builtinDefinitions are functions of jq that gojq has, but that take it too long
// over a text of 10 MB. They give the same results.
//
//   - For each match of a regular expression gojq counts the characters from the
//     start of the string, and sub and splits cut the rest of the string again. With
//     100,000 matches that takes hours.
//   - It looks for a string in a string as in an array of characters.
//   - group_by sorts all items, also where a few strings are the keys of millions.
//   - INDEX copies the object for each item. See also rewrite.
//
// Those of jq that gojq lacks are here too: keys come out sorted, and there is nobody to
// see what debug says.
const builtinDefinitions = `
def match($re; $flags): _match_objects($re; $flags);
def match($re): if $re | type == "array" then match($re[0]; $re[1]) else match($re; null) end;
def test($re; $flags): _matches($re; $flags);
def test($re): if $re | type == "array" then test($re[0]; $re[1]) else test($re; null) end;
def capture($re; $flags): _match_captures($re; $flags);
def capture($re): if $re | type == "array" then capture($re[0]; $re[1]) else capture($re; null) end;
def scan($re; $flags): _match_strings($re; $flags + "g");
def scan($re): scan($re; null);
def splits($re; $flags): _match_gaps($re; $flags + "g");
def splits($re): splits($re; null);
def split($re; $flags): [splits($re; $flags)];
def sub($re; str; $flags): . as $in
  | [_match_gaps_and_captures($re; $flags) | if length == 2 then [.[0] + (.[1] | str)] end]
  | _join_pieces($in);
def sub($re; str): sub($re; str; null);
def gsub($re; str): sub($re; str; "g");
def gsub($re; str; $flags): sub($re; str; $flags + "g");

def _strings($x): type == "string" and ($x | type == "string");
def _gojq_indices($x): indices($x);
def _gojq_index($x): index($x);
def _gojq_rindex($x): rindex($x);
def indices($x): if _strings($x) then _text_indices($x) else _gojq_indices($x) end;
def index($x):
  if _strings($x) then _text_indices($x)[0]
  elif type == "array" and ($x | type != "array") then _position($x)
  else _gojq_index($x) end;
def rindex($x): if _strings($x) then _text_indices($x)[-1] else _gojq_rindex($x) end;

def _gsub($re; $text; $flags): _replace($re; $flags + "g"; $text);
def _sub($re; $text; $flags): _replace($re; $flags; $text);

def _whole: . == null or type == "number" and . == floor;
def _part($v; $from; $to):
  if ($v | type == "string" and utf8bytelength > 10000) and ($from | _whole) and ($to | _whole)
  then $v | _cut($from; $to) else $v[$from:$to] end;

def _sums($pairs; $first): _grouped($pairs) | map_values([$first, .[]] | add);
def _among($x; $list): if $list | type == "array" then $list | _position($x) != null else any($list[]; . == $x) end;
def _among($list): _among(.; $list);
def INDEX(stream; f): _object([stream | . as $row | f | [tostring, $row]]);
def INDEX(f): INDEX(.[]; f);

def keys_unsorted: keys;
def leaf_paths: paths(scalars);
def toarray: if type == "array" then . else [.] end;
def ascii: [.] | implode;
def debug: .;
def debug(message): .;
def stderr: .;
def input_line_number: 0;

def group_by(f): map([f]) as $keys | _group_by_strings($keys) // _group_by($keys);
`

// definitions is builtinDefinitions, parsed.
var definitions = sync.OnceValue(func() []*gojq.FuncDef {
	query, err := gojq.Parse(builtinDefinitions)
	if err != nil {
		panic(err)
	}
	return query.FuncDefs
})

// compileWithBuiltins compiles a program that calls our builtins where gojq has
// its own.
func compileWithBuiltins(query *gojq.Query) (*gojq.Code, error) {
	rewrite(query)
	whole := *query
	whole.FuncDefs = slices.Concat(definitions(), query.FuncDefs)
	known := &lookup{off: mayWrite(query)}
	options := append(withRegexps(),
		gojq.WithFunction("_object", 1, 1, objectOf),
		gojq.WithFunction("_grouped", 1, 1, grouped),
		gojq.WithFunction("_position", 1, 1, known.position),
		gojq.WithFunction("_cut", 2, 2, known.cut),
		gojq.WithFunction("_text_indices", 1, 1, textIndices),
		gojq.WithFunction("_group_by_strings", 1, 1, groupByStrings))
	return gojq.Compile(&whole, options...)
}

// textIndices is where in a text another stands, in characters. Places overlap.
func textIndices(v any, args []any) any {
	text, part := v.(string), args[0].(string)
	found := []any{}
	if part == "" {
		return found
	}
	for count := 0; ; count++ {
		at := strings.Index(text, part)
		if at < 0 {
			return found
		}
		count += utf8.RuneCountInString(text[:at])
		found = append(found, count)
		_, width := utf8.DecodeRuneInString(text[at:])
		text = text[at+width:]
	}
}

// groupByStrings is group_by where each key is one string, else null.
func groupByStrings(v any, args []any) any {
	items, isList := v.([]any)
	keys, _ := args[0].([]any)
	if !isList || len(keys) != len(items) {
		return nil
	}
	groups := map[string][]any{}
	for i, key := range keys {
		values, _ := key.([]any)
		if len(values) != 1 {
			return nil
		}
		name, isString := values[0].(string)
		if !isString {
			return nil
		}
		groups[name] = append(groups[name], items[i])
	}
	names := make([]string, 0, len(groups))
	for name := range groups {
		names = append(names, name)
	}
	slices.Sort(names)
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = groups[name]
	}
	return list
}
