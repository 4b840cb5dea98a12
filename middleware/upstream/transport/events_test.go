package transport

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestEventReader(t *testing.T) {
	const in = "\xef\xbb\xbf: hello\nevent: message\ndata: {\"a\":\ndata:1}\nid: 7\n\ndata:\n\ndata: 2\r\n\r\n" +
		"id: 8\nretry: 2500\ndata: \n\n" + // primes, and says nothing
		"data: 3\ndata\ndata:4\n\n" +
		"retry: soon\nevent:x\ndata: 5\n\n" +
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
		"many lines": strings.Repeat("data: "+long[:2000]+"\n", 100) + "id: 2\n\n",
		"no data":    "event: " + long + "\nid: 2\n\n",
	} {
		r := newEventReader(strings.NewReader(in+"data: next\n\n"), 1000)
		var tooLong *tooLongError
		if ev, err := r.next(); !errors.As(err, &tooLong) {
			t.Errorf("%s: %.20q, %v", name, ev.data, err)
		}
		if ev, err := r.next(); err != nil || string(ev.data) != "next" || r.skipping {
			t.Errorf("%s: the next one: %.20q, id %q, %v", name, ev.data, r.lastID, err)
		}
	}
	// Comments between events do not add up to one.
	r := newEventReader(strings.NewReader(strings.Repeat(": still here\n", 1000)+"data: 1\n\n"), 100)
	if ev, err := r.next(); err != nil || string(ev.data) != "1" {
		t.Errorf("behind comments: %q, %v", ev.data, err)
	}
}

// TestLongEvent: long data has no room behind it, and takes its turn once.
func TestLongEvent(t *testing.T) {
	long := strings.Repeat("x", 9<<20)
	r := newEventReader(strings.NewReader("data: small\n\ndata: "+long+"\n\n"), 10<<20)
	turns := 0
	r.in.large = func() error { turns++; return nil }
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
