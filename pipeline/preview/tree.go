package preview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
)

const (
	// A folder deeper than maxTreeDepth is a file to a tree, and one with more
	// than maxFolders before it is counted and not told.
	maxTreeDepth = 12
	maxFolders   = 2000
	// A tree is read once for each level, so larger documents are not.
	maxTreeBytes = 8 << 20

	// A tree has minEntries files and folders.
	minEntries = 20

	// Of the files in a folder the names of filesBytes are told.
	filesBytes = 100
	// Of all files maxEndings endings are counted.
	maxEndings = 8
)

// A tree is a document of folders in folders, each an object with a name and an
// array of such objects.
type tree struct {
	name, kids, size string // keys
	folders          []*folder
	endings          map[string]int
	tick             doc.Ticker
}

// A folder counts what is below it.
type folder struct {
	name           string
	depth          int
	files, folders int
	size           float64
	own            string // names of the first files in it
	ownMore        int
}

// newTree finds the keys of a tree among those of root, or is nil: a field with an
// array of objects that have the same field and a name.
func newTree(root *schema.Node) (t *tree) {
	root.Walk(nil, func(at doc.Path, node, parent *schema.Node) bool {
		if t != nil || len(at) > 4 {
			return false
		}
		last := at[len(at)-1]
		if last.Kind != doc.StepKey || node.Items == nil || node.Items.ByName[last.Key] == nil || node.Items.ByName[last.Key].Node.Items == nil {
			return true
		}
		for _, name := range []string{"name", "path", "label", "title"} {
			a, b := parent.ByName[name], node.Items.ByName[name]
			if a == nil || b == nil || !b.Node.IsText() {
				continue
			}
			t = &tree{name: name, kids: last.Key, endings: map[string]int{}}
			for _, f := range node.Items.Fields {
				if (f.Name == "size" || f.Name == "bytes") && f.Node.Numbers.N > 0 {
					t.size = f.Name
				}
			}
			return false
		}
		return true
	})
	return t
}

// read reads value, which is in a folder.
func (t *tree) read(value []byte, in *folder, depth int) {
	if t.tick.ErrFor(len(value)) != nil {
		return // whoever asked has gone
	}
	switch jsonscan.Kind(value) {
	case '[':
		for _, e := range jsonscan.Items(value) {
			t.read(e, in, depth)
		}
	case '{':
		var name, kids, size []byte
		for key, v := range jsonscan.Fields(value) {
			switch string(key[1 : len(key)-1]) {
			case t.name:
				name = v
			case t.kids:
				kids = v
			case t.size:
				size = v
			}
		}
		switch {
		case jsonscan.Kind(kids) == '[' && jsonscan.Kind(name) == '"' && depth < maxTreeDepth:
			f := &folder{name: show.Clip(show.Printable(jsonscan.Unquote(name)), 100), depth: depth}
			if len(t.folders) < maxFolders {
				t.folders = append(t.folders, f)
			}
			t.read(kids, f, depth+1)
			in.files, in.folders, in.size = in.files+f.files, in.folders+f.folders+1, in.size+f.size
		case jsonscan.Kind(name) == '"':
			t.file(in, jsonscan.Unquote(name), size)
		case depth < 2: // what is around the tree
			for _, v := range jsonscan.Fields(value) {
				if jsonscan.IsContainer(v) {
					t.read(v, in, depth+1)
				}
			}
		}
	}
}

func (t *tree) file(in *folder, name string, size []byte) {
	in.files++
	if n, err := strconv.ParseFloat(string(size), 64); err == nil && n < 1e15 {
		in.size += n
	}
	ending := ""
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		ending = show.Clip(show.Printable(name[i:]), 12)
	}
	if t.endings[ending] > 0 || len(t.endings) < 1000 {
		t.endings[ending]++
	}
	if name = show.Clip(show.Printable(name), 60); len(in.own)+len(name) > filesBytes {
		in.ownMore++
		return
	}
	in.own += " " + name
}

// treeShare is what folders may have of the room, in percent.
const treeShare = 40

// tree tells the folders of v, the upper ones first, if it is made of them.
func (s *layout) tree(ctx context.Context, v doc.Value, root *schema.Node) bool {
	if v.Kind != doc.JSON || len(v.Data) > maxTreeBytes {
		return false
	}
	t := newTree(root)
	if t == nil {
		return false
	}
	t.tick.Ctx = ctx
	var all folder
	t.read(v.Data, &all, 0)
	if all.files+all.folders < minEntries || len(t.folders) == 0 {
		return false
	}
	byDepth := make([]int, len(t.folders))
	for i := range byDepth {
		byDepth[i] = i
	}
	s.note(fmt.Sprintf("a tree: %s, nested under %s; %s", all.counts(t.size), show.Quote(t.kids), t.kinds()), 0)
	slices.SortStableFunc(byDepth, func(a, b int) int { return t.folders[a].depth - t.folders[b].depth })
	lines, share := map[int]string{}, s.left*treeShare/100
	for _, i := range byDepth {
		f := t.folders[i]
		line := strings.Repeat("  ", max(f.depth-t.folders[0].depth, 0)) + strings.TrimSuffix(f.name, "/") + "/ " + f.counts(t.size) + f.list()
		if share -= lineTokens(line); share < 0 {
			break
		}
		lines[i] = line
	}
	if all.own != "" {
		s.note("at the top"+all.list(), 0)
	}
	for i := range t.folders {
		if line, ok := lines[i]; ok {
			s.note(line, 0)
		}
	}
	if more := all.folders - len(lines); more > 0 {
		s.note("… "+show.Plural(more, "more folders"), 0)
	}
	return true
}

// list names the files in f itself, as many as fit a line.
func (f *folder) list() (out string) {
	if f.own != "" {
		out = ":" + f.own
	}
	if f.ownMore > 0 {
		out += fmt.Sprintf(" …+%d", f.ownMore)
	}
	return out
}

// counts is "12 files in 3 folders, 4,567 bytes".
func (f *folder) counts(size string) string {
	out := show.Plural(f.files, "files")
	if f.folders > 0 {
		out += " in " + show.Plural(f.folders, "folders")
	}
	if size != "" {
		out += ", " + show.Count(int(f.size)) + " bytes"
	}
	return out
}

// kinds counts the endings of the files' names, the most frequent first.
func (t *tree) kinds() string {
	list := slices.SortedFunc(maps.Keys(t.endings), func(a, b string) int {
		return cmp.Or(t.endings[b]-t.endings[a], cmp.Compare(a, b))
	})
	out := ""
	for _, e := range list[:min(len(list), maxEndings)] {
		out += fmt.Sprintf(" %s ×%s", cmp.Or(e, "no ending"), show.Count(t.endings[e]))
	}
	if len(list) > maxEndings {
		out += " …"
	}
	return strings.TrimSpace(out)
}
