package columns

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		names    string // separated by |, empty for no table
		row      string // the last line
	}{
		{"kubectl", "NAME    READY   STATUS\na-1     1/1     Running\nb-22    1/1     Running\nc-333   0/1     Error\n", "NAME|READY|STATUS", "c-333|0/1|Error"},
		{"a name of two words", "Filesystem   Size Use% Mounted on\n/dev/sda1    9.8G  16% /\ntmpfs         24G   0% /dev/shm\n/dev/sdb1     90G 100% /mnt/data\n", "Filesystem|Size|Use%|Mounted on", "/dev/sdb1|90G|100%|/mnt/data"},
		{"ls -l", "total 8\n-rw-r--r-- 1 ann staff    12 Nov  2 10:00 a b\ndrwxr-xr-x 2 bob staff  4096 Nov 12  2024 c\n-rw-r--r-- 1 ann staff     7 Nov 12 09:01 d\n-rw-r--r-- 1 ann staff 12345 Nov 12 09:01 e f\n", "mode|links|owner|group|size|time|name", "-rw-r--r--|1|ann|staff|12345|Nov 12 09:01|e f"},
		{"ps, wide cells", "USER       PID  RSS COMMAND\nann          1    2 init a\nann         22 3333333 x\nann          3    4 y z\nann          5    4 y z\n", "USER|PID|RSS|COMMAND", "ann|5|4|y z"},
		{"two words above one", "NAME    NOMINATED NODE   GATES   PORTS   UP\na-1     <none>           <none>          1\nb-22    <none>           <none>          2\nc-333   <none>           <none>          3\n", "NAME|NOMINATED NODE|GATES|PORTS|UP", "c-333|<none>|<none>||3"},
		{"a rule", "name     version   place\n-------- --------- ------\na        1.0       here\nb        2.0       there\nc        3.0       x y\n", "name|version|place", "c|3.0|x y"},
		{"empty cells", "ID    PORTS   NAMES\na1    80      x\nb2            y\nc3    90      z\nd4            w\n", "ID|PORTS|NAMES", "d4||w"},
		{"more than ASCII", "ID    TEXT    N\na1    ééé…    1\nb2    ü       2\nc3    日本    3\nd4    w       4\n", "ID|TEXT|N", "d4|w|4"},
		{"prose", "It was the best of times,\nit was the worst of times,\nit was the age of wisdom,\nit was the age of foolishness,\n", "", ""},
		{"fields of a struct", "\tName   string // as listed\n\tSize   int    // bytes\n\tMode   int    // bits\n\tOwner  string // name\n", "", ""},
		{"source in columns", "Name   string // as listed\nSize   int    // bytes\nMode   int    // bits\nOwner  string // name\n", "", ""},
		{"options of a command", "  -a, --all     show all\n  -b, --brief   show less\n  -c, --count   count\n  -d, --deep    go on\n", "", ""},
		{"one line", "NAME READY STATUS\n", "", ""}, {"nothing", "", "", ""},
	} {
		table := Find([]byte(tt.in))
		if table == nil {
			if tt.names != "" {
				t.Errorf("%s: no table", tt.name)
			}
			continue
		}
		lines := strings.Split(strings.TrimRight(tt.in, "\n"), "\n")
		cells, ok := table.Cells([]byte(lines[len(lines)-1]))
		if d := cmp.Diff([]string{tt.names, tt.row}, []string{strings.Join(table.Names, "|"), strings.Join(cells, "|")}); d != "" || !ok {
			t.Errorf("%s: %v %s", tt.name, ok, d)
		}
	}
}

func TestNumber(t *testing.T) {
	for in, want := range map[string]float64{"12": 12, "4.5%": 4.5, "1K": 1024, "1.5M": 1.5 * (1 << 20), "2GiB": 2 << 30, "-3": -3} {
		if got, ok := Number(in); !ok || got != want {
			t.Errorf("%s: %v, %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "B", "K", "-", "1.2.3", "0x1F", "1e5", "12d", "1/1", "Inf", "nan"} {
		if got, ok := Number(in); ok {
			t.Errorf("%s: %v", in, got)
		}
	}
}

// FuzzCells: a row has as many cells as there are columns, and loses nothing but blanks.
func FuzzCells(f *testing.F) {
	f.Add("A   B   C\n1   2   3\n4   5   6\n7   8   9\n", "1 2 3 é\xff 99999999")
	f.Fuzz(func(t *testing.T, text, row string) {
		table := Find([]byte(text))
		if table == nil {
			return
		}
		cells, _ := table.Cells([]byte(row))
		if len(cells) != len(table.Names) {
			t.Fatalf("%d cells of %d columns", len(cells), len(table.Names))
		}
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := bare(strings.Join(cells, " ")); got != bare(row) {
			t.Fatalf("%q of %q", got, row)
		}
	})
}
