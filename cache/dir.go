package cache

import (
	"crypto/hmac"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"rlmproxy/private"
)

// A Dir is a folder that only its owner uses, in which entries are kept so that the next
// process answers for their ids, even when this one is killed. A power loss may cost the
// last ones.
//
// Several processes may use one folder. Stores of the same Config share what is there:
// each takes up what it finds at its start, and what another has kept since when it is
// asked for it. What one evicts, the others have until they end if they have read it, and
// else no more. Quotas are each process's own, so together they may keep more, until the
// next start.
type Dir struct {
	// Path of the folder, which is made if need be. Empty: there is none.
	Path string
	// Config tells the configurations apart that use the folder: agents of one name in two
	// of them are two agents.
	Config string
	// Lasts reports whether somebody can be an agent again after a restart. Entries of
	// others stay in memory. Nil: all can.
	Lasts func(agent string) bool
}

const (
	keyFile = "key"
	// tmpAge is after how long an unfinished file is taken for one whose process has ended.
	tmpAge = time.Hour
	// goneAge is how long the folder says what became of an id. That says which call
	// brings it back, in a conversation that is taken up again some days later.
	goneAge = 7 * 24 * time.Hour
)

// Names of entries tell neither agent nor id.
var (
	entryName = regexp.MustCompile(`^[a-z2-7]{32}\.entry$`)
	tmpName   = regexp.MustCompile(`^entry-[0-9]+\.tmp$`)
)

// A dir is the backing in a folder: a file for each entry, replaced as a whole. The time of
// its file is when the entry was last read.
type dir struct {
	Dir
	key  []byte
	ttl  time.Duration
	most int64 // the size of the largest entry
	log  *slog.Logger
	pack *packer
}

var _ backing = (*dir)(nil)

// openDir opens the folder of opts, and takes the key from there unless opts has one.
func openDir(opts *Options) (*dir, error) {
	d := &dir{Dir: opts.Dir, ttl: opts.TTL, most: opts.largest(), log: opts.Logger}
	if err := private.Folder(d.Path, "could change what agents read"); err != nil {
		return nil, err
	}
	info, err := os.Stat(d.Path)
	if err == nil && !owned(info) {
		err = fmt.Errorf("%s belongs to another user", d.Path)
	}
	if err != nil {
		return nil, err
	}
	if opts.Key == nil {
		if opts.Key, err = private.Key(filepath.Join(d.Path, keyFile), "could use it to forge cache IDs"); err != nil {
			return nil, err
		}
	}
	d.key = opts.Key
	d.pack, err = newPacker()
	return d, err
}

// path is where the entry of an id is.
func (d *dir) path(agent agentKey, id ID) string {
	mac := newMAC(d.key, 'f', agent)
	writeSized(mac, []byte(d.Config))
	mac.Write([]byte(id))
	return filepath.Join(d.Path, idEncoding.EncodeToString(mac.Sum(nil)[:20])+".entry")
}

// put implements [backing]. Nothing waits for the disk: what a process has written is
// there after its end.
func (d *dir) put(e *stored) error {
	top, packed := d.encode(e)
	f, err := os.CreateTemp(d.Path, "entry-*.tmp") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(top)
	if err == nil {
		_, err = f.Write(packed)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Chtimes(f.Name(), time.Time{}, e.read)
	}
	if err == nil {
		path := d.path(e.agent, e.id)
		if e.gone != "" {
			os.Remove(path) // to replace a file of new data has ext4 write them out: a millisecond
		}
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// get implements [backing]. A file that is not as put left it is removed.
func (d *dir) get(agent agentKey, id ID) (*stored, error) {
	path := d.path(agent, id)
	e, err := d.read(path, true)
	if errors.Is(err, errBroken) {
		os.Remove(path)
	}
	return e, err
}

func (d *dir) used(agent agentKey, id ID, at time.Time) {
	_ = os.Chtimes(d.path(agent, id), time.Time{}, at) // or another process has removed it
}

func (d *dir) lastUsed(agent agentKey, id ID) time.Time {
	info, err := os.Lstat(d.path(agent, id))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (d *dir) remove(agent agentKey, id ID) { _ = os.Remove(d.path(agent, id)) }

// sweep returns what is there for this configuration, without data, the longest unread
// first. It removes what is broken or old, and leaves alone what is none of ours.
func (d *dir) sweep(now time.Time) (all []*stored) {
	files, err := os.ReadDir(d.Path)
	odd, broken, first := 0, 0, ""
	if err != nil {
		d.log.Warn("cache: the folder cannot be read", "error", err)
	}
	for _, f := range files {
		path := filepath.Join(d.Path, f.Name())
		info, err := f.Info()
		if err != nil { // removed meanwhile
			continue
		}
		n := &odd
		switch {
		case !info.Mode().IsRegular():
		case f.Name() == keyFile:
			continue
		case tmpName.MatchString(f.Name()):
			if now.Sub(info.ModTime()) < tmpAge {
				continue // another process is about to finish it
			}
			os.Remove(path)
			n = &broken
		case entryName.MatchString(f.Name()):
			e, err := d.read(path, false)
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, errOld):
				continue
			case err == nil && e.gone != "" && now.Sub(e.read) >= goneAge:
				os.Remove(path)
				continue
			case err == nil:
				all = append(all, e)
				continue
			case errors.Is(err, errBroken):
				os.Remove(path)
				n = &broken
			}
		}
		*n++
		if first == "" {
			first = f.Name()
		}
	}
	if first != "" {
		d.log.Warn("cache: files in the folder are skipped", "dir", d.Path, "broken_and_removed", broken, "foreign_and_left_alone", odd, "first", first)
	}
	slices.SortFunc(all, func(a, b *stored) int { return a.read.Compare(b.read) })
	return all
}

// restore has the index go on with what is in the folder.
func (l *local) restore(d *dir) {
	l.mu.Lock()
	defer l.unlock()
	l.backing = d
	l.tombstones.forgotten = d.remove
	now := l.opts.now()
	for _, e := range d.sweep(now) {
		l.adopt(e, now)
	}
}

// sum authenticates the head of a file.
func (d *dir) sum(head []byte) []byte {
	mac := newMAC(d.key, 'h', agentKey{})
	mac.Write(head)
	return mac.Sum(nil)
}

func (d *dir) authentic(head, sum []byte) bool { return hmac.Equal(d.sum(head), sum) }
