package middleware

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/cache"
	"rlmproxy/fleet"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/shape"
)

// seenBy is what the session of a request was shown, or nil where that is not remembered:
// a request of 2026-07-28 may be of anybody who has never seen anything.
func (s *Server) seenBy(r *session.Request) *shape.Seen {
	if s.opts.NoDifferences || r.Stateless {
		return nil
	}
	seen, ok := s.seen.Load(r.Session)
	if !ok {
		one := &shape.Seen{}
		if name := r.Session.Everywhere(); name != "" && s.opts.Fleet != nil {
			one.Memory = seenTogether{s.opts.Fleet, s.opts.Fleet.Key("seen", name)}
		}
		seen, _ = s.seen.LoadOrStore(r.Session, one)
	}
	return seen.(*shape.Seen)
}

// seenTogether is what a session was shown by all replicas, in their store: how many replies, under
// "n", and by result the number of the last one.
type seenTogether struct {
	fleet *fleet.Store
	key   string
}

var _ shape.Memory = seenTogether{}

// seenTime is how long the store knows that after the last reply.
const seenTime = time.Hour

// Note implements [shape.Memory].
func (m seenTogether) Note(replies int, id cache.ID) error {
	return m.fleet.Run(context.Background(), func(ctx context.Context, c redis.Cmdable) error {
		return seenScript.Run(ctx, c, []string{m.key}, replies, string(id), shape.Recent, seenTime.Milliseconds()).Err()
	})
}

// seenScript counts replies, and forgets those that are not recent.
var seenScript = redis.NewScript(`
local n = redis.call('HINCRBY', KEYS[1], 'n', ARGV[1])
if ARGV[2] ~= '' then
	local all = redis.call('HGETALL', KEYS[1])
	for i = 1, #all, 2 do
		if all[i] ~= 'n' and n - all[i + 1] >= tonumber(ARGV[3]) then redis.call('HDEL', KEYS[1], all[i]) end
	end
	redis.call('HSET', KEYS[1], ARGV[2], n)
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return n`)

// Recall implements [shape.Memory].
func (m seenTogether) Recall() (replies int, last []shape.Sight, err error) {
	var all map[string]string
	err = m.fleet.Run(context.Background(), func(ctx context.Context, c redis.Cmdable) error {
		all, err = c.HGetAll(ctx, m.key).Result()
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	replies, _ = strconv.Atoi(all["n"])
	delete(all, "n")
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if n, err := strconv.Atoi(all[id]); err == nil && replies-n < shape.Recent {
			last = append(last, shape.Sight{ID: cache.ID(id), Reply: n})
		}
	}
	slices.SortStableFunc(last, func(a, b shape.Sight) int { return cmp.Compare(a.Reply, b.Reply) })
	return replies, last, nil
}
