package fleet

import (
	"strings"
	"testing"

	"rlmproxy/fleet/fleettest"
)

// TestAbout: what the store says of itself.
func TestAbout(t *testing.T) {
	for _, tt := range []struct {
		args           []string
		max            int64
		policy         string
		lasts, refuses bool
		known          bool
	}{
		{nil, 0, "noeviction", false, false, true},
		{[]string{"--appendonly", "yes", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, 100 << 20, "allkeys-lru", true, false, true},
		{[]string{"--save", "60 1000"}, 0, "noeviction", true, false, true},
		{nil, 0, "noeviction", false, true, false},
	} {
		server := fleettest.Start(t, tt.args...)
		if tt.refuses {
			if err := server.Client.Do(t.Context(), "ACL", "SETUSER", "admin", "-config").Err(); err != nil {
				t.Fatal(err)
			}
		}
		a, err := open(t, Options{URL: server.AdminURL()}).About(t.Context())
		if err != nil || a.Version == "" || a.Software == "" || strings.TrimSpace(a.Version) != a.Version {
			t.Errorf("%v: %+v %v", tt.args, a, err)
		}
		if a.MaxBytes != tt.max || a.Policy != tt.policy || a.Lasts != tt.lasts || a.Known != tt.known {
			t.Errorf("%v: %+v", tt.args, a)
		}
	}
}

func TestUnguarded(t *testing.T) {
	for url, want := range map[string]struct {
		host        string
		plain, open bool
	}{
		"redis://localhost": {}, "redis://127.0.0.1:6379": {}, "redis://[::1]:6379": {}, "unix:///run/redis.sock": {},
		"redis://valkey:6379":                                          {"valkey", true, true},
		"redis://:p@10.0.0.1":                                          {"10.0.0.1", true, false},
		"rediss://h":                                                   {"h", false, true},
		"rediss://u:p@h:6379?cluster=true":                             {"h", false, false},
		"redis://localhost?master_name=m&addr=other:26379":             {"other", true, true},
		"redis://u:p@localhost:26379?master_name=m&addr=[::1]:26379":   {},
		"redis://u:p@localhost:26379?master_name=m&addr=10.0.0.1:2637": {"10.0.0.1", true, false},
	} {
		host, plain, open := Unguarded(url)
		if host != want.host || plain != want.plain || open != want.open {
			t.Errorf("%s: %s %v %v", url, host, plain, open)
		}
	}
}
