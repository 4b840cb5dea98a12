package pin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
)

// lookTime is how old what is known of a record's revision may be: who changes one tells the
// others at once, but that may be lost.
const lookTime = 2 * time.Second

// maxTold bounds the names that one message has.
const maxTold = 1000

// shared is what replicas have in common: for each record a hash with its revision and its
// JSON, and the set of their names. Records do not expire.
type shared struct {
	store *fleet.Store

	mu    sync.Mutex // guards the field below
	known map[string]revision
}

// A revision is that of a record when the store was last asked.
type revision struct {
	text string
	at   time.Time // then; zero: another replica has changed it since
}

func newShared(store *fleet.Store) *shared {
	s := &shared{store: store, known: map[string]revision{}}
	store.Handle("pins", func(_ string, body json.RawMessage) {
		var names []string
		if json.Unmarshal(body, &names) != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, name := range names {
			if k, ok := s.known[name]; ok {
				s.known[name] = revision{text: k.text}
			}
		}
	})
	return s
}

func (s *shared) where() string { return "the shared store" }
func (s *shared) at(name string) string {
	return fmt.Sprintf("the record %s of the shared store", name)
}
func (s *shared) lock() (func(), error)  { return func() {}, nil } // write compares
func (s *shared) key(name string) string { return s.store.Key("pins", name) }
func (s *shared) run(f func(ctx context.Context, c redis.Cmdable) error) error {
	return s.store.Run(s.store.Life(), f)
}

func (s *shared) names() (names []string, err error) {
	err = s.run(func(ctx context.Context, c redis.Cmdable) error {
		names, err = c.SMembers(ctx, s.store.Key("pins")).Result()
		return err
	})
	slices.Sort(names)
	return names, err
}

func (s *shared) read(name string) (data []byte, rev string, err error) {
	err = s.run(func(ctx context.Context, c redis.Cmdable) error {
		both, err := c.HMGet(ctx, s.key(name), "revision", "record").Result()
		if err == nil && len(both) == 2 {
			rev, _ = both[0].(string)
			if text, ok := both[1].(string); ok {
				data = []byte(text)
			}
		}
		return err
	})
	if err == nil {
		s.note(name, rev)
	}
	return data, rev, err
}

func (s *shared) note(name, rev string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[name] = revision{rev, time.Now()}
}

func (s *shared) revision(name string) string {
	s.mu.Lock()
	k := s.known[name]
	s.mu.Unlock()
	if time.Since(k.at) < lookTime {
		return k.text
	}
	_ = s.run(func(ctx context.Context, c redis.Cmdable) error { // while it is away, what was known stands
		text, err := c.HGet(ctx, s.key(name), "revision").Result()
		if err == nil || err == redis.Nil {
			k.text = text
		}
		return err
	})
	s.note(name, k.text)
	return k.text
}

func (s *shared) write(all []*written) (ok bool, err error) {
	rev := rand.Text()
	keys, args := []string{s.store.Key("pins")}, []any{rev}
	var names []string
	for _, w := range all {
		keys, args, names = append(keys, s.key(w.name)), append(args, w.name, w.revision, w.data), append(names, w.name)
	}
	err = s.run(func(ctx context.Context, c redis.Cmdable) error {
		ok, err = writeScript.Run(ctx, c, keys, args...).Bool()
		return err
	})
	if err != nil || !ok {
		return false, err
	}
	for some := range slices.Chunk(names, maxTold) {
		_ = s.store.Tell(s.store.Life(), "", "pins", some) // they look by themselves too
	}
	for _, w := range all {
		w.revision = rev
		s.note(w.name, rev)
	}
	return true, nil
}

// writeScript writes records, if all are of the revisions that they had when they were read.
var writeScript = redis.NewScript(`
for i = 2, #KEYS do
	if (redis.call('HGET', KEYS[i], 'revision') or '') ~= ARGV[3 * i - 3] then return 0 end
end
for i = 2, #KEYS do
	redis.call('SADD', KEYS[1], ARGV[3 * i - 4])
	redis.call('HSET', KEYS[i], 'revision', ARGV[1], 'record', ARGV[3 * i - 2])
end
return 1`)
