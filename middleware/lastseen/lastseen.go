// Package lastseen keeps what servers offered when they were last seen, so that the next
// start offers it at once.
//
//	a start ─► File.Last ─► upstream.Options.Kept
//	a server that has connected ─► File.Keep ─► a moment later, with others ─► the file
//
// There is a file for each configuration, in the state folder, which only its owner can
// read. A server's entry counts as long as all that it is started with is the same, of
// which the file has only a hash: commands, variables and headers may hold secrets. What
// cannot be read is as if it were not there.
package lastseen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/upstream"
	"rlmproxy/private"
)

const (
	version = 1
	// writeDelay is how long a change waits for others.
	writeDelay = time.Second
	// vainTime is how long a server has to say what it offers. Of one that has not, and
	// never has before, the file notes that it was waited for in vain.
	vainTime = 3 * time.Second

	maxBytes = 64 << 20 // of a file
	maxFiles = 200      // of the folder; those that were not used for the longest time go
)

// Hash is a short name for a configuration or a server.
func Hash(parts ...any) string {
	data, _ := json.Marshal(parts) // strings, and lists and maps of them, encode
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// A File is that of one configuration. Of a nil one nothing is known, and nothing is kept.
type File struct {
	dir, path string
	log       *slog.Logger
	begun     time.Time
	vain      *time.Timer // writes what was in vain; nil: nothing is written

	writing sync.Mutex // held while the file is written; before mu

	mu     sync.Mutex                 // guards the fields below
	last   map[string]json.RawMessage // by server: what the file had at the start
	now    map[string]json.RawMessage // and what it offers now; nil: nobody has heard of it
	timer  *time.Timer                // to the next time that the file is written, or nil
	closed bool
}

// Open reads the file of a configuration, named by its hash, in a state folder. One that
// is only read is never written.
func Open(folder, configuration string, readOnly bool, log *slog.Logger) (*File, error) {
	f := &File{dir: filepath.Join(folder, "lists"), log: log, begun: time.Now(), now: map[string]json.RawMessage{}}
	f.path = filepath.Join(f.dir, configuration+".json")
	err := private.Open(f.dir, "could change which tools agents see", readOnly)
	if err != nil {
		return nil, err
	}
	if f.last, err = read(f.path); err != nil {
		log.Warn("the file of the servers' last known tools cannot be used: lists of tools wait until servers have connected", "error", err)
	}
	if !readOnly {
		_ = os.Chtimes(f.path, f.begun, f.begun) // it is in use; that it is not there yet is no matter
		f.vain = time.AfterFunc(vainTime, f.write)
	}
	return f, nil
}

// read returns what a file has, by server. One that is not there has nothing.
func read(path string) (map[string]json.RawMessage, error) {
	data, err := private.Read(path, maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var known struct {
		Version int
		Servers map[string]json.RawMessage
	}
	if err := json.Unmarshal(data, &known); err != nil {
		return nil, fmt.Errorf("%s is not in rlmproxy's format: %w", path, err)
	}
	if known.Version != version {
		return nil, fmt.Errorf("%s is not in this rlmproxy's format: version %d", path, known.Version)
	}
	return known.Servers, nil
}

// Last returns what a server, named by its hash, offered when it was last seen. Its Info is
// nil if that is not known; and it was waited for in vain if vain is set.
func (f *File) Last(server string) (o upstream.Offers, vain bool) {
	if f == nil {
		return o, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now[server] = nil
	raw, ok := f.last[server]
	if !ok {
		return o, false
	}
	o, err := upstream.DecodeOffers(raw)
	if err != nil {
		f.log.Warn("a server's last known tools cannot be used", "file", f.path, "error", err)
		delete(f.last, server)
		return upstream.Offers{}, false
	}
	return o, o.Info == nil
}

// Keep notes what a server offers now.
func (f *File) Keep(server string, o upstream.Offers) {
	if f == nil || f.vain == nil || o.Info == nil {
		return
	}
	raw := o.Encode()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now[server] = raw
	if f.timer == nil && !f.closed {
		f.timer = time.AfterFunc(writeDelay, f.write)
	}
}

// Close writes what has not been written yet.
func (f *File) Close() {
	if f == nil || f.vain == nil {
		return
	}
	f.vain.Stop()
	f.write()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.timer != nil {
		f.timer.Stop()
	}
}

// write writes the file if something has changed: what this proxy has seen, and of the
// servers that it has not seen what the file has by now.
func (f *File) write() {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.mu.Lock()
	now := maps.Clone(f.now)
	f.timer = nil
	f.mu.Unlock()
	if err := f.merge(now); err != nil {
		f.log.Warn("what servers offer cannot be kept for the next start", "error", err)
	}
}

func (f *File) merge(now map[string]json.RawMessage) error {
	unlock, err := private.LockFolder(f.dir)
	if err != nil {
		return err
	}
	defer unlock()
	old, _ := read(f.path) // one that is not ours was told of
	servers, changed := []byte{'{'}, len(old) == 0
	for _, server := range slices.Sorted(maps.Keys(now)) {
		raw := now[server]
		if raw == nil {
			raw = old[server]
		}
		if raw == nil && time.Since(f.begun) >= vainTime {
			raw = json.RawMessage("{}")
		}
		if raw == nil || len(servers)+len(raw) > maxBytes-1000 {
			continue
		}
		changed = changed || string(raw) != string(old[server])
		delete(old, server)
		servers = jsonscan.AppendMember(servers, server, raw)
	}
	if len(servers) == 1 || !changed && len(old) == 0 {
		return nil
	}
	data := fmt.Appendf(nil, `{"version":%d,"servers":%s}`+"\n", version, append(servers, '}'))
	if err := private.Replace(f.path, data); err != nil {
		return err
	}
	return f.sweep()
}

// sweep removes the files that were not used for the longest time, and what a proxy that
// was killed had begun to write.
func (f *File) sweep() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil || len(entries) <= maxFiles {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Name() != "lock" {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, info := range files[min(maxFiles, len(files)):] {
		if err := os.Remove(filepath.Join(f.dir, info.Name())); err != nil {
			return err
		}
	}
	return nil
}
