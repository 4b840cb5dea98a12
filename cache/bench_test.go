package cache

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
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
		var rows []byte
		for i := 0; len(rows) < size; i++ {
			rows = fmt.Appendf(rows, `{"id":%d,"name":"user %x","email":"%x@example.com","active":%t},`, i, i*i, i*7919, i%3 == 0)
		}
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
