package consent

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
)

const (
	// sessionTime is how long the store knows the answer of a session after it was last of
	// use. Most sessions end before.
	sessionTime = 24 * time.Hour
	// leaseTime is how long a replica is taken to have its question at a client without saying so
	// again, and pollTime how often others look whether it has the answer.
	leaseTime = 15 * time.Second
	pollTime  = 250 * time.Millisecond
)

// An entry is where the store of a fleet has what was said, so that whoever was asked by one replica
// is asked by no other.
type entry struct {
	fleet *fleet.Store
	key   string
	life  time.Duration
}

// entry is that of a key, nil where this process alone knows what was said.
func (c *Consents) entry(k key, kind string) *entry {
	var who string
	life := idleTime
	switch {
	case c.fleet == nil:
		return nil
	case k.session == nil:
		who = "party " + k.party
	case k.session.Everywhere() == "":
		return nil
	default:
		who, life = "session "+k.session.Everywhere(), sessionTime
	}
	sum := sha256.New()
	for _, part := range []string{who, k.tool, kind} {
		sum.Write(binary.AppendUvarint(nil, uint64(len(part))))
		sum.Write([]byte(part))
	}
	return &entry{c.fleet, c.fleet.Key("consent", hex.EncodeToString(sum.Sum(nil))), life}
}

// answers are how they stand in the store.
var answers = map[Answer]string{Agreed: "agreed", Declined: "declined", Dismissed: "dismissed"}

func answerOf(text string) Answer {
	for answer, name := range answers {
		if name == text {
			return answer
		}
	}
	return NotAsked
}

// take says what was said, of which this replica knows known. An action is what a person did now; the state
// is the one that came with it, "" in a session. Fresh, if not "", is the state for a question that
// must be asked, unless one is out by now.
func (e *entry) take(ctx context.Context, known Answer, action, state, fresh string) (said Answer, out string, err error) {
	var got []string
	err = e.fleet.Run(ctx, func(ctx context.Context, c redis.Cmdable) error {
		got, err = takeScript.Run(ctx, c, []string{e.key}, e.life.Milliseconds(), answers[known], action, state, fresh, maxDismissed).StringSlice()
		return err
	})
	if err != nil {
		return NotAsked, "", err
	}
	if len(got) != 2 {
		return NotAsked, "", errors.New("the store has answered something else than it was asked")
	}
	return answerOf(got[0]), got[1], nil
}

// takeScript takes one action of a person, if its state is the one that is out. A refusal counts
// more than any other answer. It returns the answer and the state that is out.
var takeScript = redis.NewScript(`
local known, action, given, fresh = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local said = redis.call('HGET', KEYS[1], 'answer') or ''
local state = redis.call('HGET', KEYS[1], 'state') or ''
local now = ''
if known == 'declined' or known == 'agreed' and said == '' then said = known end
if action ~= '' and given == state then
	redis.call('HDEL', KEYS[1], 'state')
	state = ''
	if action == 'decline' then
		said = 'declined'
	elseif said == '' and action == 'accept' then
		said = 'agreed'
	elseif said == '' then
		now = 'dismissed'
		if redis.call('HINCRBY', KEYS[1], 'dismissed', 1) >= tonumber(ARGV[6]) then said = 'declined' end
	end
end
if said ~= '' then
	redis.call('HSET', KEYS[1], 'answer', said)
	now = said
elseif now == '' and state == '' and fresh ~= '' then
	state = fresh
	redis.call('HSET', KEYS[1], 'state', state)
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {now, state}`)

// ask waits until this replica may ask the client of a session, while another has its question
// there: end is to be called when it has been asked. Said, if not NotAsked, is what the person has
// said meanwhile, or before. The error is that the store is away, or that ctx has ended.
func (e *entry) ask(ctx context.Context) (said Answer, end func(), err error) {
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	for {
		if said, _, err = e.take(ctx, NotAsked, "", "", ""); err != nil || said != NotAsked {
			return said, nil, err
		}
		lock, err := e.fleet.Lock(ctx, e.key+":asking", leaseTime)
		if err != nil {
			return NotAsked, nil, err
		}
		if lock != nil {
			end = e.hold(lock)
			if said, _, _ = e.take(ctx, NotAsked, "", "", ""); said == NotAsked {
				return NotAsked, end, nil // also where the store has gone since
			}
			end() // it was answered just before
			return said, nil, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return NotAsked, nil, context.Cause(ctx)
		}
	}
}

// hold says that the question is at the client, until end.
func (e *entry) hold(lock *fleet.Lock) (end func()) {
	ctx, cancel := context.WithCancel(e.fleet.Life())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(leaseTime / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = lock.Extend(ctx, leaseTime)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
		_ = lock.Unlock(e.fleet.Life())
	}
}
