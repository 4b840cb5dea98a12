package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"rlmproxy/pipeline"
	jqpool "rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/worker"
	"rlmproxy/search"
)

// A setup prepares an engine for a document. What it returns is measured.
type setup func(doc pipeline.Value) (run func() error, err error)

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
func stage(s pipeline.Stage) setup {
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

func project(fields ...string) setup { return stage(&pipeline.Project{Fields: fields}) }
func exclude(fields ...string) setup { return stage(&pipeline.Project{Exclude: fields}) }

var outline = stage(&pipeline.Outline{})

// previewTokens is what the preview of a result may take, with the defaults.
const previewTokens = 1000

// preview is of a result that was just received: nothing of it is known but
// what it finds out itself.
func preview(doc pipeline.Value) (func() error, error) {
	return func() error {
		if text, _ := pipeline.Preview(pipeline.Recognise(doc.Data, memo()), previewTokens); len(text) == 0 {
			return errNothing
		}
		return nil
	}, nil
}

// memo keeps all that is derived from a document, for one user at a time.
func memo() pipeline.Memo {
	known := map[string]any{}
	return func(key string, build func() (any, int64, error)) (any, error) {
		if value, ok := known[key]; ok {
			return value, nil
		}
		value, _, err := build()
		if err == nil {
			known[key] = value
		}
		return value, err
	}
}

// jqFirst is a query on a document that the worker does not have; the worker
// runs.
func jqFirst(program string) setup {
	return stage(&pipeline.JQ{Program: program, Pool: workers(), Agent: "first"})
}

// jqSecond is a query on a document whose tree the worker keeps, and the proxy
// what it derived from it.
func jqSecond(program string) setup {
	return func(doc pipeline.Value) (func() error, error) {
		doc.Key, doc.Memo = fmt.Sprintf("%p", doc.Data), memo()
		return stage(&pipeline.JQ{Program: program, Pool: workers(), Agent: "second"})(doc)
	}
}

// workers is the pool of all benchmarks.
var workers = sync.OnceValue(func() *jqpool.Pool {
	return jqpool.NewPool(worker.Options{Command: workerOf(roleJQ)})
})

// workerOf is the command of a worker process.
func workerOf(role string) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(self)
		cmd.Env = []string{roleVar + "=" + role, "GORACE=atexit_sleep_ms=0"}
		return cmd, nil
	}
}

func regex(pattern string) setup {
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

func bm25Query(query string) setup {
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

func fuzzy(query string) setup {
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

// around is a search with the unit of text around each of 20 matches, on a
// document that was never searched before.
func around(pattern, unit string) setup {
	return stage(&pipeline.Search{Mode: "context", Pattern: pattern, ContextType: unit})
}
