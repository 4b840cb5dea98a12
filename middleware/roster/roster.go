// Package roster keeps in the store of a fleet which sessions there are, so that each
// replica can go on with a session that another has begun.
//
//	initialize ─► Save ─► Find, at another replica ─► Change, Touch ─► End, or nobody's use
//
// A record has what the client has said of itself, its level and its subscriptions. The
// store knows neither the id of a session nor what the session asks and is answered. Records
// of another format have other keys: they are neither read nor written.
package roster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
)

// Bounds on a record: a client that subscribes to more is subscribed at one replica only.
const (
	maxFields    = 1100      // 1000 subscriptions are the default limit of an agent
	maxBytes     = 1 << 20   // of URIs
	maxHandshake = 128 << 10 // of what is taken from a record, whoever wrote it
)

// maxOfSubject bounds the records of one subject, in bytes: some 60,000 usual sessions. Those
// that were not used for longest go first; a replica that has such a session writes its
// record again.
const maxOfSubject = 64 << 20

// format names the form of records, in their keys.
const format = "session1"

// A Key stands for a session, among replicas and in the store. Nobody gets the id from it.
type Key string

// KeyOf is the key of a session's id. It is "" for what no replica gives as an id.
func KeyOf(id string) Key {
	if len(id) < 16 || len(id) > 64 || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return ""
	}
	sum := sha256.Sum256([]byte("rlmproxy session\n" + id))
	return Key(hex.EncodeToString(sum[:]))
}

// A Record is what all replicas know of a session.
type Record struct {
	Subject       string // of whoever began it, or ""
	Handshake     json.RawMessage
	Level         string   // of log messages, or ""
	Subscriptions []string // URIs, as the client has named them
	Listener      string   // the replica that the client listens at, or ""
}

// Members of a record in the store. Those with a colon are followed by a name.
const (
	fieldSubject   = "subject"
	fieldHandshake = "handshake"
	fieldLevel     = "level"
	fieldListener  = "listener"
	fieldWatch     = "watch:" // a URI
	fieldToken     = "token:" // a replica at which a token that may be revoked was shown
	fieldBytes     = "bytes"  // of the names of members
	fieldIndex     = "index"  // the key of the records of its subject, by when they were used
	fieldEnded     = "ended"  // with no other but index: the session is over, and is not to be begun again
)

// A State is what became of a change.
type State int

const (
	Ended   State = 0  // the session is over
	Kept    State = 1  // the record has it
	Full    State = 2  // there is no room for it in the record
	Missing State = -1 // there is no record: the store has lost it, or it has expired
	Last    State = 3  // of Revoke: no token is left that was shown
)

// A Roster has the records of a fleet. It is safe for concurrent use. Its methods ask the
// store once. Their errors are those of [fleet.Store.Run].
type Roster struct {
	store *fleet.Store
	life  time.Duration
	most  int // maxOfSubject
}

// New returns a roster. Records are there for life after they were last touched or changed.
func New(store *fleet.Store, life time.Duration) *Roster { return &Roster{store, life, maxOfSubject} }

func (r *Roster) key(k Key) string { return r.store.Key(format, string(k)) }

// Save writes a record, unless the session is over. Shown says that a token which may be
// revoked was shown for it at this replica.
func (r *Roster) Save(ctx context.Context, k Key, rec Record, shown bool) (State, error) {
	bytes, n := 0, 0
	args := []any{r.most, r.life.Milliseconds(), fieldSubject, rec.Subject, fieldHandshake, []byte(rec.Handshake), fieldLevel, rec.Level, fieldListener, rec.Listener}
	add := func(field string) {
		if n++; n < maxFields-10 && bytes+len(field) <= maxBytes {
			bytes += len(field)
			args = append(args, field, "1")
		}
	}
	if shown {
		add(fieldToken + r.store.Replica())
	}
	for _, uri := range rec.Subscriptions {
		add(fieldWatch + uri)
	}
	sum := sha256.Sum256([]byte(rec.Subject))
	index := r.store.Key(format, "of", hex.EncodeToString(sum[:]))
	return r.run(ctx, saveScript, k, append(args, fieldBytes, bytes, fieldIndex, index)...)
}

// keep is what scripts share. All keys are in one slot.
const keep = `
-- drop takes a record out of what is counted for its subject.
local function drop(index, key)
	if redis.call('ZREM', index, key) == 0 then return end
	redis.call('HINCRBY', index .. ':sizes', 'all', -(redis.call('HGET', index .. ':sizes', key) or 0))
	redis.call('HDEL', index .. ':sizes', key)
end
-- keep has a record last, counts it, and makes room for it.
local function keep(key, life, most)
	redis.call('PEXPIRE', key, life)
	local index = redis.call('HGET', key, 'index')
	if not index then return end
	local t = redis.call('TIME')
	local now = t[1] * 1000 + math.floor(t[2] / 1000)
	local size = 1000 + #(redis.call('HGET', key, 'handshake') or '') + 2 * (redis.call('HGET', key, 'bytes') or 0)
	drop(index, key)
	redis.call('ZADD', index, now, key)
	redis.call('HSET', index .. ':sizes', key, size)
	redis.call('HINCRBY', index .. ':sizes', 'all', size)
	for _, old in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', now - life, 'LIMIT', 0, 100)) do drop(index, old) end
	while tonumber(redis.call('HGET', index .. ':sizes', 'all')) > tonumber(most) do
		local oldest = redis.call('ZRANGE', index, 0, 0)[1]
		if not oldest or oldest == key then break end
		drop(index, oldest)
		redis.call('DEL', oldest)
	end
	redis.call('PEXPIRE', index, life)
	redis.call('PEXPIRE', index .. ':sizes', life)
end
`

