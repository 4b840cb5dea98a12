package cache

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// partSize is what one key of the store has of an entry's data: a server that hands out
	// one serves nobody else meanwhile. With what the server adds, it takes 512 KiB there; a
	// byte more would take 640.
	partSize = 512<<10 - 1<<10
	// partsAtOnce is how many parts go to the store, or come, with one request. That is
	// bounded in time, also over a slow line.
	partsAtOnce = 2
	// keysAtOnce bounds the keys that one request names.
	keysAtOnce = 500
)

// An entry's data in the store are its sealed origin after its length, and the result,
// compressed, in parts. Each put has a generation of its own, which nobody else writes: to
// remove one never takes another's parts. The parts of a replica that ends before its entry
// is in the index expire.

// parts are the keys of a generation.
func (x *shared) parts(gen string, n int) []string {
	var keys []string
	for i := range min(n, x.maxParts()) {
		keys = append(keys, x.fleet.SpreadKey(sharedVersion, gen, strconv.Itoa(i)))
	}
	return keys
}

// maxParts is how many parts an entry may have: what does not compress grows by some bytes.
func (x *shared) maxParts() int { return int(x.maxRaw()/partSize) + 2 }

// maxRaw is how many bytes an entry may have with its head.
func (x *shared) maxRaw() int64 { return x.opts.largest() + 1<<10 }

// partLife is how long parts stay that nobody reads: over the TTL, so that the index decides.
// It hears of reads once in a part of that.
func (x *shared) partLife() time.Duration { return x.opts.TTL + x.opts.TTL/8 + time.Minute }

// upload writes data in parts, and returns their generation and number.
func (x *shared) upload(packed []byte) (gen string, n int, err error) {
	gen = rand.Text()
	n = (len(packed) + partSize - 1) / partSize
	keys := x.parts(gen, n)
	for i := 0; i < n; i += partsAtOnce {
		if x.isClosed() {
			return "", 0, ErrClosed
		}
		err := x.run(func(ctx context.Context, c redis.Cmdable) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				for j := i; j < min(i+partsAtOnce, n); j++ {
					p.Set(ctx, keys[j], packed[j*partSize:min((j+1)*partSize, len(packed))], x.partLife())
				}
				return nil
			})
			return err
		})
		if err != nil {
			return "", 0, err
		}
	}
	return gen, n, nil
}

// fetch reads the parts of an entry. The error is errNotWritten where they are not there, or
// are not those of the entry.
func (x *shared) fetch(agent agentKey, id ID, gen string, n int, raw int64) (*kept, error) {
	if n < 1 || n > x.maxParts() || raw < 0 || raw > x.maxRaw() { // the quota was larger, or this is not ours
		return nil, errNotWritten
	}
	packed := make([]byte, 0, n*partSize)
	keys := x.parts(gen, n)
	for i := 0; i < n; i += partsAtOnce {
		var some []*redis.StringCmd
		err := x.run(func(ctx context.Context, c redis.Cmdable) error {
			some = nil
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				for _, key := range keys[i:min(i+partsAtOnce, n)] {
					some = append(some, p.Get(ctx, key))
				}
				return nil
			})
			return err
		})
		if errors.Is(err, redis.Nil) {
			return nil, errNotWritten
		}
		if err != nil {
			return nil, err
		}
		for _, one := range some {
			packed = append(packed, one.Val()...)
		}
	}
	text, err := x.pack.unpack(packed, raw)
	if err != nil {
		return nil, errNotWritten
	}
	head, data, err := readSized(text)
	if err != nil {
		return nil, errNotWritten
	}
	o, rest, err := x.unsealed(agent, id, head)
	if err != nil || len(rest) > 0 {
		return nil, errNotWritten
	}
	for _, key := range x.keys() {
		if tag(key, agent, string(id[:bodyLen])) == string(id[bodyLen:]) && newID(key, agent, o, data) == id {
			return &kept{o, data}, nil
		}
	}
	return nil, errNotWritten
}

// stay has parts stay, which were read.
func (x *shared) stay(gen string, n int) {
	x.eachKey(x.parts(gen, n), func(ctx context.Context, p redis.Pipeliner, key string) { p.PExpire(ctx, key, x.partLife()) })
}

// unlink removes parts. What fails is left to expire.
func (x *shared) unlink(keys []string) {
	x.eachKey(keys, func(ctx context.Context, p redis.Pipeliner, key string) { p.Unlink(ctx, key) })
}

// eachKey does something to keys, some at a time, until it fails.
func (x *shared) eachKey(keys []string, do func(ctx context.Context, p redis.Pipeliner, key string)) {
	for len(keys) > 0 {
		some := keys[:min(len(keys), keysAtOnce)]
		keys = keys[len(some):]
		err := x.run(func(ctx context.Context, c redis.Cmdable) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				for _, key := range some {
					do(ctx, p, key)
				}
				return nil
			})
			return err
		})
		if err != nil {
			return
		}
	}
}

// sealed is an origin as the store has it, which only who has the secret could have written.
func (x *shared) sealed(agent agentKey, id ID, o Origin) []byte {
	b := appendOrigin(nil, o)
	return append(b, sealOf(x.keys()[0], agent, id, b)...)
}

const sealLen = 16

func sealOf(key []byte, agent agentKey, id ID, b []byte) []byte {
	mac := newMAC(key, 'o', agent)
	writeSized(mac, []byte(id))
	mac.Write(b)
	return mac.Sum(nil)[:sealLen]
}

// unsealed reads what sealed wrote.
func (x *shared) unsealed(agent agentKey, id ID, b []byte) (o Origin, rest []byte, err error) {
	o, rest, err = readOrigin(b)
	if err != nil || len(rest) < sealLen {
		return Origin{}, nil, errNotWritten
	}
	for _, key := range x.keys() {
		if hmac.Equal(sealOf(key, agent, id, b[:len(b)-len(rest)]), rest[:sealLen]) {
			return o, rest[sealLen:], nil
		}
	}
	return Origin{}, nil, errNotWritten
}
