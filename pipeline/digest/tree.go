package digest

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"rlmproxy/pipeline/digest/columns"
	"rlmproxy/pipeline/show"
)

// packageEntry is a line of npm ls or cargo tree, which draw as tree does.
var packageEntry = lazy(`─┬ |── \S+(@| v)\d`)

// isTree wants what tree, ls -R and du -a print.
func isTree(s *sample) bool {
	branches := s.count(func(line []byte) bool { return branchAt(line) >= 0 })
	if s.most(s.count(packageEntry().Match), 20) {
		return false
	}
	nested := 0
	sizes := s.count(func(line []byte) bool {
		size, path := duLine(line)
		nested += btoi(bytes.IndexByte(path, '/') > 0)
		return size != nil
	})
	return branches > 2 && s.most(branches, 60) || sizes > 3 && s.most(sizes, 98) && s.most(nested, 60) || isListing(s)
}

// branchAt is where ├── or └── or |-- begins in a line of tree, in characters; -1 if it
// does not.
func branchAt(line []byte) int {
	i := 0
	for _, r := range string(head(line, 400)) {
		switch r {
		case '├', '└', '`', '+':
			return i
		case '│', ' ', '\u00a0':
		case '|':
			if hasPrefix(line[min(i, len(line)):], "|--") {
				return i
			}
		default:
			return -1
		}
		i++
	}
	return -1
}

// duLine splits "192	lib/types".
func duLine(line []byte) (size, path []byte) {
	size, path, ok := bytes.Cut(line, []byte("\t"))
	if !ok || len(size) > 20 || !columns.IsNumber(string(size)) {
		return nil, nil
	}
	return size, path
}

// isListing wants the heads of two folders that ls -R lists, each below a blank line.
func isListing(s *sample) bool {
	heads, odd := 0, 0
	for i, line := range s.lines {
		switch above := i == 0 || !notBlank(s.lines[i-1]); {
		case above && len(line) > 1 && lastByte(line) == ':' && !isIndented(line):
			heads++
		case above && notBlank(line), isIndented(line):
			odd++
		}
	}
	return heads > 1 && odd == 0 && len(s.lines) > 4 && lastByte(s.lines[0]) == ':'
}

const (
	maxFolders = 20_000
	maxNested  = 40 // folders in a path
)

// A folder has files and symbolic links, those in folders below it included.
type folder struct {
	files int
	links int
	bytes float64
	total float64 // as the text states it, or 0
	line  int
}

// A treeReader counts files by folder.
type treeReader struct {
	folders    map[string]*folder
	order      []string
	extensions tally
	sizes      bool
	files      int
	links      int
	root       string // that ls lists; what is around it is no folder of the listing
	short      bool   // ls tells names only
	last       string // the path that came last: a folder, if the next one is below it
	lastSize   float64
}

// add takes a path of line n. What is a folder shows when something is below it.
func (t *treeReader) add(n int, path string, size float64, isFolder bool) {
	path = strings.TrimPrefix(strings.TrimSuffix(path, "/"), "./")
	if path == "" || path == "." {
		return
	}
	if f := t.folders[path+"/"]; f != nil {
		f.total = size
		return
	}
	t.sizes = t.sizes || size > 0
	if t.last != "" && strings.HasPrefix(path, t.last+"/") {
		t.count(t.last, n-1, -1, -t.lastSize)
		if f := t.folder(t.last+"/", n-1); f != nil {
			f.total = t.lastSize
		}
	}
	if t.last, t.lastSize = path, size; isFolder {
		t.last = ""
		t.folder(path+"/", n)
		return
	}
	t.count(path, n, 1, size)
}

// count adds files and bytes to all folders around path.
func (t *treeReader) count(path string, n, files int, size float64) {
	t.files += files
	name := path[strings.LastIndexByte(path, '/')+1:]
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && len(name)-dot < 12 {
		t.extensions.change([]byte(name[dot:]), n, files)
	}
	for f := range t.around(path, n) {
		f.files += files
		f.bytes += size
	}
}

// around yields the folders in which path is.
func (t *treeReader) around(path string, n int) iter.Seq[*folder] {
	return func(yield func(*folder) bool) {
		nested := 0
		for i := range len(path) {
			if path[i] != '/' {
				continue
			}
			if nested++; nested > maxNested {
				return
			}
			if i+1 < len(t.root) {
				continue
			}
			if f := t.folder(path[:i+1], n); f != nil && !yield(f) {
				return
			}
		}
	}
}

func (t *treeReader) folder(name string, n int) *folder {
	f := t.folders[name]
	if f == nil && len(t.order) < maxFolders {
		f = &folder{line: n}
		t.folders[name] = f
		t.order = append(t.order, name)
	}
	return f
}

