package jq

import (
	"strconv"
	"sync"

	"github.com/itchyny/gojq"
)

// What jq defines in jq, from gojq's builtin.jq in meaning. Bodies use only
// what has a fast form, and no variables, so that arguments can be put in.
const definitionsSource = `
def map(f): [.[] | f];
def add(f): [f] | add;
def abs: if . < 0 then -. else . end;
def with_entries(f): to_entries | map(f) | from_entries;
def from_entries: map({(.key // .Key // .name // .Name): if has("value") then .value else .Value end}) | add // {};
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type | . == "array" or . == "object");
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def strings: select(type == "string");
def nulls: select(. == null);
def values: select(. != null);
def scalars: select(type | . != "array" and . != "object");
def first: .[0];
def last: .[-1];
def any: any(.[]; .);
def any(f): any(.[]; f);
def any(g; f): isempty(g | select(f)) | not;
def all: all(.[]; .);
def all(f): all(.[]; f);
def all(g; f): isempty(g | select(f | not)) | not | not;
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
.`

// definitions is the functions of definitionsSource by name and arity.
var definitions = sync.OnceValue(func() map[string]*gojq.FuncDef {
	query, err := gojq.Parse(definitionsSource)
	if err != nil {
		panic(err)
	}
	defs := map[string]*gojq.FuncDef{}
	for _, d := range query.FuncDefs {
		defs[nameOf(d.Name, len(d.Args))] = d
	}
	return defs
})

func nameOf(name string, args int) string { return name + "/" + strconv.Itoa(args) }

// A frameOf is a call of a definition: its arguments, and the frame that they
// belong to.
type frameOf struct {
	args  map[string]*gojq.Query
	outer *frameOf
}
