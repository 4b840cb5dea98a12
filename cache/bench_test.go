package cache

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
)

var benchSizes = []int{1 << 10, 1 << 20}

func benchStore(b *testing.B) *Store {
	validate = false
	b.Cleanup(func() { validate = true })
	return open(b, Options{})
}

// BenchmarkPut puts something new each time, mostly with a full shelf.
// What it costs is the SHA-256 of the id.
func BenchmarkPut(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint("size=", size), func(b *testing.B) {
			s := benchStore(b)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			var data []byte
			for i := 0; b.Loop(); i++ {
				data = make([]byte, size)
				binary.LittleEndian.PutUint64(data, uint64(i))
				if _, err := s.Put("agent", Origin{Tool: "tool"}, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPutDir puts rows of JSON, a new result each time, in memory and in a folder too.
func BenchmarkPutDir(b *testing.B) {
	for _, size := range benchSizes {
		rows := rows(size)
		for _, where := range []string{"memory", "folder"} {
			b.Run(fmt.Sprintf("size=%d/in=%s", size, where), func(b *testing.B) {
				validate = false
				b.Cleanup(func() { validate = true })
				opts := Options{}
				if where == "folder" {
					opts.Dir.Path = b.TempDir()
				}
				s := open(b, opts)
				b.SetBytes(int64(size))
				for i := 0; b.Loop(); i++ {
					data := binary.LittleEndian.AppendUint64(rows[:size-8:size-8], uint64(i))
					if _, err := s.Put("agent", Origin{Tool: "tool"}, data); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// rows are size bytes of JSON as tools return it.
func rows(size int) (rows []byte) {
	for i := 0; len(rows) < size; i++ {
		rows = fmt.Appendf(rows, `{"id":%d,"name":"user %x","email":"%x@example.com","active":%t},`, i, i*i, i*7919, i%3 == 0)
	}
	return rows[:size]
}

// BenchmarkShared puts rows of JSON and reads them twice, where they were put and at another
// replica, which has to fetch them: in memory (where both are one) and in a Redis on a socket
// of this machine. An agent keeps 20, so most puts evict another entry. It counts what was
// asked of Redis, and what a result takes there.
func BenchmarkShared(b *testing.B) {
	server := fleettest.Start(b)
	for _, size := range []int{10 << 10, 1 << 20, 10 << 20} {
		all := rows(size)
		for _, form := range []string{"memory", "redis"} {
			b.Run(fmt.Sprintf("size=%d/in=%s", size, form), func(b *testing.B) {
				validate = false
				b.Cleanup(func() { validate = true })
				// Each run has a fleet of its own.
				name := fmt.Sprint("bench-", size, "-", b.N)
				replica := func() *Store {
					if form == "memory" {
						return open(b, Options{})
					}
					f, err := fleet.Open(fleet.Options{URL: server.URL, Name: name})
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(f.Close)
					return open(b, Options{Fleet: f})
				}
				here := replica()
				there := here
				if form == "redis" {
					there = replica()
				}
				ask := func(s *Store, id ID) {
					if e, err := s.Get("agent", id); err != nil || len(e.Data) != size {
						b.Fatal(err)
					}
				}
				var put, again, fetch time.Duration
				begun, n := time.Now(), 0
				note := func(into *time.Duration) {
					now := time.Now()
					*into += now.Sub(begun)
					begun = now
				}
				for ; b.Loop(); n++ {
					data := binary.LittleEndian.AppendUint64(all[:size-8:size-8], uint64(n))
					begun = time.Now()
					id, err := here.Put("agent", Origin{Tool: "tool", Arguments: []byte(`{"page":1}`)}, data)
					if err != nil {
						b.Fatal(err)
					}
					note(&put)
					ask(here, id)
					note(&again)
					ask(there, id)
					note(&fetch)
				}
				report := func(value float64, unit string) { b.ReportMetric(value/float64(n), unit) }
				report(float64(put.Microseconds()), "put-µs/op")
				report(float64(again.Microseconds()), "get-µs/op")
				report(float64(fetch.Microseconds()), "get-elsewhere-µs/op")
				if form == "redis" {
					report(float64(here.opts.Fleet.Figures().Ops), "put+get-requests/op")
					report(float64(there.opts.Fleet.Figures().Ops), "get-elsewhere-requests/op")
					used := func(pattern string) (sum float64) {
						for _, key := range keysOf(b, server.Client, pattern) {
							sum += float64(server.Client.MemoryUsage(b.Context(), key, 0).Val())
						}
						return sum
					}
					now := totals(here)
					b.ReportMetric(used(here.opts.Fleet.SpreadKey(sharedVersion, "*"))/float64(now.entries), "redis-data-bytes/result")
					b.ReportMetric(used(here.opts.Fleet.Key(sharedVersion, "*"))/float64(now.entries+now.tombstones), "redis-index-bytes/id")
				}
			})
		}
	}
}

// BenchmarkSharedFull is BenchmarkPutFull in Redis, where the victim is found without looking at
// all: with results of one size, and of sizes up to 16 times as large.
func BenchmarkSharedFull(b *testing.B) {
	for _, sizes := range []string{"alike", "mixed"} {
		b.Run("sizes="+sizes, func(b *testing.B) {
			f, err := fleet.Open(fleet.Options{URL: fleettest.Start(b).URL})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(f.Close)
			s := open(b, Options{MaxBytes: 20_000 * 1024, Fleet: f})
			next := uint64(0)
			put := func() {
				size := 1016
				if sizes == "mixed" {
					size = 250 << (next * 7919 % 401 / 100)
					size += int(next*104729) % size
				}
				next++
				s.Put(fmt.Sprint(next%1000), Origin{}, binary.LittleEndian.AppendUint64(make([]byte, size), next))
			}
			for range 20_000 {
				put()
			}
			for b.Loop() {
				put()
			}
		})
	}
}

// BenchmarkPutFull is Put at the ceiling with 1000 agents of 20 entries: the
// victim is looked for among all 20,000.
func BenchmarkPutFull(b *testing.B) {
	validate = false
	b.Cleanup(func() { validate = true })
	s := open(b, Options{MaxBytes: 20_000 * 1024})
	next := uint64(0)
	data := func() []byte {
		next++
		return binary.LittleEndian.AppendUint64(make([]byte, 1016), next)
	}
	for i := range 20_000 {
		s.Put(fmt.Sprint(i%1000), Origin{}, data())
	}
	for b.Loop() {
		s.Put(fmt.Sprint(next%1000), Origin{}, append(data(), 0))
	}
}

func BenchmarkGet(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint("size=", size), func(b *testing.B) {
			s := benchStore(b)
			id, err := s.Put("agent", Origin{Tool: "tool"}, make([]byte, size))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Get("agent", id); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDerived(b *testing.B) {
	s := benchStore(b)
	id, err := s.Put("agent", Origin{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s.Derived("agent", id, "tree", func() (any, int64, error) { return 1, 1, nil })
	}
}

// BenchmarkResident measures the heap that 400 MB of results occupy, next to
// an empty store's.
func BenchmarkResident(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint("size=", size), func(b *testing.B) {
			const total = 400 << 20
			heap := func() float64 {
				runtime.GC()
				runtime.GC() // the first one only empties pools to their reserve
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return float64(m.HeapAlloc)
			}
			for b.Loop() {
				before := heap()
				s, err := New(Options{MaxEntriesPerAgent: 1 << 20, MaxBytesPerAgent: total})
				if err != nil {
					b.Fatal(err)
				}
				validate = false
				empty := heap()
				for i := range total / size {
					data := make([]byte, size)
					binary.LittleEndian.PutUint64(data, uint64(i))
					s.Put("agent", Origin{}, data)
				}
				full := heap()
				b.ReportMetric((empty-before)/(1<<20), "empty-MB")
				b.ReportMetric((full-empty)/total, "heap-MB/cached-MB")
				runtime.KeepAlive(s)
				s.Close()
				validate = true
			}
		})
	}
}
