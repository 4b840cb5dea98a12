package rpc

import (
	"fmt"

	"rlmproxy/middleware/guard"
)

// requestBytes is what a request takes beside its message: a goroutine, mostly.
const requestBytes = 4 << 10

// A backlog bounds the requests of one peer that wait for their answers: one that
// reads no answers would pile them up. It is not for use by several goroutines.
type backlog struct {
	most     int            // requests
	account  *guard.Account // of their bytes
	requests int
}

// add counts a request of size bytes, or says why there is no room for it.
func (b *backlog) add(size int64) error {
	if b.requests >= b.most {
		return &guard.BusyError{Text: fmt.Sprintf("more than %d requests wait for their answers", b.most)}
	}
	if err := b.account.Take(size + requestBytes); err != nil {
		return err
	}
	b.requests++
	return nil
}

// done takes a request out that add has counted.
func (b *backlog) done(size int64) {
	b.requests--
	b.account.Give(size + requestBytes)
}