var saveScript = redis.NewScript(keep + `
if redis.call('HEXISTS', KEYS[1], 'ended') == 1 then return 0 end
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
keep(KEYS[1], ARGV[2], ARGV[1])
return 1`)

// Find returns a record, nil if there is none, the session is over, or nobody can read it.
func (r *Roster) Find(ctx context.Context, k Key) (*Record, error) {
	var fields map[string]string
	err := r.store.Run(ctx, func(ctx context.Context, c redis.Cmdable) (err error) {
		fields, err = c.HGetAll(ctx, r.key(k)).Result()
		return err
	})
	handshake := fields[fieldHandshake]
	if err != nil || fields[fieldEnded] != "" || len(handshake) > maxHandshake || !strings.HasPrefix(handshake, "{") || !json.Valid([]byte(handshake)) {
		return nil, err
	}
	rec := &Record{Subject: fields[fieldSubject], Handshake: json.RawMessage(handshake), Level: fields[fieldLevel], Listener: fields[fieldListener]}
	for field := range fields {
		if uri, ok := strings.CutPrefix(field, fieldWatch); ok && len(rec.Subscriptions) < maxFields {
			rec.Subscriptions = append(rec.Subscriptions, uri)
		}
	}
	return rec, nil
}

// Touch has a record last.
func (r *Roster) Touch(ctx context.Context, k Key) (State, error) {
	return r.change(ctx, k, "touch", "", "")
}

// SetLevel notes the level of a session.
func (r *Roster) SetLevel(ctx context.Context, k Key, level string) (State, error) {
	return r.change(ctx, k, "set", fieldLevel, level)
}

// Subscribe notes a subscription.
func (r *Roster) Subscribe(ctx context.Context, k Key, uri string) (State, error) {
	return r.change(ctx, k, "set", fieldWatch+uri, "1")
}

// Unsubscribe notes the end of one.
func (r *Roster) Unsubscribe(ctx context.Context, k Key, uri string) (State, error) {
	return r.change(ctx, k, "del", fieldWatch+uri, "")
}

// Listen notes that the client listens at this replica.
func (r *Roster) Listen(ctx context.Context, k Key) (State, error) {
	return r.change(ctx, k, "set", fieldListener, r.store.Replica())
}

// Show notes that a token which may be revoked was shown for the session at this replica.
func (r *Roster) Show(ctx context.Context, k Key) (State, error) {
	return r.change(ctx, k, "set", fieldToken+r.store.Replica(), "1")
}

// Revoke notes that no token is good any more of those that were shown at this replica. It
// is Last where none was shown at another.
func (r *Roster) Revoke(ctx context.Context, k Key) (State, error) {
	return r.change(ctx, k, "revoke", fieldToken+r.store.Replica(), "")
}

func (r *Roster) change(ctx context.Context, k Key, what, field, value string) (State, error) {
	return r.run(ctx, changeScript, k, r.life.Milliseconds(), what, field, value, maxFields, maxBytes, r.most)
}

var changeScript = redis.NewScript(keep + `
local life, what, field, value = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
if redis.call('HEXISTS', KEYS[1], 'ended') == 1 then return 0 end
if what == 'set' then
	if redis.call('HEXISTS', KEYS[1], field) == 0 then
		local bytes = tonumber(redis.call('HGET', KEYS[1], 'bytes') or 0)
		if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[5]) or bytes + #field > tonumber(ARGV[6]) then return 2 end
		redis.call('HINCRBY', KEYS[1], 'bytes', #field)
	end
	redis.call('HSET', KEYS[1], field, value)
elseif what == 'del' then
	if redis.call('HDEL', KEYS[1], field) == 1 then redis.call('HINCRBY', KEYS[1], 'bytes', -#field) end
elseif what == 'revoke' then
	redis.call('HDEL', KEYS[1], field)
	local left = false
	for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do left = left or string.sub(name, 1, 6) == 'token:' end
	if not left then return 3 end
end
keep(KEYS[1], life, ARGV[7])
return 1`)

// End ends a session for all replicas. First reports whether nobody has before: whoever is
// first forgets what only the session could use. What is left of a record keeps the session
// from being written again, for as long as a record lasts.
func (r *Roster) End(ctx context.Context, k Key) (first bool, err error) {
	state, err := r.run(ctx, endScript, k, r.life.Milliseconds(), r.most)
	return state == Kept, err
}

var endScript = redis.NewScript(keep + `
local first = 1 - redis.call('HEXISTS', KEYS[1], 'ended')
local index = redis.call('HGET', KEYS[1], 'index')
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'ended', '1')
if index then redis.call('HSET', KEYS[1], 'index', index) end
keep(KEYS[1], ARGV[1], ARGV[2])
return first`)

func (r *Roster) run(ctx context.Context, script *redis.Script, k Key, args ...any) (state State, err error) {
	if k == "" {
		return Missing, errors.New("no session")
	}
	err = r.store.Run(ctx, func(ctx context.Context, c redis.Cmdable) error {
		n, err := script.Run(ctx, c, []string{r.key(k)}, args...).Int()
		state = State(n)
		return err
	})
	return state, err
}
