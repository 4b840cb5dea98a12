package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/agnivade/levenshtein"
	"github.com/itchyny/gojq"
)

// commands are the yardsticks that are programs, which may not be installed.
var commands = map[string]string{"jq-cli": "jq", "rg": "rg"}

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

// parsedEachTime is gojq in this process, the document decoded and the program
// compiled for each query.
func parsedEachTime(program string) func([]byte) error {
	return func(data []byte) error {
		var doc any
		if err := json.Unmarshal(data, &doc); err != nil {
			return err
		}
		query, err := gojq.Parse(program)
		if err != nil {
			return err
		}
		v, ok := query.Run(doc).Next()
		if err, failed := v.(error); failed {
			return err
		}
		if !ok {
			return errNothing
		}
		_, err = gojq.Marshal(v)
		return err
	}
}

// jqCLI is the jq command reading the document from a file.
func jqCLI(program string) func([]byte) error {
	return func(data []byte) error { return onFile(data, "jq", "-c", program) }
}

// ripgrep counts all matches in a file. Without Unicode its \w and \b are those
// of Go.
func ripgrep(pattern string) func([]byte) error {
	return func(data []byte) error {
		return onFile(data, "rg", "--no-config", "--no-unicode", "--text", "--count-matches", pattern)
	}
}

// scratch is a folder that ends with the process.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "rlmproxy-bench") })

// onFile runs a command on a file that holds data.
func onFile(data []byte, command string, args ...string) error {
	path, err := exec.LookPath(command)
	if err != nil {
		return err
	}
	dir, err := scratch()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, fmt.Sprintf("%p", data))
	if _, err := os.Stat(file); err != nil {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	return exec.Command(path, append(args, file)...).Run()
}
