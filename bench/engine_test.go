package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/agnivade/levenshtein"

	"rlmproxy/bench/corpus"
	"rlmproxy/pipeline"
	jqpool "rlmproxy/pipeline/jq"
	"rlmproxy/search"
)

// An engine works on a document. Its yardstick is the least that could be done
// for the same answer, or the usual way to do it.
type engine struct {
	name      string
	file      string
	yardstick string
	setup     func(doc pipeline.Value) (run func() error, err error)
	base      func(data []byte) error
}

var engines = []engine{
	{"recognise", "webhooks.json", "json.Valid", recognise, valid},
	{"recognise", "ec2.d.ts", "byte-loop", recognise, byteLoop},
	{"jq-first", "webhooks.json", "json.Valid", jqFirst(jqNames), valid},
	{"jq-second", "webhooks.json", "json.Valid", jqSecond(jqNames), valid},
	{"jq-first", "flights.json", "json.Valid", jqFirst(jqLate), valid},
	{"jq-second", "flights.json", "json.Valid", jqSecond(jqLate), valid},
	{"jq-first", "webhooks-10MB.json", "jq-cli", jqFirst(jqNames), jqCLI(jqNames)},
	{"jq-second", "webhooks-10MB.json", "jq-cli", jqSecond(jqNames), jqCLI(jqNames)},
	{"jq-first", "flights-10MB.json", "jq-cli", jqFirst(jqLate), jqCLI(jqLate)},
	{"jq-second", "flights-10MB.json", "jq-cli", jqSecond(jqLate), jqCLI(jqLate)},
	{"jq-second-few", "flights-10MB.json", "jq-cli", jqSecond(jqFew), jqCLI(jqFew)},
	{"jq-second-group", "flights-10MB.json", "jq-cli", jqSecond(jqGroup), jqCLI(jqGroup)},
	{"jq-second-object", "flights-10MB.json", "jq-cli", jqSecond(jqObject), jqCLI(jqObject)},
	{"jq-second-top", "flights-10MB.json", "jq-cli", jqSecond(jqTop), jqCLI(jqTop)},
	{"jq-second-entries", "webhooks-10MB.json", "jq-cli", jqSecond(jqEntries), jqCLI(jqEntries)},
	{"jq-second-update", "flights-10MB.json", "jq-cli", jqSecond(jqUpdate), jqCLI(jqUpdate)},
	{"project-5", "webhooks.json", "byte-loop", project("name", "description", "actions", "examples.action", "examples.sender.login"), byteLoop},
	{"project-5", "flights.json", "byte-loop", project("date", "delay", "distance", "origin", "destination"), byteLoop},
	{"project-5", "webhooks-10MB.json", "byte-loop", project("name", "description", "actions", "examples.action", "examples.sender.login"), byteLoop},
	{"project-5", "flights-10MB.json", "byte-loop", project("date", "delay", "distance", "origin", "destination"), byteLoop},
	{"project-5", "gotest.jsonl", "byte-loop", project("Time", "Action", "Package", "Test", "Output"), byteLoop},
	{"project-5", "zipcodes.csv", "byte-loop", project("zip_code", "latitude", "city", "state", "county"), byteLoop},
	{"project-2", "flights-10MB.json", "byte-loop", project("delay", "origin"), byteLoop},
	{"exclude-2", "webhooks-10MB.json", "byte-loop", stage(&pipeline.Project{Exclude: []string{"description", "examples.sender"}}), byteLoop},
	{"exclude-2", "flights-10MB.json", "byte-loop", stage(&pipeline.Project{Exclude: []string{"date", "distance"}}), byteLoop},
	{"outline", "webhooks.json", "json.Valid", stage(&pipeline.Outline{}), valid},
	{"outline", "stripe.json", "json.Valid", stage(&pipeline.Outline{}), valid},
	{"outline", "flights.json", "json.Valid", stage(&pipeline.Outline{}), valid},
	{"outline", "ec2.d.ts", "byte-loop", stage(&pipeline.Outline{}), byteLoop},
	{"outline", "zipcodes.csv", "byte-loop", stage(&pipeline.Outline{}), byteLoop},
	{"regex-literal", "ec2.d.ts", "bytes.Count", regex("SecurityGroupRule"), countWord("SecurityGroupRule")},
	{"regex-required", "ec2.d.ts", "regexp", regex(requiredPattern), stdRegexp(requiredPattern)},
	{"regex-fold", "ec2.d.ts", "regexp", regex("(?i)subnetid"), stdRegexp("(?i)subnetid")},
	{"regex-unfiltered", "zipcodes.csv", "regexp", regex(`\d{5},-?\d+\.\d+`), stdRegexp(`\d{5},-?\d+\.\d+`)},
	{"regex-one-line", "stripe.json", "regexp", regex(`\bpayment_method_\w*\b`), stdRegexp(`\bpayment_method_\w*\b`)},
	{"regex-one-line-literal", "ec2.d.ts-10MB-line", "regexp", regex("SubnetIds"), stdRegexp("SubnetIds")},
	{"regex-one-line-fold", "ec2.d.ts-10MB-line", "regexp", regex("(?i)subnetids"), stdRegexp("(?i)subnetids")},
	{"regex-one-line-any", "ec2.d.ts-10MB-line", "regexp", regex(anyPattern), stdRegexp(anyPattern)},
	{"regex-one-line-required", "ec2.d.ts-10MB-line", "regexp", regex(requiredPattern), stdRegexp(requiredPattern)},
	{"bm25-index", "ec2.d.ts", "map-of-words", bm25Index, countWords},
	{"bm25-index", "zipcodes.csv", "map-of-words", bm25Index, countWords},
	{"bm25-index", "webhooks-10MB.json", "map-of-words", bm25Index, countWords},
	{"bm25-index", "ec2.d.ts", "byte-loop", bm25Index, byteLoop},
	{"bm25-query", "ec2.d.ts", "bytes.Count", bm25Query("delete a subnet route table"), countWord("subnet")},
	{"fuzzy", "ec2.d.ts", "levenshtein", fuzzy("SecurtyGruop"), editDistances("SecurtyGruop")},
	{"fuzzy", "zipcodes.csv", "levenshtein", fuzzy("San Fransisco"), editDistances("San Fransisco")},
}

