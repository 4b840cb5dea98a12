package digesttest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// ServiceLog is n lines of a log: four kinds of entries, and three that are
// there once.
func ServiceLog(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "2026-03-05T%02d:%02d:%02d.%03dZ ", i/3600%24, i/60%60, i%60, r.IntN(1000))
		switch k := r.IntN(100); {
		case i == n/2:
			b.WriteString("ERROR [main] db: connection lost: dial tcp 10.0.0.5:5432: refused\njava.lang.IllegalStateException: pool closed\n\tat com.acme.Pool.get(Pool.java:42)\nCaused by: java.net.ConnectException: refused\n\t... 3 more\n")
		case i == n*3/4:
			b.WriteString("FATAL [main] out of disk space on /var/lib/data\n")
		case i == n/3:
			b.WriteString("INFO  [main] configuration reloaded by admin\n")
		case k < 60:
			fmt.Fprintf(&b, "INFO  [worker-%d] request %08x from 10.0.%d.%d took %dms\n", r.IntN(16), r.Uint32(), r.IntN(256), r.IntN(256), r.IntN(900))
		case k < 90:
			fmt.Fprintf(&b, "DEBUG [worker-%d] cache hit for key user:%d\n", r.IntN(16), r.IntN(100000))
		case k < 99:
			fmt.Fprintf(&b, "WARN  [worker-%d] slow query (%d ms): SELECT * FROM t%d\n", r.IntN(16), r.IntN(9000), r.IntN(30))
		default:
			fmt.Fprintf(&b, "ERROR [worker-%d] timeout after %ds calling http://svc-%d/api\n", r.IntN(16), r.IntN(30), r.IntN(9))
		}
	}
	return b.Bytes()
}

// RandomLog is n lines of a log, no two alike.
func RandomLog(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "2026-03-05T00:00:%02d INFO ", i%60)
		for range 3 + r.IntN(12) {
			for range 3 + r.IntN(7) {
				b.WriteByte(byte('a' + r.IntN(26)))
			}
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
