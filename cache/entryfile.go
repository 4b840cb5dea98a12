package cache

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// An entry's file is three lines, of which the last is a zstd frame:
//
//	rlmproxy cache 1
//	{"agent": …}                its [head]
//	c59a…                       the head's MAC, 64 digits
//	the data, compressed
//
// The MAC says that a process with the same key wrote the head. The id in the head is a
// MAC of the data, so what a file holds is what was kept, or nothing.
const (
	fileMagic = "rlmproxy cache 1\n"
	anyMagic  = "rlmproxy cache " // of other versions too, which are left alone
)

// A head says what a file holds. Bytes are in base64: JSON would change them.
type head struct {
	Config    string        `json:"config"`
	Terms     string        `json:"terms"`
	Agent     []byte        `json:"agent"`
	ID        ID            `json:"id"`
	Server    []byte        `json:"server,omitempty"`
	Tool      []byte        `json:"tool"`
	Arguments []byte        `json:"arguments,omitempty"`
	ReadOnly  bool          `json:"readOnly,omitempty"`
	NoModel   bool          `json:"noModel,omitempty"`
	Gone      Reason        `json:"gone,omitempty"`
	TTL       time.Duration `json:"ttl"` // in which another configuration leaves it alone
	Size      int64         `json:"size"`
	Packed    int64         `json:"packed"` // the size of the frame
}

var (
	// errBroken says that a file with a name of ours is not what any process with our key wrote.
	errBroken = errors.New("the file is broken")
	// errOld says that a file was removed since its time has passed, or is of another
	// configuration.
	errOld = errors.New("not of this configuration")
)

// encode returns the two parts of a file.
func (d *dir) encode(e *stored) (top, packed []byte) {
	h := head{Config: d.Config, Terms: e.terms, Agent: e.agent[:], ID: e.id, Server: []byte(e.origin.Server), Tool: []byte(e.origin.Tool), Arguments: e.origin.Arguments,
		ReadOnly: e.origin.ReadOnly, NoModel: e.origin.NoModel, Gone: e.gone, TTL: d.ttl}
	if e.gone == "" {
		packed = d.pack.pack(e.data)
		h.Size, h.Packed = int64(len(e.data)), int64(len(packed))
	}
	line, err := json.Marshal(h)
	if err != nil {
		panic(err) // there is nothing in it that JSON has not
	}
	return fmt.Appendf(nil, "%s%s\n%x\n", fileMagic, line, d.sum(line)), packed
}

// read reads a file, with data or without. What has another configuration is removed if it
// is old.
func (d *dir) read(path string, data bool) (*stored, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // a pipe would never answer
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	h, r, err := d.readHead(f, info.Size())
	if err != nil {
		return nil, err
	}
	e := &stored{agent: agentKey(h.Agent), id: h.ID, origin: Origin{Server: string(h.Server), Tool: string(h.Tool), Arguments: h.Arguments, ReadOnly: h.ReadOnly, NoModel: h.NoModel},
		terms: h.Terms, gone: h.Gone, read: info.ModTime(), size: h.Size}
	if h.Config != d.Config {
		keep := h.TTL
		if e.gone != "" {
			keep = goneAge
		}
		if time.Since(e.read) >= keep {
			f.Close() // Windows removes no open file
			os.Remove(path)
		}
		return nil, errOld
	}
	if path != d.path(e.agent, e.id) {
		return nil, errBroken
	}
	if !data || e.gone != "" {
		return e, nil
	}
	if h.Size > d.most {
		return e, nil // the index says that it is too large
	}
	packed, err := io.ReadAll(io.LimitReader(r, h.Packed))
	if err != nil {
		return nil, err
	}
	e.data, err = d.pack.unpack(packed, h.Size)
	if err != nil || newID(d.key, e.agent, e.origin, e.data) != e.id {
		return nil, errBroken
	}
	return e, nil
}

// readHead reads the lines above the frame of a file of size bytes.
func (d *dir) readHead(f io.Reader, size int64) (h head, r *bufio.Reader, err error) {
	// Arguments are the most of the lines, and within an agent's quota. In base64 they take
	// four thirds.
	limited := &io.LimitedReader{R: f, N: 2*d.most + 64<<10}
	r = bufio.NewReader(limited)
	magic, err := r.Peek(len(fileMagic))
	switch {
	case err != nil && err != io.EOF:
		return h, nil, err
	case string(magic) != fileMagic && bytes.HasPrefix(magic, []byte(anyMagic)):
		return h, nil, errors.New("the file is of another version")
	case string(magic) != fileMagic:
		return h, nil, errBroken
	}
	r.Discard(len(fileMagic))
	line, err := r.ReadBytes('\n')
	if err != nil {
		return h, nil, broken(err)
	}
	sum, err := r.ReadBytes('\n')
	if err != nil {
		return h, nil, broken(err)
	}
	line, sum = bytes.TrimSuffix(line, []byte("\n")), bytes.TrimSuffix(sum, []byte("\n"))
	given, err := hex.DecodeString(string(sum))
	if err != nil || !d.authentic(line, given) || json.Unmarshal(line, &h) != nil || len(h.Agent) != len(agentKey{}) {
		return h, nil, errBroken
	}
	if h.Size < 0 || size != int64(len(fileMagic)+len(line)+1+len(sum)+1)+h.Packed {
		return h, nil, errBroken
	}
	limited.N = h.Packed
	return h, r, nil
}

// broken is what it means that a file ends early. Other errors are the disk's.
func broken(err error) error {
	if err == io.EOF {
		return errBroken
	}
	return err
}
