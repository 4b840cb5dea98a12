package cache

import "github.com/dgraph-io/ristretto/v2"

// A parcel is a record's bytes in ristretto.
type parcel struct {
	rec  *record
	data []byte
}

// moveToTier offers a new record's bytes to ristretto and, when they are
// seen to have arrived, lets the index's own hold on them go.
//
// A refused or dropped offer needs no callback: the record still holds the
// bytes. An accepted one that is thrown out later comes to handBack. Between
// the two lies the check under mu: if ristretto has the bytes then, handBack
// for them is still to come, and waits for mu.
func (s *Store) moveToTier(rec *record, data []byte) {
	defer s.calls.Done() // counted by insert
	if !s.bytes.Set(rec.seq, &parcel{rec, data}, int64(len(data))) {
		return
	}
	s.bytes.Wait()

	s.mu.Lock()
	gone := rec.gone
	if !gone {
		if p, ok := s.bytes.Get(rec.seq); ok && p.rec == rec {
			rec.data, rec.inTier = nil, true
		}
	}
	s.unlock()
	if gone {
		// It was removed while it was on its way here.
		s.bytes.Del(rec.seq)
	}
}

// handBack takes over bytes that ristretto throws out. It runs on
// ristretto's goroutine.
func (s *Store) handBack(item *ristretto.Item[*parcel]) {
	p := item.Value
	if p == nil {
		return // deleted by us, and only now struck from ristretto's books
	}
	s.mu.Lock()
	p.rec.data, p.rec.inTier = p.data, false
	s.mu.Unlock()
}

// dataOf returns a record's bytes. It reports false while they are on their
// way from ristretto to handBack. s.mu must be held.
func (s *Store) dataOf(rec *record) ([]byte, bool) {
	if !rec.inTier {
		return rec.data, true
	}
	if p, ok := s.bytes.Get(rec.seq); ok && p.rec == rec {
		return p.data, true
	}
	return nil, false
}
