package bench

import (
	"testing"

	"rlmproxy/middleware"
)

// TestAgain is what a result costs that the session was shown before, or nearly so: the
// second reply, beside that of a session which was not.
func TestAgain(t *testing.T) {
	for _, tt := range []struct{ about, before, after string }{
		{"the same page", "page-before-click.txt", "page-before-click.txt"},
		{"the page after a click", "page-before-click.txt", "page-after-click.txt"},
		{"the page after the next click", "page-after-click.txt", "page-after-second-click.txt"},
		{"and back", "page-after-click.txt", "page-before-click.txt"},
		{"the same table", "dpkg-list.txt", "dpkg-list.txt"},
	} {
		docs := []document{{tt.before, anyFile(t, tt.before)}, {tt.after, anyFile(t, tt.after)}}
		second := func(opts middleware.Options) reply {
			conn := dialWith(t, tool(docs), opts)
			if _, err := hear(conn, tool(docs).name(0), `{}`); err != nil {
				t.Fatal(err)
			}
			r, err := hear(conn, tool(docs).name(1), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		with, without := second(middleware.Options{}), second(middleware.Options{NoDifferences: true})
		t.Logf("%-24s inlined %6d, shown as new %5d, shown again %5d", tt.about, cost(string(docs[1].text)), cost(without.text), cost(with.text))
		if !with.cut || with.id != without.id || tt.before == tt.after && cost(with.text) > 60 {
			t.Errorf("%s: %.300s", tt.about, with.text)
		}
	}
}
