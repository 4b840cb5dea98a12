package stats

import (
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline/tokens"
)

// Options configures a [Recorder].
type Options struct {
	// Folder keeps files of statistics. "": nothing is written, and nothing counts but what
	// this process has seen.
	Folder string
	// Configuration is short for it, 32 characters of hexadecimal, and Config its
	// path, or "".
	Configuration, Config string
	Version               string
	// Logger hears of what is wrong with files. Nil: nobody does.
	Logger *slog.Logger
}

const (
	// writeTime is how long a call waits to be written, with others.
	writeTime = 2 * time.Second
	// aliveTime is how long a process that runs lets its file be.
	aliveTime = 10 * time.Second
	// maxFetched bounds the results of which it is remembered that they have counted.
	maxFetched = 1000
)

// A Recorder counts what a process does, and adds it to the file of its configuration. It
// is safe for concurrent use. A nil one counts nothing.
type Recorder struct {
	opts  Options
	begun time.Time
	files *folder // nil: nothing is written

	stop   chan struct{} // closed by Close
	ending sync.Once
	ended  chan struct{} // closed when nothing is written any more; nil: Serve was not called

	writing sync.Mutex // held while files are read and written; before mu
	source  Source     // guarded by writing, as the fields below
	seen    Proxy      // as the file of this process has it
	at      time.Time  // when that was written
	warned  bool       // that a file cannot be written

	mu      sync.Mutex        // guards the fields below
	pending counts            // what the file does not have yet
	fetched map[cache.ID]bool // that have counted; true: the agent was told that it is gone
	order   []cache.ID        // of fetched, a ring; the oldest is at next
	next    int               // in order
	costs   map[string]int    // tokens of what clients were sent
}

var _ observe.Observer = (*Recorder)(nil)

// A Source says what goes on in a process.
type Source struct {
	URL string // of /mcp, or "" over stdin and stdout
	// Look returns the servers in the order of the configuration, and how many clients are
	// connected. It must not block. Nil is not called.
	Look func() (servers []Server, clients int)
}

// New returns a recorder. A folder that cannot be used is warned of.
func New(opts Options) *Recorder {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Recorder{opts: opts, begun: time.Now(), stop: make(chan struct{}), fetched: map[cache.ID]bool{}, costs: map[string]int{}}
	if opts.Folder != "" {
		r.files = openFolder(opts.Folder)
	}
	return r
}

// Called implements [observe.Observer]. See docs/commands.md for what counts.
func (r *Recorder) Called(c *observe.Call) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	in, out := r.count(c)
	r.pending.called(c, in, out)
}

// count returns the tokens of a call that count. r.mu must be held.
func (r *Recorder) count(c *observe.Call) (in, out int) {
	in, out = c.TokensIn, c.TokensOut
	if c.ReadID != "" && (c.Error == shape.CodeExpiredID || c.Error == shape.CodeEvictedID) {
		r.fetch(c.ReadID)
		r.fetched[c.ReadID] = true
	}
	switch {
	case c.Outcome == observe.Cancelled, c.Outcome == observe.Input:
		return 0, 0 // no agent reads it
	case c.Outcome == observe.Error && c.Error != observe.CodeTool:
		return 0, out // of the server's result, if there was any, the agent got nothing
	case c.Again:
		return 0, out // the agent has had it
	case in == 0 || c.CacheID == "":
		return in, out
	}
	if had := r.fetch(c.CacheID); had && (c.For > 0 || r.fetched[c.CacheID]) {
		in = 0 // without us the agent would have looked at what it has
	}
	r.fetched[c.CacheID] = false
	return in, out
}

// fetch notes that a result has counted, and reports whether it had before. r.mu must be
// held.
func (r *Recorder) fetch(id cache.ID) (had bool) {
	if _, had = r.fetched[id]; had {
		return true
	}
	if len(r.order) < maxFetched {
		r.order = append(r.order, id)
	} else {
		delete(r.fetched, r.order[r.next])
		r.order[r.next], r.next = id, (r.next+1)%maxFetched
	}
	r.fetched[id] = false
	return false
}

