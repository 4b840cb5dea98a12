package fleet

import (
	"bufio"
	"context"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// About is what a store says of itself. Of a cluster, that is one of its nodes.
type About struct {
	Software, Version string // as Redis, 7.0.15
	// MaxBytes is how much it may hold, zero as much as there is. Policy is what it does then.
	MaxBytes int64
	Policy   string
	// Lasts says that it writes its data to disk. Known is false where it does not say.
	Lasts, Known bool
}

// About asks the store for that.
func (s *Store) About(ctx context.Context) (a About, err error) {
	err = s.Run(ctx, func(ctx context.Context, c redis.Cmdable) error {
		text, err := c.Info(ctx).Result()
		if err != nil {
			return err
		}
		facts := map[string]string{}
		for in := bufio.NewScanner(strings.NewReader(text)); in.Scan(); {
			name, value, _ := strings.Cut(in.Text(), ":")
			facts[name] = value
		}
		a.Software, a.Version = "Redis", facts["redis_version"]
		if version := facts["valkey_version"]; version != "" {
			a.Software, a.Version = "Valkey", version
		}
		a.MaxBytes, _ = strconv.ParseInt(facts["maxmemory"], 10, 64) // a store that does not say has no bound
		a.Policy = facts["maxmemory_policy"]
		a.Lasts = facts["aof_enabled"] == "1"
		a.Known = a.Lasts
		if !a.Lasts {
			// Which a user with few rights may not ask.
			if save, err := c.ConfigGet(ctx, "save").Result(); err == nil {
				a.Lasts, a.Known = strings.TrimSpace(save["save"]) != "", true
			}
		}
		return nil
	})
	return a, err
}

// Unguarded says what of encryption and a password the URL of a store on other machines does
// not have, and which machine that is, "" if all are this one. The URL is a good one.
func Unguarded(text string) (host string, plain, open bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "unix" {
		return "", false, false
	}
	for _, at := range append([]string{u.Host}, u.Query()["addr"]...) {
		name := (&url.URL{Host: at}).Hostname()
		ip, err := netip.ParseAddr(name)
		if name == "localhost" || err == nil && ip.Unmap().IsLoopback() {
			continue
		}
		password, _ := u.User.Password()
		return name, u.Scheme != "rediss", password == ""
	}
	return "", false, false
}
