// Package fleet is what the replicas of one proxy have in common: a Redis or Valkey, and
// what they tell each other by it.
//
//	Run ─► the store, within a bound of time ─► an answer, or an [AwayError]
//	Tell ─► a channel of the store ─► what Handle has at the other replicas
//
// A store that does not answer is away: nothing waits for it until it does again, which the
// package finds out by itself.
package fleet

import (
	"cmp"
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"golang.org/x/time/rate"
)

// What the client has to say of itself does not go to stderr: lost logs it.
func init() { logging.Disable() }

const (
	// opTime bounds what one [Store.Run] may take: a store nearby answers in less than a
	// millisecond, and in some after it was busy with a large script.
	opTime = 2 * time.Second
	// probeTime is how often a store that is away is asked whether it is back.
	probeTime = time.Second
	// retryTime is when whoever was refused is told to try again.
	retryTime = 5 * time.Second
)

// Options configures a [Store].
type Options struct {
	// URL is where the store is, see [Check].
	URL string
	// Name tells the fleets apart that use one store. Empty means "rlmproxy".
	Name string
	// Secret is what all replicas were given to make keys from. Empty: the first one makes
	// one, which is kept in the store.
	Secret string
	// Logger is told when the store is away, and back. Nil discards that.
	Logger *slog.Logger
}

// A Store is a Redis or Valkey that the replicas share. It is safe for concurrent use.
type Store struct {
	opts    Options
	client  redis.UniversalClient
	replica string
	log     *slog.Logger
	bus     *bus

	life context.Context // ended by Close
	end  context.CancelFunc
	work sync.WaitGroup

	own       []byte                   // the secret that it was given, or would make
	secrets   atomic.Pointer[[][]byte] // those in use, the one for new keys first
	ops       atomic.Int64
	failed    atomic.Int64
	nanos     atomic.Int64
	noted     atomic.Bool    // the store was told that this replica is there
	forgotten atomic.Bool    // and did not know that any more
	served    atomic.Bool    // the store has answered once
	denied    rate.Sometimes // logs that the store refuses something

	mu    sync.Mutex // guards the fields below
	away  error      // why it is away, or nil
	since time.Time  // when that began
	until time.Time  // when it was away last
	back  []func()
}

// An AwayError says that the store does not answer now.
type AwayError struct {
	Retry time.Duration // after which to try again
	Cause error
}

func (e *AwayError) Error() string {
	return fmt.Sprintf("the shared store is away: try again in %v", e.Retry)
}

func (e *AwayError) Unwrap() error { return e.Cause }

// Open opens a store. One that does not answer is no error, it is away. The error is that
// the URL cannot be used. Close ends it.
func Open(opts Options) (*Store, error) {
	opts.Name = cmp.Or(opts.Name, "rlmproxy")
	client, err := dial(opts.URL)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, client: client, replica: strings.ToLower(rand.Text()[:10]), log: opts.Logger, denied: rate.Sometimes{Interval: time.Minute}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.life, s.end = context.WithCancel(context.Background())
	own := []byte(opts.Secret)
	if len(own) == 0 {
		own = make([]byte, 32)
		rand.Read(own) // never fails
	}
	s.own = own
	if opts.Secret != "" {
		s.secrets.Store(&[][]byte{own})
	}
	s.bus = newBus(s)
	if err := s.greet(s.life); err != nil {
		s.secrets.CompareAndSwap(nil, &[][]byte{own})
		s.lost(err)
	}
	s.work.Go(s.beat)
	return s, nil
}

// Close ends the store for this replica, and says to the others that it has gone.
func (s *Store) Close() {
	if s == nil {
		return
	}
	s.leave()
	s.end()
	s.bus.close()
	s.work.Wait()
	_ = s.client.Close()
}

// Replica is the name of this replica, ten letters and digits, another at each start.
func (s *Store) Replica() string { return s.replica }