// maxCosts bounds the texts of which the tokens are remembered: there are some ten.
const maxCosts = 100

// Listed counts what a client reads of the proxy itself: definitions and instructions.
func (r *Recorder) Listed(own []string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := 0
	for _, text := range own {
		n, ok := r.costs[text]
		if !ok {
			n, _ = tokens.Count([]byte(text))
			if len(r.costs) < maxCosts {
				r.costs[text] = n
			}
		}
		sum += n
	}
	r.pending.listed(int64(sum), time.Now())
}

// Serve says what runs, and begins to write. It is called once.
func (r *Recorder) Serve(s Source) {
	if r == nil {
		return
	}
	r.writing.Lock()
	r.source = s
	r.writing.Unlock()
	if r.files == nil {
		return
	}
	r.ended = make(chan struct{})
	go r.run()
}

func (r *Recorder) run() {
	defer close(r.ended)
	r.write()
	tick := time.NewTicker(writeTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.write()
		case <-r.stop:
			return
		}
	}
}

// Close writes what is not written yet. The source is not asked any more when it returns.
func (r *Recorder) Close() {
	if r == nil {
		return
	}
	r.ending.Do(func() {
		close(r.stop)
		if r.ended != nil {
			<-r.ended
		}
		r.writing.Lock()
		defer r.writing.Unlock()
		if r.files != nil {
			r.add()
			r.files.remove(r.opts.Configuration)
		}
		r.source.Look = nil
	})
}

// write writes what has changed.
func (r *Recorder) write() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.add()
	now := time.Now()
	if p := r.proxy(); now.Sub(r.at) >= aliveTime || !p.same(r.seen) {
		if err := r.files.put(r.opts.Configuration, running{Proxy: p, Written: now}); err != nil {
			r.warn(err)
			return
		}
		r.seen, r.at = p, now
	}
}

// add adds what is not written yet to the file. r.writing must be held.
func (r *Recorder) add() {
	r.mu.Lock()
	more := r.pending
	r.pending = counts{}
	r.mu.Unlock()
	if more.empty() {
		return
	}
	moved, err := r.files.add(r.opts.Configuration, r.opts.Config, &more)
	if moved != nil {
		r.opts.Logger.Warn("what was counted before begins anew: its file cannot be read, and is kept under another name", "error", moved)
	}
	if err == nil {
		return
	}
	r.warn(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	more.merge(&r.pending, time.Now())
	r.pending = more
}

// warn says once that files cannot be written.
func (r *Recorder) warn(err error) {
	if !r.warned {
		r.opts.Logger.Warn("what is saved is counted in memory only: the state folder cannot be used", "error", err, "hint", "name one in stateDir, or switch keepStats off")
	}
	r.warned = true
}

// proxy is what the process is now. r.writing must be held.
func (r *Recorder) proxy() Proxy {
	p := Proxy{PID: os.Getpid(), Begun: r.begun.UTC().Truncate(time.Second), Version: r.opts.Version, Config: r.opts.Config, URL: r.source.URL, Servers: []Server{}}
	if r.source.Look != nil {
		servers, clients := r.source.Look()
		p.Servers, p.Clients = append(p.Servers, servers...), clients
	}
	return p
}

func (p Proxy) same(o Proxy) bool {
	return p.URL == o.URL && p.Clients == o.Clients && slices.Equal(p.Servers, o.Servers)
}

// Report returns what was counted of the configuration: what its file has, and what is not
// written yet. It reads files.
func (r *Recorder) Report() *Report {
	if r == nil {
		return (&counts{}).report()
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	all, proxies := &counts{}, []Proxy(nil)
	if r.files != nil {
		all, proxies, _ = r.files.read(r.opts.Configuration) // what is wrong there is warned of when it is written
	}
	r.mu.Lock()
	all.merge(&r.pending, time.Now())
	r.mu.Unlock()
	report := all.report()
	own := r.proxy()
	report.Proxies = append(report.Proxies, own)
	for _, p := range proxies {
		if p.PID != own.PID || !p.Begun.Equal(own.Begun) {
			report.Proxies = append(report.Proxies, p)
		}
	}
	return report
}