// Programs that look at every record, but for jqFew. The last has no fast form
// and runs in gojq.
const (
	jqNames   = "[.[] | select(.examples|length > 5) | .name]"
	jqLate    = "[.[] | select(.delay > 60) | .origin]"
	jqFew     = ".[60000:60010] | map(.origin)"
	jqGroup   = "group_by(.origin) | map({origin: .[0].origin, n: length, delay: (map(.delay) | add / length)}) | sort_by(-.n)[:10]"
	jqObject  = `map(select(.distance > 2000 and (.destination | startswith("S"))) | {from: .origin, to: .destination, "late": (.delay > 15)})`
	jqTop     = "sort_by(.delay) | reverse | .[:5] | map({date, delay})"
	jqEntries = `map(.examples[0] // {} | to_entries | map(select(.value | type == "object") | .key)) | add | unique`
	jqUpdate  = ".[:20000] | map(.delay |= . + 1) | map(.delay) | add"
)

const (
	requiredPattern = `\b\w+GroupRuleIds\b`
	anyPattern      = "SubnetIds|RouteTableId|VpcPeering|NitroEnclave"
)

// BenchmarkEngine reports the ratio to the yardstick as x-yardstick. Bytes are
// those of the file, also where only an index of it is read.
func BenchmarkEngine(b *testing.B) {
	for _, e := range engines {
		b.Run("engine="+e.name+"/file="+e.file+"/yardstick="+e.yardstick, func(b *testing.B) {
			data, err := openFile(e.file)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := exec.LookPath("jq"); err != nil && e.yardstick == "jq-cli" {
				b.Skip(err)
			}
			run, err := e.setup(pipeline.Recognise(data, nil))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			turns(b, "x-yardstick", run, func() error { return e.base(data) })
		})
	}
}

