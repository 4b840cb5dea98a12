package handle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"rlmproxy/fleet"
)

// Givers say in the store of a fleet which replica gave a party a task: the connection to the
// server, and often the server itself, is that replica's alone. A nil Givers knows nothing.
type Givers struct{ fleet *fleet.Store }

// NewGivers returns those of a fleet; nil where that is nil.
func NewGivers(store *fleet.Store) *Givers {
	if store == nil {
		return nil
	}
	return &Givers{store}
}

// A Giver is where a task is.
type Giver struct {
	Replica string `json:"replica"`
	Server  string `json:"server"` // its name
	ID      string `json:"id"`     // that the replica knows it by, as in Handle.Server
}

const (
	// longest is how long the store knows of a task that has no end, or a later one, since it was
	// last asked for.
	longest = 24 * time.Hour
	// batch bounds the tasks that are looked up or noted at once.
	batch = 100
)

// part is a text as part of a key.
func part(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Note notes that this replica gave a party tasks of a server of this name and ID, of which each
// lives so long; zero is without end.
func (g *Givers) Note(ctx context.Context, party, server, serverID string, lives map[string]time.Duration) error {
	if g == nil || len(lives) == 0 {
		return nil
	}
	value, err := json.Marshal(Giver{g.fleet.Replica(), server, serverID})
	if err != nil {
		return err
	}
	args := []any{value, maxOfParty, maxOfAll, longest.Milliseconds(), g.fleet.Key("task") + ":", part(party)}
	for id, life := range lives {
		if life <= 0 || life > longest {
			life = longest
		}
		args = append(args, part(id), (life + grace).Milliseconds())
		if len(args) >= 6+2*batch {
			break // the others are this replica's alone
		}
	}
	return g.fleet.Run(ctx, func(ctx context.Context, c redis.Cmdable) error {
		return noteScript.Run(ctx, c, []string{g.fleet.Key("tasks"), g.fleet.Key("tasks of", part(party))}, args...).Err()
	})
}

// noteScript keeps who gave tasks, and forgets the oldest of a party and of all.
var noteScript = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local value, ofParty, ofAll, longest, prefix, party = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
for i = 7, #ARGV, 2 do
	local name = party .. ':' .. ARGV[i]
	redis.call('SET', prefix .. name, value, 'PX', ARGV[i + 1])
	redis.call('ZADD', KEYS[1], now, name)
	redis.call('ZADD', KEYS[2], now, name)
end
redis.call('PEXPIRE', KEYS[1], longest)
redis.call('PEXPIRE', KEYS[2], longest)
local function drop(from, most)
	local over = redis.call('ZCARD', from) - most
	if over <= 0 then return end
	for _, name in ipairs(redis.call('ZRANGE', from, 0, over - 1)) do
		redis.call('DEL', prefix .. name)
		redis.call('ZREM', KEYS[1], name)
		redis.call('ZREM', from, name)
	end
end
drop(KEYS[2], ofParty)
drop(KEYS[1], ofAll)
return 0`)

// Of returns who gave a party these tasks, of at most 100; without those that nobody did.
func (g *Givers) Of(ctx context.Context, party string, ids ...string) (givers map[string]Giver, err error) {
	if g == nil || len(ids) == 0 {
		return nil, nil
	}
	ids = ids[:min(len(ids), batch)]
	var keys []string
	for _, id := range ids {
		keys = append(keys, g.fleet.Key("task", part(party), part(id)))
	}
	var values []any
	err = g.fleet.Run(ctx, func(ctx context.Context, c redis.Cmdable) error {
		values, err = c.MGet(ctx, keys...).Result()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	givers = map[string]Giver{}
	for i, value := range values {
		var one Giver
		if text, ok := value.(string); ok && json.Unmarshal([]byte(text), &one) == nil && one.Replica != "" {
			givers[ids[i]] = one
		}
	}
	return givers, nil
}

// Gave are those of some tasks that this replica gave a party, of the server of this ID.
func (g *Givers) Gave(ctx context.Context, party, serverID string, ids ...string) (gave map[string]bool) {
	gave = map[string]bool{}
	givers, _ := g.Of(ctx, party, ids...) // while the store is away, it knows of none
	for id, one := range givers {
		gave[id] = one.Replica == g.fleet.Replica() && one.ID == serverID
	}
	return gave
}
