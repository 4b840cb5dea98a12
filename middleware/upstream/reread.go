package upstream

import "time"

// A server that registers its tools one by one tells of each: its lists are read
// again a moment after the first, and no more than listReads times in listPause.
const (
	settleTime = 50 * time.Millisecond
	listReads  = 5
	listPause  = 5 * time.Second
)

// A rereading says when the lists of a server are to be read again. The zero value
// is that of lists that have just been read. It is for one goroutine.
type rereading struct {
	due   <-chan time.Time     // nil: nothing has changed, or they are being read
	runs  bool                 // they are being read
	again bool                 // they have changed meanwhile
	ended [listReads]time.Time // when they were last read, the oldest first
}

// stale notes that they have changed.
func (r *rereading) stale() {
	switch {
	case r.runs:
		r.again = true
	case r.due == nil:
		r.due = time.After(max(settleTime, listPause-time.Since(r.ended[0])))
	}
}

// begin notes that they are being read, as due has said.
func (r *rereading) begin() { r.due, r.runs = nil, true }

// end notes that they have been read.
func (r *rereading) end() {
	copy(r.ended[:], r.ended[1:])
	r.ended[listReads-1] = time.Now()
	r.runs = false
	if r.again {
		r.again = false
		r.stale()
	}
}