// TestEngines runs each engine and each yardstick once.
func TestEngines(t *testing.T) {
	for _, e := range engines {
		t.Run("engine="+e.name+"/file="+e.file, func(t *testing.T) {
			data, err := openFile(e.file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := exec.LookPath("jq"); err != nil && e.yardstick == "jq-cli" {
				t.Skip(err)
			}
			run, err := e.setup(pipeline.Recognise(data, nil))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(run(), e.base(data)); err != nil {
				t.Error(err)
			}
		})
	}
}

var errNothing = errors.New("nothing found")

func recognise(doc pipeline.Value) (func() error, error) {
	return func() error {
		if v := pipeline.Recognise(doc.Data, nil); v.Kind != doc.Kind {
			return errNothing
		}
		return nil
	}, nil
}

// stage runs s on the document as on one that was never seen before.
func stage(s pipeline.Stage) func(pipeline.Value) (func() error, error) {
	return func(doc pipeline.Value) (func() error, error) {
		return func() error {
			v, err := s.Apply(context.Background(), doc)
			if err == nil && len(v.Data) == 0 {
				err = errNothing
			}
			return err
		}, nil
	}
}

func project(fields ...string) func(pipeline.Value) (func() error, error) {
	return stage(&pipeline.Project{Fields: fields})
}

// jqFirst is a query on a document that the worker does not have; the worker
// runs.
func jqFirst(program string) func(pipeline.Value) (func() error, error) {
	return stage(&pipeline.JQ{Program: program, Pool: workers(), Agent: "first"})
}

// jqSecond is a query on a document whose tree the worker keeps.
func jqSecond(program string) func(pipeline.Value) (func() error, error) {
	return func(doc pipeline.Value) (func() error, error) {
		doc.Key = fmt.Sprintf("%p", doc.Data)
		return stage(&pipeline.JQ{Program: program, Pool: workers(), Agent: "second"})(doc)
	}
}

// workers is the pool of all benchmarks.
var workers = sync.OnceValue(func() *jqpool.Pool {
	return jqpool.NewPool(jqpool.Options{Command: func() (*exec.Cmd, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(self)
		cmd.Env = []string{roleVar + "=" + roleJQ, "GORACE=atexit_sleep_ms=0"}
		return cmd, nil
	}})
})

// scratch is a folder that ends with the process.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "rlmproxy-bench") })

// jqCLI is the jq command reading the document from a file.
func jqCLI(program string) func([]byte) error {
	return func(data []byte) error {
		path, err := exec.LookPath("jq")
		if err != nil {
			return err
		}
		dir, err := scratch()
		if err != nil {
			return err
		}
		file := filepath.Join(dir, fmt.Sprintf("%p.json", data))
		if _, err := os.Stat(file); err != nil {
			if err := os.WriteFile(file, data, 0o600); err != nil {
				return err
			}
		}
		return exec.Command(path, "-c", program, file).Run()
	}
}

// openFile is a file of the corpus, or one of 10 MB made of it: with -10MB.json
// the items of its array, with -10MB-line all of it as one line, again and again.
func openFile(name string) ([]byte, error) {
	name, line := strings.CutSuffix(name, "-10MB-line")
	name, array := strings.CutSuffix(name, "-10MB.json")
	if array {
		name += ".json"
	}
	if !line && !array {
		return corpus.Open(name)
	}
	key := fmt.Sprint(name, line)
	tenMB.Lock()
	defer tenMB.Unlock()
	if data := tenMB.files[key]; data != nil {
		return data, nil
	}
	data, err := corpus.Open(name)
	if err != nil {
		return nil, err
	}
	if line {
		data = bytes.ReplaceAll(data, []byte{'\n'}, []byte{' '})
		data = bytes.Repeat(data, 10_000_000/len(data)+1)
		tenMB.files[key] = data
		return data, nil
	}
	items := bytes.Trim(data, " \n[]")
	out := []byte("[")
	for len(out) < 10_000_000 {
		out = append(append(out, items...), ',')
	}
	out[len(out)-1] = ']'
	tenMB.files[key] = out
	return out, nil
}

var tenMB = struct {
	sync.Mutex
	files map[string][]byte
}{files: map[string][]byte{}}

func regex(pattern string) func(pipeline.Value) (func() error, error) {
	return func(doc pipeline.Value) (func() error, error) {
		return func() error {
			m, err := search.Regex(context.Background(), doc.Data, pattern, search.RegexOptions{})
			if err == nil && m.Total == 0 {
				err = errNothing
			}
			return err
		}, nil
	}
}

func bm25Index(doc pipeline.Value) (func() error, error) {
	return func() error {
		_, err := search.NewIndex(context.Background(), doc.Data, search.Passages(doc.Data))
		return err
	}, nil
}

func bm25Query(query string) func(pipeline.Value) (func() error, error) {
	return func(doc pipeline.Value) (func() error, error) {
		ix, err := search.NewIndex(context.Background(), doc.Data, search.Passages(doc.Data))
		return func() error {
			if len(ix.Search(query, 5)) == 0 {
				return errNothing
			}
			return nil
		}, err
	}
}

func fuzzy(query string) func(pipeline.Value) (func() error, error) {
	return func(doc pipeline.Value) (func() error, error) {
		return func() error {
			hits, _, err := search.Fuzzy(context.Background(), doc.Data, query, search.FuzzyOptions{})
			if err == nil && len(hits) == 0 {
				err = errNothing
			}
			return err
		}, nil
	}
}

func valid(data []byte) error {
	if !json.Valid(data) {
		return errNothing
	}
	return nil
}

// byteLoop counts newlines and commas outside of strings: the least that a
// reader of CSV or JSON does with each byte.
func byteLoop(data []byte) error {
	n, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case ',', '\n':
			if !quoted {
				n++
			}
		}
	}
	if n == 0 {
		return errNothing
	}
	return nil
}

func countWord(word string) func([]byte) error {
	return func(data []byte) error {
		if bytes.Count(data, []byte(word)) == 0 {
			return errNothing
		}
		return nil
	}
}

func stdRegexp(pattern string) func([]byte) error {
	re := regexp.MustCompile(pattern)
	return func(data []byte) error {
		if len(re.FindAllIndex(data, -1)) == 0 {
			return errNothing
		}
		return nil
	}
}

func countWords(data []byte) error {
	words := map[string]int{}
	for word := range bytes.FieldsSeq(data) {
		words[string(word)]++
	}
	if len(words) == 0 {
		return errNothing
	}
	return nil
}

// editDistances compares the query with every word, as a search without an
// algorithm of its own does.
func editDistances(query string) func([]byte) error {
	return func(data []byte) error {
		best := len(query)
		for word := range bytes.FieldsFuncSeq(data, func(r rune) bool { return r <= ' ' || r == ',' || r == ';' || r == ':' }) {
			best = min(best, levenshtein.ComputeDistance(query, string(word)))
		}
		if best == len(query) {
			return errNothing
		}
		return nil
	}
}