// readTree follows what tree, ls -R and du -a print.
func readTree(d *Digest, r *reader) {
	t := &treeReader{folders: map[string]*folder{}}
	s := newSample(r.data)
	listing, branches := isListing(s), s.count(func(line []byte) bool { return branchAt(line) >= 0 }) > 2
	var names []string // of the folders around a line of tree
	var widths []int   // where they begin
	at := ""           // the folder that ls lists
	blank := true
	for n, line := range r.lines {
		line = head(line, 2000)
		switch {
		case listing:
			if !notBlank(line) {
				blank = true
				continue
			}
			if blank && lastByte(line) == ':' {
				at = strings.TrimSuffix(string(line[:len(line)-1]), "/") + "/"
				if t.root == "" || !strings.HasPrefix(at, t.root) {
					t.root = at
				} else if t.short { // it was listed as if it were a file
					t.count(at[:len(at)-1], n, -1, 0)
				}
				t.folder(at, n)
			} else {
				t.listed(n, at, line)
			}
			blank = false
		case branches:
			column := branchAt(line)
			if column < 0 {
				if contains(line, " director") && isDigit(line[0]) {
					d.addWords("%s", line)
				} else if notBlank(line) { // where it begins
					names, widths = []string{string(bytes.TrimSpace(line))}, []int{-1}
				}
				continue
			}
			for len(widths) > 0 && widths[len(widths)-1] >= column {
				names, widths = names[:len(names)-1], widths[:len(widths)-1]
			}
			name, size := treeEntry(line)
			if len(names) < maxNested {
				names, widths = append(names, strings.ReplaceAll(name, "/", "")), append(widths, column)
			}
			t.add(n, strings.Join(names, "/"), size, strings.HasSuffix(name, "/"))
		default:
			if size, path := duLine(line); size != nil {
				f, _ := columns.Number(string(size))
				t.add(n, string(path), f, false)
			}
		}
	}
	t.describe(d)
}

// listed reads a line of ls, or of ls -l, that tells of the folder at.
func (t *treeReader) listed(n int, at string, line []byte) {
	text := string(line)
	switch f := strings.Fields(text); {
	case strings.HasPrefix(text, "total "):
	case len(f) < 9 || len(f[0]) < 10 || !strings.Contains("-dlbcps", f[0][:1]):
		t.short = true
		t.count(at+strings.TrimSuffix(text, "/"), n, 1, 0)
	case f[0][0] == 'l':
		t.links++
		for f := range t.around(at, n) {
			f.links++
		}
	case f[0][0] != 'd':
		size, _ := columns.Number(f[4])
		t.sizes = t.sizes || size > 0
		t.count(at+strings.Join(f[8:], " "), n, 1, size)
	}
}

// treeEntry reads what stands behind ├──: a name, and its size in brackets if tree -s or
// -h was asked for.
func treeEntry(line []byte) (name string, size float64) {
	_, text, ok := strings.Cut(string(line), "── ")
	if !ok {
		_, text, _ = strings.Cut(string(line), "-- ")
	}
	if inside, rest, ok := strings.Cut(strings.TrimLeft(text, "\u00a0"), "]  "); ok && strings.HasPrefix(inside, "[") {
		words := strings.Fields(inside[1:])
		if len(words) > 0 {
			size, _ = columns.Number(words[len(words)-1])
		}
		text = rest
	}
	name, _, _ = strings.Cut(text, " -> ")
	return strings.TrimSpace(name), size
}

// describe tells the folders with most files.
func (t *treeReader) describe(d *Digest) {
	d.Facts = append(d.Facts, filesAndLinks(t.files, t.links), show.Plural(len(t.order), "folders"))
	if len(t.extensions.order) > 0 {
		d.addWords("names end in: %s", t.extensions.top(12, ", "))
	}
	names := func(name string) int { return t.folders[name].files + t.folders[name].links }
	largest := slices.Clone(t.order)
	slices.SortStableFunc(largest, func(a, b string) int { return cmp.Compare(names(b), names(a)) })
	rank := map[string]int{}
	for i, name := range largest {
		rank[name] = i / 6
	}
	p := Part{Title: "folders, with line and files below", Share: 60, Find: "those with most files"}
	for i, name := range t.order {
		f := t.folders[name]
		if i+1 < len(t.order) && strings.HasPrefix(t.order[i+1], name) && t.folders[t.order[i+1]].files == f.files && t.folders[t.order[i+1]].links == f.links {
			continue // it has nothing but the next one
		}
		size := ""
		if bytes := max(f.bytes, f.total); t.sizes && bytes > 0 {
			size = fmt.Sprintf(", size %s", show.Count(int(min(bytes, 1e15))))
		}
		p.addf(f.line, rank[name], "%s: %s%s", show.Clip(name, 100), filesAndLinks(f.files, f.links), size)
	}
	d.Parts = append(d.Parts, p)
}

// filesAndLinks is "3 files", or "3 files, 1 link".
func filesAndLinks(files, links int) string {
	text := show.Plural(files, "files")
	if links > 0 {
		text += ", " + show.Plural(links, "links")
	}
	return text
}

// isFileList wants a path on every line, or a name with a mark as the file system
// server's list_directory has it.
func isFileList(s *sample) bool {
	slashes := 0
	n := s.count(func(line []byte) bool {
		line = bytes.TrimSpace(line)
		if hasPrefix(line, "[FILE] ") || hasPrefix(line, "[DIR] ") {
			slashes++
			return true
		}
		if len(line) < 3 || bytes.ContainsAny(line, " <>") || contains(line, "://") {
			return false
		}
		slash := bytes.IndexByte(line, '/') >= 0
		slashes += btoi(slash)
		return slash || bytes.IndexByte(line, '.') > 0
	})
	return n > 4 && s.most(n, 90) && s.most(slashes, 60)
}

// readFileList counts files by folder and by the ends of their names.
func readFileList(d *Digest, r *reader) {
	t := &treeReader{folders: map[string]*folder{}}
	for n, line := range r.lines {
		path := bytes.TrimSpace(head(line, 1000))
		if name, ok := bytes.CutPrefix(path, []byte("[DIR] ")); ok {
			t.add(n, string(name), 0, true)
		} else if name := bytes.TrimPrefix(path, []byte("[FILE] ")); len(name) > 0 {
			t.add(n, string(name), 0, lastByte(name) == '/')
		}
	}
	t.describe(d)
}
