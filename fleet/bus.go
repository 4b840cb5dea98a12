package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// MaxTold bounds the body of what one replica tells another, in bytes.
const MaxTold = 8 << 20

// maxWaiting bounds the messages that were read and not taken yet, each of which may have some
// more than MaxTold. Others wait at the store, which cuts off who is behind by 32 MB.
const maxWaiting = 8

const (
	// beatTime is how often a replica says that it is there, and goneTime after how long
	// without that it is taken for lost.
	beatTime = 2 * time.Second
	goneTime = 10 * time.Second
)

// A bus takes what replicas tell each other: one channel for each, and one for all. What is
// told while the store is away, or to a replica that has just connected, is lost.
type bus struct {
	store *Store
	sub   *redis.PubSub
	ended chan struct{}

	mu    sync.Mutex // guards the field below
	kinds map[string]func(from string, body json.RawMessage)
}

// told is how it stands in a channel.
type told struct {
	From string          `json:"from"`
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

func newBus(s *Store) *bus {
	b := &bus{store: s, ended: make(chan struct{}), kinds: map[string]func(string, json.RawMessage){}}
	// It connects again by itself.
	b.sub = s.client.Subscribe(s.life, s.Key("to", s.replica), s.Key("all"))
	in := b.sub.Channel(redis.WithChannelSize(maxWaiting))
	go func() {
		defer close(b.ended)
		for m := range in {
			b.take(m.Payload)
		}
	}()
	return b
}

func (b *bus) close() {
	_ = b.sub.Close()
	<-b.ended
}

// take hands on what was told. Whoever can write to the store could tell us anything: it
// costs no more than the one message.
func (b *bus) take(payload string) {
	var t told
	if json.Unmarshal([]byte(payload), &t) != nil || t.From == b.store.replica {
		return
	}
	b.mu.Lock()
	f := b.kinds[t.Kind]
	b.mu.Unlock()
	if f == nil {
		return // of another version
	}
	defer func() {
		if v := recover(); v != nil {
			b.store.log.Error("internal error", "error", fmt.Errorf("panic: %v", v))
		}
	}()
	f(t.From, t.Body)
}

// Handle has f take what other replicas tell of a kind, one after the other: it must not
// block.
func (s *Store) Handle(kind string, f func(from string, body json.RawMessage)) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.kinds[kind] = f
}

// Tell tells the replica to something, or with "" all others. Body is what encoding/json
// writes, MaxTold bytes at most. That it is heard is not sure: see [Store.Alive].
func (s *Store) Tell(ctx context.Context, to, kind string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if len(raw) > MaxTold {
		return fmt.Errorf("%d bytes are more than replicas tell each other, %d", len(raw), MaxTold)
	}
	text, err := json.Marshal(told{s.replica, kind, raw})
	if err != nil {
		return err
	}
	channel := s.Key("all")
	if to != "" {
		channel = s.Key("to", to)
	}
	return s.Run(ctx, func(ctx context.Context, c redis.Cmdable) error { return c.Publish(ctx, channel, text).Err() })
}

// beat says that this replica is there, until Close.
func (s *Store) beat() {
	tick := time.NewTicker(beatTime)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
			err := s.Run(s.life, func(ctx context.Context, c redis.Cmdable) error { return s.note(ctx, c) })
			if err == nil && s.forgotten.Load() {
				s.isBack()
			}
		}
	}
}

// leave says that this replica has gone.
func (s *Store) leave() {
	_ = s.Run(s.life, func(ctx context.Context, c redis.Cmdable) error {
		return c.ZRem(ctx, s.Key("replicas"), s.replica).Err()
	})
}

// Replicas are those that have said in the last ten seconds that they are there, this one
// among them.
func (s *Store) Replicas(ctx context.Context) (names []string, err error) {
	err = s.Run(ctx, func(ctx context.Context, c redis.Cmdable) error {
		if err := s.note(ctx, c); err != nil {
			return err
		}
		names, err = c.ZRange(ctx, s.Key("replicas"), 0, -1).Result()
		return err
	})
	return names, err
}

// ReplicasKey is a sorted set of the replicas for scripts, by the millisecond of the store's
// clock at which each has said last that it is there.
func (s *Store) ReplicasKey() string { return s.Key("replicas") }

// Alive reports whether a replica has said in the last ten seconds that it is there.
func (s *Store) Alive(ctx context.Context, replica string) (alive bool, err error) {
	names, err := s.Replicas(ctx)
	return slices.Contains(names, replica), err
}
