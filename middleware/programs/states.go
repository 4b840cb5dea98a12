// Package programs keeps what programs of an agent have as state, from one to the next: in
// memory, or in the store that replicas share.
package programs

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
)

const (
	// ttl is how long a state is kept that no program uses.
	ttl = 24 * time.Hour
	// maxStates bounds the states in memory, of 256 KiB at most: the one that was used least
	// lately goes.
	maxStates = 256

	purpose = "states of programs"
)

// States are what programs have kept, by agent. The zero value is not ready: see [New].
type States struct {
	fleet *fleet.Store // nil: memory has them

	mu   sync.Mutex // guards the fields below
	kept map[string]kept
}

type kept struct {
	state   State
	version Version
	used    time.Time
}

// A State is what programs of an agent have kept.
type State struct {
	Value json.RawMessage `json:"value"` // an object; nil: there is none
	// NoModel says that some of it is made of what no sub-model may read.
	NoModel bool `json:"no_model,omitempty"`
}

// New returns States in memory, or with a fleet in its store, where each is sealed.
func New(shared *fleet.Store) *States { return &States{fleet: shared, kept: map[string]kept{}} }

// A Version tells a state from a later one.
type Version string

// Get returns the state of an agent and its version. The error is that of the store.
func (s *States) Get(ctx context.Context, agent string) (State, Version, error) {
	if s.fleet != nil {
		return s.shared(ctx, agent)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.kept[agent]
	if !ok || time.Since(one.used) > ttl {
		delete(s.kept, agent)
		return State{}, "", nil
	}
	one.used = time.Now()
	s.kept[agent] = one
	return one.state, one.version, nil
}

// Put replaces the state of this version. It reports false, and changes nothing, if it is
// another one by now.
func (s *States) Put(ctx context.Context, agent string, was Version, state State) (bool, error) {
	if s.fleet != nil {
		value, err := json.Marshal(state)
		if err != nil {
			return false, err
		}
		key := s.fleet.Keys(purpose)[0]
		sealed := fleet.Sealer(key).Seal(nil, nil, value, []byte(agent))
		n := 0
		err = s.fleet.Run(ctx, func(ctx context.Context, c redis.Cmdable) (err error) {
			n, err = putScript.Run(ctx, c, []string{s.at(key, agent)}, string(was), sealed, ttl.Milliseconds()).Int()
			return err
		})
		return n == 1, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[agent].version != was {
		return false, nil
	}
	if _, there := s.kept[agent]; !there && len(s.kept) >= maxStates {
		oldest := ""
		for other, one := range s.kept {
			if first, ok := s.kept[oldest]; !ok || one.used.Before(first.used) {
				oldest = other
			}
		}
		delete(s.kept, oldest)
	}
	s.kept[agent] = kept{state, Version(rand.Text()), time.Now()}
	return true, nil
}

// Forget forgets the state of an agent that does not come back. That in the store of a fleet
// expires.
func (s *States) Forget(agent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, agent)
}

// putScript replaces a value that is what it was.
var putScript = redis.NewScript(`
local was = redis.call('GET', KEYS[1]) or ''
if was ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`)

// shared is Get from the store, by whichever secret of the fleet it was put.
func (s *States) shared(ctx context.Context, agent string) (state State, was Version, err error) {
	for _, key := range s.fleet.Keys(purpose) {
		var sealed []byte
		err := s.fleet.Run(ctx, func(ctx context.Context, c redis.Cmdable) (err error) {
			at := s.at(key, agent)
			if sealed, err = c.Get(ctx, at).Bytes(); err == nil {
				err = c.PExpire(ctx, at, ttl).Err()
			}
			return err
		})
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return State{}, "", err
		}
		value, err := fleet.Sealer(key).Open(nil, nil, sealed, []byte(agent))
		if err != nil || json.Unmarshal(value, &state) != nil {
			state = State{} // nobody of this fleet has put that: it is replaced
		}
		return state, Version(sealed), nil
	}
	return State{}, "", nil
}

// at is the key of an agent's state, which does not say whose it is.
func (s *States) at(secret []byte, agent string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(agent))
	return s.fleet.SpreadKey("program", hex.EncodeToString(mac.Sum(nil)[:16]))
}
