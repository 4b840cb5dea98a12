package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Lock is what one of all replicas has for a time. A replica that is lost keeps it from the
// others for no longer than that.
type Lock struct {
	store      *Store
	key, token string
}

// Lock takes the lock of a key, one of [Store.Key], for a time. It is nil where somebody has it.
func (s *Store) Lock(ctx context.Context, key string, life time.Duration) (*Lock, error) {
	l := &Lock{s, key, rand.Text()}
	err := s.Run(ctx, func(ctx context.Context, c redis.Cmdable) error {
		return c.SetArgs(ctx, key, l.token, redis.SetArgs{Mode: "NX", TTL: life}).Err()
	})
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return l, nil
}

// Extend has the lock for so long from now on, unless it has ended.
func (l *Lock) Extend(ctx context.Context, life time.Duration) error {
	return l.run(ctx, extendScript, life.Milliseconds())
}

// Unlock gives the lock back, unless it has ended: then it may be another replica's.
func (l *Lock) Unlock(ctx context.Context) error { return l.run(ctx, unlockScript, 0) }

func (l *Lock) run(ctx context.Context, script *redis.Script, millis int64) error {
	return l.store.Run(ctx, func(ctx context.Context, c redis.Cmdable) error {
		return script.Run(ctx, c, []string{l.key}, l.token, millis).Err()
	})
}

var (
	extendScript = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`)
	unlockScript = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 0`)
)
