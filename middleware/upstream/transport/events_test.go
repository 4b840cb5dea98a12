package transport

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"
)

func TestEventReader(t *testing.T) {
	const in = "\xef\xbb\xbf: hello\nevent: message\ndata: {\"a\":\ndata:1}\nid: 7\n\ndata:\n\ndata: 2\r\n\r\n" +
		"id: 8\nretry: 2500\ndata: \n\n" + // primes, and says nothing
		"data: 3\rdata\rdata:4\r\r" +
		"retry: soon\nid: a\x00b\nevent:x\ndata: 5\n\n" +
		"id: 9\ndata: cut"
	for _, tt := range []struct {
		name string
		r    io.Reader
	}{
		{"whole", strings.NewReader(in)},
		{"byte by byte", iotest.OneByteReader(strings.NewReader(in))},
		{"halves", iotest.HalfReader(strings.NewReader(in))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newEventReader(tt.r, 100)
			for _, want := range []struct {
				name, data, id string
				retry          time.Duration
			}{
				{"message", "{\"a\":\n1}", "7", 0},
				{"", "2", "7", 0},
				{"", "3\n\n4", "8", 2500 * time.Millisecond},
				{"x", "5", "8", 2500 * time.Millisecond},
			} {
				ev, err := r.next()
				if err != nil || ev.name != want.name || string(ev.data) != want.data || r.lastID != want.id || r.retry != want.retry {
					t.Errorf("%+v (%s), id %q, retry %v, %v, want %+v", ev, ev.data, r.lastID, r.retry, err, want)
				}
			}
			if ev, err := r.next(); err != io.EOF || r.lastID != "8" {
				t.Errorf("an event that is cut off: %q, id %q, %v", ev.data, r.lastID, err)
			}
		})
	}
}

// TestEventsTooLong: what is too long fails by itself, and what follows is read.
func TestEventsTooLong(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	for name, in := range map[string]string{
		"one line":   "id: 1\ndata: " + long + "\nid: 2\n\n",
		"many lines": strings.Repeat("data: "+long[:20]+"\n", 100) + "id: 2\n\n",
		"no data":    "event: " + long + "\nid: 2\n\n",
	} {
		r := newEventReader(strings.NewReader(in+"data: next\n\n"), 1000)
		var tooLong *tooLongError
		if ev, err := r.next(); !errors.As(err, &tooLong) {
			t.Errorf("%s: %.20q, %v", name, ev.data, err)
		}
		if ev, err := r.next(); err != nil || string(ev.data) != "next" || r.lastID != "2" {
			t.Errorf("%s: the next one: %.20q, id %q, %v", name, ev.data, r.lastID, err)
		}
	}
	// Comments between events do not add up to one.
	r := newEventReader(strings.NewReader(strings.Repeat(": still here\n", 1000)+"data: 1\n\n"), 100)
	if ev, err := r.next(); err != nil || string(ev.data) != "1" {
		t.Errorf("behind comments: %q, %v", ev.data, err)
	}
}

// TestEventsAreExact: long data has no room behind it, and takes its turn once.
func TestEventsAreExact(t *testing.T) {
	long := strings.Repeat("x", 9<<20)
	r := newEventReader(strings.NewReader("data: small\n\ndata: "+long+"\n\n"), 10<<20)
	turns := 0
	r.large = func() error { turns++; return nil }
	if ev, err := r.next(); err != nil || turns != 0 {
		t.Errorf("%q, %v, %d turns", ev.data, err, turns)
	}
	ev, err := r.next()
	if err != nil || string(ev.data) != long || turns != 1 {
		t.Fatalf("%d bytes, %v, %d turns", len(ev.data), err, turns)
	}
	if cap(ev.data) > len(long)+len(long)/8 {
		t.Errorf("%d bytes in %d", len(long), cap(ev.data))
	}
}

// slowEvents is the same by the book: the whole text at once, line by line.
func slowEvents(in string) (events []string, lastID string) {
	in = strings.TrimPrefix(in, "\xef\xbb\xbf")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	var data []string
	id := ""
	for {
		line, rest, whole := strings.Cut(in, "\n")
		if !whole {
			return events, lastID
		}
		in = rest
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			lastID = id
			if all := strings.Join(data, "\n"); strings.TrimSpace(all) != "" {
				events = append(events, all)
			}
			data = nil
		case field == "data":
			data = append(data, value)
		case field == "id" && !strings.Contains(value, "\x00"):
			id = value
		}
	}
}

func checkEvents(t interface{ Fatalf(string, ...any) }, in string, r io.Reader) {
	want, wantID := slowEvents(in)
	events := newEventReader(r, 1<<20)
	var got []string
	for {
		ev, err := events.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		got = append(got, string(ev.data))
	}
	if strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) || events.lastID != wantID {
		t.Fatalf("%q: %q, id %q, want %q, id %q", in, got, events.lastID, want, wantID)
	}
}

// TestEventsMarkInPieces: a byte order mark that came in pieces hid the first line.
func TestEventsMarkInPieces(t *testing.T) {
	const in = "\xef\xbb\xbfdata: 1\n\n"
	checkEvents(t, in, strings.NewReader(in))
	checkEvents(t, in, iotest.OneByteReader(strings.NewReader(in)))
}

func TestEventsBySlowReader(t *testing.T) {
	parts := []string{"data: 1", "data:", "data", "data:  {}", ":", ": data: 3", "id: 1", "id", "id: \x00", "event: e", "retry: 1", "x", " data: 2", "\n", "\r", "\r\n", "\n\n", "\xef\xbb\xbf"}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(rapid.SampledFrom(parts)).Draw(t, "parts"), "")
		checkEvents(t, in, strings.NewReader(in))
		checkEvents(t, in, iotest.OneByteReader(strings.NewReader(in)))
	})
}

func FuzzEvents(f *testing.F) {
	f.Add("data: 1\r\ndata: 2\n\nid: 3\r\r")
	f.Fuzz(func(t *testing.T, in string) {
		// White space is trimmed by another definition of it.
		if len(in) < 4096 && strings.IndexFunc(in, func(r rune) bool { return r > 126 }) < 0 {
			checkEvents(t, in, strings.NewReader(in))
		}
	})
}
