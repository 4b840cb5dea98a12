package judge

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
)

// A Shared shelf is in the store of a fleet: what one replica had judged, the others know. The store
// learns neither agents nor items, nor what was judged of them: keys are hashed, values sealed, with
// secrets of the fleet. How many there are is bounded by the tokens that agents have in an hour.
type Shared struct {
	store *fleet.Store
	ttl   time.Duration
}

var _ Shelf = (*Shared)(nil)

// NewShared returns the shelf of a fleet. What is put there is forgotten after ttl.
func NewShared(store *fleet.Store, ttl time.Duration) *Shared { return &Shared{store, ttl} }

const purpose = "judgements"

// at is where in the store something of an agent is, by one of the fleet's secrets.
func (s *Shared) at(secret []byte, agent, key string) string {
	return s.store.SpreadKey("judged", base64.RawURLEncoding.EncodeToString(sum(secret, key+agent))) // keys are of one length
}

// sum stands for a text in the store, which does not learn it.
func sum(secret []byte, text string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return h.Sum(nil)[:24]
}

// Get implements [Shelf]. While the store is away, it knows nothing.
func (s *Shared) Get(ctx context.Context, agent string, keys []string) map[string][]byte {
	found := map[string][]byte{}
	secrets := s.store.Keys(purpose)
	for i := len(secrets) - 1; i >= 0; i-- { // what the first one finds counts
		secret := secrets[i]
		open := fleet.Sealer(secret)
		var replies []*redis.StringCmd
		err := s.store.Run(ctx, func(ctx context.Context, c redis.Cmdable) error {
			replies = nil
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				for _, key := range keys {
					replies = append(replies, p.Get(ctx, s.at(secret, agent, key)))
				}
				return nil
			})
			return err
		})
		if err != nil && err != redis.Nil {
			return found
		}
		for at, reply := range replies {
			sealed, err := reply.Bytes()
			if err != nil {
				continue
			}
			if text, err := open.Open(nil, nil, sealed, []byte(keys[at]+agent)); err == nil {
				found[keys[at]] = text
			}
		}
	}
	return found
}

// Put implements [Shelf]. It does not end with the question: what it keeps is paid for.
func (s *Shared) Put(agent string, values map[string][]byte) {
	secret := s.store.Keys(purpose)[0]
	seal := fleet.Sealer(secret)
	_ = s.store.Run(s.store.Life(), func(ctx context.Context, c redis.Cmdable) error {
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for key, value := range values {
				p.Set(ctx, s.at(secret, agent, key), seal.Seal(nil, nil, value, []byte(key+agent)), s.ttl)
			}
			return nil
		})
		return err
	}) // a store that is away says so itself
}
