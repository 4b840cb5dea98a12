package pin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"rlmproxy/fleet"
	"rlmproxy/private"
)

// An Identity is who a server is: its name in the configuration, and what it runs, a
// command with its arguments or a URL. That may hold secrets, so of it only a hash is
// kept.
type Identity struct {
	Name string
	Runs []string
}

// Short tells servers of one name apart.
func (i Identity) Short() string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{i.Name}, i.Runs...), "\x00")))
	return hex.EncodeToString(sum[:8])
}

// A Store is the pins of all servers: a folder that only its owner can read, with a file
// for each, or what replicas share.
type Store struct {
	shelf    shelf
	copies   *folder // of what replicas share; nil: the folder is the shelf
	readOnly bool
	flags    string // that our commands need to find the shelf

	mu     sync.Mutex // guards the field below
	served []string   // the records of servers that run here
}

// Open opens the folder pins of a state folder, which it makes unless readOnly is set:
// then nothing is ever written, and what is not pinned counts as seen for the first time.
// Flags are what the commands in hints need to find it, or "".
func Open(dir, flags string, readOnly bool) (*Store, error) {
	f := &folder{filepath.Join(dir, "pins")}
	return &Store{shelf: f, readOnly: readOnly, flags: flags}, private.Open(f.dir, "could change the pins", readOnly)
}

// OpenShared opens the pins that replicas share, in a store. Those in the folder of Open, of
// which this machine has seen the servers, are taken over where the store has none of a server. From then on
// it has copies, for when the store is away or has lost its data.
func OpenShared(store *fleet.Store, dir, flags string, readOnly bool) (*Store, error) {
	f := &folder{filepath.Join(dir, "pins")}
	s := &Store{shelf: newShared(store), copies: f, readOnly: readOnly, flags: flags}
	if err := private.Open(f.dir, "could change the pins", readOnly); err != nil {
		return nil, err
	}
	store.OnBack(s.restore)
	return s, nil
}

// Where is where the pins are, for people.
func (s *Store) Where() string { return s.shelf.where() }

// prefix begins the names of the records of all servers of a name, and of others that only
// differ in what file names do not have.
func prefix(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-') {
			return r
		}
		return '_'
	}, name)
	return clean[:min(40, len(clean))] + "."
}

func recordName(id Identity) string { return prefix(id.Name) + id.Short() }

// ours is load for a server that runs here. Of one that the shared store does not have, that
// is the copy, to be written there.
func (s *Store) ours(name string) (*Record, error) {
	data, revision, err := s.shelf.read(name)
	if err != nil {
		return nil, err
	}
	at, changed := s.shelf.at(name), false
	if s.copies != nil && data == nil {
		if data, _, err = s.copies.read(name); err != nil {
			return nil, err
		}
		at, changed = s.copies.at(name), data != nil
	}
	r, err := parse(data, at)
	if err != nil {
		return nil, err
	}
	r.name, r.revision, r.changed = name, revision, changed
	if !changed {
		s.copy(name, data)
	}
	return r, nil
}

// copy keeps a copy of a record that replicas share, of a server that runs here. Without one,
// more is held back while the store is away.
func (s *Store) copy(name string, data []byte) {
	if s.copies == nil || s.readOnly || data == nil {
		return
	}
	if old, _, err := s.copies.read(name); err == nil && !bytes.Equal(old, data) {
		_ = private.Replace(s.copies.at(name), data)
	}
}

// last is the copy of a record, or an empty one.
func (s *Store) last(name string) *Record {
	data, _, err := s.copies.read(name)
	if err == nil {
		if r, err := parse(data, ""); err == nil {
			return r
		}
	}
	return &Record{Tools: map[string]*Tool{}}
}

func (s *Store) serves(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.served, name)
}

// restore gives a store that has lost its data the records of the servers that run here.
func (s *Store) restore() {
	s.mu.Lock()
	names := slices.Clone(s.served)
	s.mu.Unlock()
	for _, name := range names {
		if r, err := s.ours(name); err == nil && r.changed && !s.readOnly {
			if data, err := r.encode(); err == nil {
				_, _ = s.shelf.write([]*written{{name, r.revision, data}}) // or another replica has
			}
		}
	}
}

// load reads a record, empty if there is none.
func (s *Store) load(name string) (*Record, error) {
	data, revision, err := s.shelf.read(name)
	if err != nil {
		return nil, err
	}
	r, err := parse(data, s.shelf.at(name))
	if err != nil {
		return nil, err
	}
	r.name, r.revision = name, revision
	return r, nil
}