// Key is the key of something in the store. All keys of a fleet are in one slot of a
// cluster, so a script may use several. Parts hold neither colons nor braces, or are last.
func (s *Store) Key(parts ...string) string {
	return "{rlmproxy:" + s.opts.Name + "}:" + strings.Join(parts, ":")
}

// SpreadKey is a key that a cluster puts in a slot of its own, for what is large.
func (s *Store) SpreadKey(parts ...string) string {
	return "rlmproxy:" + s.opts.Name + ":" + strings.Join(parts, ":")
}

// Run has f ask the store. While it is away, and where it does not answer in two seconds,
// the error is an [AwayError]; f is not called then, or may have been done. Else it is f's.
func (s *Store) Run(ctx context.Context, f func(ctx context.Context, c redis.Cmdable) error) error {
	s.mu.Lock()
	away := s.away
	s.mu.Unlock()
	if away != nil {
		return &AwayError{retryTime, away}
	}
	begun := time.Now()
	bounded, cancel := context.WithTimeout(ctx, opTime)
	err := f(bounded, s.client)
	cancel()
	s.ops.Add(1)
	s.nanos.Add(int64(time.Since(begun)))
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	s.failed.Add(1)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !unreachable(err) {
		return err
	}
	if said(err, denials) {
		s.denied.Do(func() {
			s.log.Warn("the shared store refuses what is asked of it: the user in cacheURL may not do enough", "error", err)
		})
	}
	s.lost(err)
	return &AwayError{retryTime, err}
}

// refusals begin what a store says that does not serve anybody now, or not us.
var refusals = []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "ERR max number of clients", "NOREPLICAS", "MISCONF", "UNBLOCKED", "BUSY "}

// denials begin what a store says to a user that it does not know, or that may not do enough,
// in a script by the version of the store.
var denials = []string{"NOAUTH", "WRONGPASS", "NOPERM", "ERR The user executing the script", "ERR ACL failure in script"}

// unreachable reports whether an error says that the store cannot be used, rather than that
// it refuses what it was asked.
func unreachable(err error) bool {
	var answer redis.Error
	if errors.As(err, &answer) {
		return said(err, refusals) || said(err, denials)
	}
	return true // what the store did not say is the network's, or time that ran out
}

// said reports whether an error is what a store says that begins so.
func said(err error, begins []string) bool {
	var answer redis.Error
	return errors.As(err, &answer) && slices.ContainsFunc(begins, func(begin string) bool { return strings.HasPrefix(answer.Error(), begin) })
}

// lost takes the store for away, and looks when it is back.
func (s *Store) lost(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil || s.life.Err() != nil {
		return
	}
	s.away, s.since = err, time.Now()
	s.work.Go(s.probe)
}

// probe asks a store that is away until it answers, at once first: one lost connection is
// nobody's news. One that was back just now may answer that, and refuse all else.
func (s *Store) probe() {
	tick := time.NewTicker(probeTime)
	defer tick.Stop()
	s.mu.Lock()
	again := time.Since(s.until) < probeTime
	s.mu.Unlock()
	if again {
		select {
		case <-tick.C:
		case <-s.life.Done():
			return
		}
	}
	for told := false; ; told = true {
		err := s.greet(s.life)
		if err == nil {
			break
		}
		s.mu.Lock()
		s.away = err
		s.mu.Unlock()
		if !told && s.life.Err() == nil {
			s.log.Warn("the shared store is away: longer results are kept on this replica only", "error", err)
			defer func() {
				if s.life.Err() == nil {
					s.log.Info("the shared store is back")
				}
			}()
		}
		select {
		case <-tick.C:
		case <-s.life.Done():
			return
		}
	}
	s.mu.Lock()
	s.away, s.until = nil, time.Now()
	s.mu.Unlock()
	s.isBack()
}

// isBack calls what was given to OnBack.
func (s *Store) isBack() {
	s.forgotten.Store(false)
	s.mu.Lock()
	back := slices.Clone(s.back)
	s.mu.Unlock()
	for _, f := range back {
		f()
	}
}

