package judge

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
)

// A fleetHour is what each agent took in the last hour on all replicas of a fleet: a key for each,
// with the tokens and calls of each step.
type fleetHour struct{ store *fleet.Store }

const hourPurpose = "budgets of the sub-model"

// at is the key of an agent, which does not say whose it is.
func (t *fleetHour) at(agent string) string {
	return t.store.SpreadKey("asked", base64.RawURLEncoding.EncodeToString(sum(t.store.Keys(hourPurpose)[0], agent)))
}

// takeScript adds n tokens and a call to a step, or returns that the calls (1) or the tokens (2) are
// spent, and how many seconds it is until there are more. It goes by the clock of the store.
var takeScript = redis.NewScript(`
local now, step, steps = tonumber(redis.call('TIME')[1]), tonumber(ARGV[4]), tonumber(ARGV[5])
local at = math.floor(now / step)
local all, took, first = redis.call('HGETALL', KEYS[1]), {t = 0, c = 0}, at
for i = 1, #all, 2 do
	local was, what = string.match(all[i], '^(%d+)([tc])$')
	if not was or at - tonumber(was) >= steps then
		redis.call('HDEL', KEYS[1], all[i])
	else
		took[what] = took[what] + tonumber(all[i + 1])
		first = math.min(first, tonumber(was))
	end
end
local n, tokens, calls = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local frees = (first + steps) * step - now
if calls > 0 and took.c >= calls then return {1, frees} end
if tokens > 0 and took.t + n > tokens then return {2, frees} end
redis.call('HINCRBY', KEYS[1], at .. 't', n)
redis.call('HINCRBY', KEYS[1], at .. 'c', 1)
redis.call('PEXPIRE', KEYS[1], (steps + 1) * step * 1000)
return {0, 0}`)

// settleScript adds tokens to a step, of which there may be fewer than none.
var settleScript = redis.NewScript(`
local at = math.floor(tonumber(redis.call('TIME')[1]) / ARGV[2])
redis.call('HINCRBY', KEYS[1], at .. 't', ARGV[1])
redis.call('PEXPIRE', KEYS[1], (ARGV[3] + 1) * ARGV[2] * 1000)
return 0`)

const (
	stepSeconds = int(step / time.Second)
	steps       = int(time.Hour / step)
)

// take takes n tokens and a call, if the agent has them: what is spent is not nil then. Counted is
// false where the store is away.
func (t *fleetHour) take(agent string, n int, most Budget) (spent *spent, counted bool) {
	var said []int
	// Not for as long as the question waits: what was taken must be known.
	err := t.store.Run(t.store.Life(), func(ctx context.Context, c redis.Cmdable) error {
		raw, err := takeScript.Run(ctx, c, []string{t.at(agent)}, n, most.Tokens, most.Calls, stepSeconds, steps).Int64Slice()
		for _, one := range raw {
			said = append(said, int(one))
		}
		return err
	})
	if err != nil || len(said) != 2 {
		return nil, false // a store that cannot count is as good as away
	}
	return spentOf(said[0], most, time.Duration(said[1])*time.Second), true
}

// settle adds n tokens, which may be fewer than none. While the store is away, they are lost.
func (t *fleetHour) settle(agent string, n int) {
	_ = t.store.Run(t.store.Life(), func(ctx context.Context, c redis.Cmdable) error {
		return settleScript.Run(ctx, c, []string{t.at(agent)}, n, stepSeconds, steps).Err()
	})
}