// change has f change records until nobody else has meanwhile, and writes them. F may be
// called again, after others have.
func (s *Store) change(f func() ([]*Record, error)) error {
	unlock, err := s.shelf.lock()
	if err != nil {
		return err
	}
	defer unlock()
	const most = 100 // each time, another one was faster
	for range most {
		records, err := f()
		if err != nil {
			return err
		}
		var all []*written
		var changed []*Record
		for _, r := range records {
			if !r.changed {
				continue
			}
			data, err := r.encode()
			if err != nil {
				return err
			}
			if r.gone && s.copies == nil {
				data = nil
			}
			all, changed = append(all, &written{r.name, r.revision, data}), append(changed, r)
		}
		if all == nil {
			return nil
		}
		ok, err := s.shelf.write(all)
		if err != nil {
			return err
		}
		if ok {
			for i, w := range all {
				changed[i].revision = w.revision
				if s.serves(w.name) {
					s.copy(w.name, w.data)
				}
			}
			return nil
		}
	}
	return errors.New("others change the pins all the time: try again")
}

// hasOther reports whether a server of this name that runs something else has pins.
func (s *Store) hasOther(id Identity) bool {
	all, _ := s.shelf.names()
	for _, name := range all {
		if strings.HasPrefix(name, prefix(id.Name)) && name != recordName(id) {
			if r, err := s.load(name); err == nil && r.Server == id.Name && len(r.Tools) > 0 {
				return true
			}
		}
	}
	return false
}

// Records are those of all servers, by name, with an error that names those that cannot be
// read.
func (s *Store) Records() ([]*Record, error) {
	names, err := s.shelf.names()
	if err != nil {
		return nil, err
	}
	var all []*Record
	var bad []error
	for _, name := range names {
		switch r, err := s.load(name); {
		case errors.As(err, new(*fleet.AwayError)):
			return nil, err
		case err != nil:
			bad = append(bad, err)
		case len(r.Tools) > 0: // else they were forgotten
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b *Record) int { return strings.Compare(a.Server, b.Server) })
	return all, errors.Join(bad...)
}

// Update has f change records, and writes those that it changed, unless somebody else has
// changed one meanwhile: then f is called again with what is there. Records that cannot be
// read are only told of where f fails.
func (s *Store) Update(f func(all []*Record) error) error {
	return s.change(func() ([]*Record, error) {
		all, unreadable := s.Records()
		if all == nil && errors.As(unreadable, new(*fleet.AwayError)) {
			return nil, unreadable
		}
		if err := f(all); err != nil {
			return nil, errors.Join(err, unreadable)
		}
		return all, nil
	})
}

// Forget removes the pins of all servers of a name, those that cannot be read as well, and
// returns how many there were. Replicas share that they were forgotten: none takes its copy for
// what the store has lost.
func (s *Store) Forget(server string) (n int, err error) {
	err = s.change(func() (gone []*Record, err error) {
		names, err := s.shelf.names()
		if err != nil {
			return nil, err
		}
		n = 0
		for _, name := range names {
			if !strings.HasPrefix(name, prefix(server)) {
				continue
			}
			data, revision, err := s.shelf.read(name)
			if errors.As(err, new(*fleet.AwayError)) {
				return nil, err
			}
			if err == nil {
				if r, err := parse(data, ""); data == nil || err == nil && (r.Server != server || len(r.Tools) == 0) {
					continue
				}
			}
			gone = append(gone, &Record{Version: version, Server: server, Tools: map[string]*Tool{}, name: name, revision: revision, changed: true, gone: true})
		}
		n = len(gone)
		return gone, nil
	})
	if err == nil && s.copies != nil {
		for _, r := range s.copiesOf(server) {
			_ = os.Remove(s.copies.at(r))
		}
	}
	return n, err
}

// copiesOf are the names of copies of the records of a server, those that cannot be read as well.
func (s *Store) copiesOf(server string) []string {
	all, _ := s.copies.names()
	return slices.DeleteFunc(all, func(name string) bool {
		if !strings.HasPrefix(name, prefix(server)) {
			return true
		}
		data, _, err := s.copies.read(name)
		if err != nil {
			return false
		}
		r, err := parse(data, "")
		return err == nil && r.Server != server
	})
}

// Command is a command of ours, ready to paste into a shell.
func (s *Store) Command(sub, target string) string {
	return "rlmproxy trust " + sub + s.flags + " " + Quoted(target)
}

// plain reports whether a shell takes text as it is.
func plain(text string) bool {
	return text != "" && text[0] != '-' && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./@:+,", r))
	})
}

// Quoted is text as one word of a shell's line.
func Quoted(text string) string {
	if plain(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