// greet asks whether the store is there, and whose secret counts.
func (s *Store) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, opTime)
	defer cancel()
	err := s.client.Ping(ctx).Err()
	if err == nil {
		err = s.note(ctx, s.client)
	}
	if err == nil {
		s.served.Store(true)
	}
	return err
}

// maxSecrets bounds the secrets in use: another one comes only when the store has lost its
// data.
const maxSecrets = 8

// note says in the store that this replica is there, and agrees with the others on the
// secrets in use.
func (s *Store) note(ctx context.Context, c redis.Scripter) error {
	args := []any{s.replica, goneTime.Milliseconds(), maxSecrets}
	if s.opts.Secret == "" {
		args = append(args, s.own)
		if used := s.secrets.Load(); used != nil {
			for _, secret := range *used {
				args = append(args, secret)
			}
		}
	}
	said, err := noteScript.Run(ctx, c, []string{s.Key("replicas"), s.Key("secrets")}, args...).StringSlice()
	if err != nil {
		return err
	}
	if s.noted.Swap(true) && said[0] == "new" {
		s.forgotten.Store(true)
	}
	if s.opts.Secret != "" {
		return nil
	}
	var secrets [][]byte
	for _, secret := range said[1:] {
		secrets = append(secrets, []byte(secret))
	}
	s.secrets.Store(&secrets)
	return nil
}

// noteScript notes when a replica was there, by the store's clock, and forgets those that
// have not been. It adds the secrets that the replica has used, or where there is none the
// one that it would, and returns all, the first in use first, after "new" where it did not know
// the replica.
var noteScript = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local known = redis.call('ZADD', KEYS[1], now, ARGV[1]) == 1 and 'new' or 'known'
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
if #ARGV < 4 then return {known} end
if #ARGV == 4 and redis.call('LLEN', KEYS[2]) == 0 then redis.call('RPUSH', KEYS[2], ARGV[4]) end
local all = redis.call('LRANGE', KEYS[2], 0, -1)
for i = 5, #ARGV do
	local known = false
	for _, one in ipairs(all) do known = known or one == ARGV[i] end
	if not known and #all < tonumber(ARGV[3]) then
		redis.call('RPUSH', KEYS[2], ARGV[i])
		all[#all + 1] = ARGV[i]
	end
end
return {known, unpack(all)}`)

// Keys are 32 bytes that all replicas have for one purpose, at least one. The first is the
// one to use; those behind it have been used by replicas that were started while the store
// was away. Replicas agree on them within two seconds after that. It costs some microseconds.
func (s *Store) Keys(purpose string) [][]byte {
	var keys [][]byte
	for _, secret := range *s.secrets.Load() {
		key, err := hkdf.Key(sha256.New, secret, nil, "rlmproxy "+purpose, 32)
		if err != nil {
			panic(err) // the length is a constant
		}
		keys = append(keys, key)
	}
	return keys
}

// Away says since when the store is away, and why. It is zero, nil when the store is there.
func (s *Store) Away() (since time.Time, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away == nil {
		return time.Time{}, nil
	}
	return s.since, s.away
}

// Denied reports whether the store denies itself to this replica, and has since its start:
// the user or the password in the URL is wrong, or may not do enough. Waiting does not mend
// that.
func (s *Store) Denied() bool {
	_, cause := s.Away()
	return !s.served.Load() && said(cause, denials)
}

// OnBack has f called each time that the store is back, or has forgotten this replica and so
// perhaps all else, in a goroutine that Close waits for. It may be called twice at one time.
func (s *Store) OnBack(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back = append(s.back, f)
}

// Life ends with the store, for what f of [Store.OnBack] does.
func (s *Store) Life() context.Context { return s.life }

// Figures are what was asked of the store since the start.
type Figures struct {
	Ops, Failed int64
	Time        time.Duration // that all of them took together
	Away        bool
}

// Figures returns those of now.
func (s *Store) Figures() Figures {
	since, _ := s.Away()
	return Figures{s.ops.Load(), s.failed.Load(), time.Duration(s.nanos.Load()), !since.IsZero()}
}
