package cache

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"strings"
	"time"
)

// An ID names an entry towards its agent: 16 characters of lower-case
// base32. The same agent, origin and content give the same id.
//
// The first 12 characters are a MAC of the entry; the last 4 are a MAC of the
// agent and those 12. So a store knows that it issued an id to this agent
// even when nothing else is left of it, and a forged id passes for a gone
// one, which tells nothing, once in a million tries.
type ID string

// An Origin is the call that produced an entry.
type Origin struct {
	Server    string // whose Tool it is; empty: of nobody in particular
	Tool      string
	Arguments json.RawMessage // must not be modified; nil for none
	// ReadOnly says that the same call changes nothing: it gets the entry back.
	ReadOnly bool
	// NoModel says that no model but the agent's own may read the entry.
	NoModel bool
	// Terms are those that counted when the call began, see [Store.SetTerms]. Empty: those
	// of now.
	Terms string
}

func (o Origin) size() int64 { return int64(len(o.Server) + len(o.Tool) + len(o.Arguments)) }

// An Entry is a cached result.
type Entry struct {
	ID     ID
	Agent  string
	Origin Origin
	Data   []byte // as received; shared, must not be modified
}

var (
	// ErrUnknown says that the id was never issued to this agent. Another
	// agent's id is no different from one that nobody has.
	ErrUnknown = errors.New("cache: unknown id")
	// ErrExpired says that the entry was not read for [Options.TTL].
	ErrExpired = errors.New("cache: entry expired")
	// ErrEvicted says that the entry made room for others, or went with its
	// agent's session.
	ErrEvicted = errors.New("cache: entry evicted")
	// ErrTooLarge says that a result is larger than a quota: no eviction
	// could make room for it.
	ErrTooLarge = errors.New("cache: result too large")
)

// A Reason says why an entry is gone.
type Reason string

const (
	Expired Reason = "expired"
	Evicted Reason = "evicted"
)

// A GoneError says that an id was issued, that its entry is gone, and how to
// get it back. It matches [ErrExpired] or [ErrEvicted].
type GoneError struct {
	ID     ID
	Reason Reason
	// TTL is how long an expired entry had not been read, [Options.TTL]. Zero unless Reason
	// is Expired.
	TTL time.Duration
	// Origin is the call that it came from. Tool is empty when the tombstone is gone
	// too; Arguments are nil when they were over 2 KiB.
	Origin Origin
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("cache: entry %s %s", e.ID, e.Reason)
}

// Is reports whether target is the sentinel of e's reason.
func (e *GoneError) Is(target error) bool {
	return target == ErrExpired && e.Reason == Expired ||
		target == ErrEvicted && e.Reason == Evicted
}

// An agentKey stands for an agent's name, which may be long: the store keeps
// results by this, and logs only this.
type agentKey [sha256.Size]byte

func keyOf(agent string) agentKey { return sha256.Sum256([]byte(agent)) }

func (k agentKey) String() string { return fmt.Sprintf("%x", k[:4]) }

const (
	idLen   = 16
	bodyLen = 12 // of idLen; 60 bits. The rest is the tag
)

const idLetters = "abcdefghijklmnopqrstuvwxyz234567"

var idEncoding = base32.NewEncoding(idLetters).WithPadding(base32.NoPadding)

// Possible reports whether id has the form of ours, whether or not it was ever issued.
func (id ID) Possible() bool {
	return len(id) == idLen && strings.Trim(string(id), idLetters) == ""
}

// newID computes the id of an entry. It costs a SHA-256 over data.
func newID(key []byte, agent agentKey, origin Origin, data []byte) ID {
	mac := newMAC(key, 'e', agent)
	writeSized(mac, []byte(origin.Tool))
	writeSized(mac, origin.Arguments)
	writeSized(mac, data)
	body := idEncoding.EncodeToString(mac.Sum(nil))[:bodyLen]
	return ID(body + tag(key, agent, body))
}

func tag(key []byte, agent agentKey, body string) string {
	mac := newMAC(key, 't', agent)
	mac.Write([]byte(body))
	return idEncoding.EncodeToString(mac.Sum(nil))[:idLen-bodyLen]
}

// newMAC starts a MAC for one purpose, so that an entry's never serves as a tag.
func newMAC(key []byte, purpose byte, agent agentKey) hash.Hash {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte{purpose})
	mac.Write(agent[:])
	return mac
}

// writeSized writes b after its length: without it, bytes could move from
// the arguments to the data and give the same id.
func writeSized(h hash.Hash, b []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(b)))
	h.Write(size[:])
	h.Write(b)
}
