package fleet

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Check reports what is wrong with the URL of a store, without the URL, which may hold a
// password. It takes those of go-redis:
//
//	redis://user:password@host:6379/0   rediss:// is the same over TLS
//	unix://user:password@/run/redis.sock?db=0
//	redis://host:26379?master_name=main&addr=host2:26379   is sentinels
//	redis://host:6379?cluster=true&addr=host2:6379         is a cluster
func Check(text string) error {
	c, err := dial(text)
	if err == nil {
		_ = c.Close()
	}
	return err
}

// dial returns a client, which has not connected yet.
func dial(text string) (redis.UniversalClient, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("it is not a URL")
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix":
		return nil, errors.New("it must begin with redis://, rediss:// or unix://")
	case u.Scheme != "unix" && u.Hostname() == "":
		return nil, errors.New("it names no host")
	}
	q := u.Query()
	cluster := q.Get("cluster") == "true"
	q.Del("cluster")
	u.RawQuery = q.Encode()
	switch {
	case q.Has("master_name"):
		o, err := redis.ParseFailoverURL(u.String())
		if err != nil {
			return nil, plain(err)
		}
		bound(&o.MaxRetries, &o.DialerRetries, &o.ContextTimeoutEnabled)
		o.DisableIdentity = true
		return redis.NewFailoverClient(o), nil
	case cluster:
		o, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return nil, plain(err)
		}
		bound(&o.MaxRetries, &o.DialerRetries, &o.ContextTimeoutEnabled)
		o.DisableIdentity, o.MaintNotificationsConfig = true, noNotices()
		return redis.NewClusterClient(o), nil
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, plain(err)
	}
	bound(&o.MaxRetries, &o.DialerRetries, &o.ContextTimeoutEnabled)
	o.DisableIdentity, o.MaintNotificationsConfig = true, noNotices()
	return redis.NewClient(o), nil
}

// noNotices has a connection begin without commands that a user of the store would need
// further rights for: what it is, and that it would like to hear of maintenance.
func noNotices() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// bound has the client hold to a context, and try once more at most where a connection was
// closed behind its back: the package sees to the rest.
func bound(retries, dials *int, contexts *bool) {
	*contexts = true
	if *retries == 0 {
		*retries = 1
	}
	if *dials == 0 {
		*dials = 1
	}
}

// plain is what go-redis finds wrong with a URL, unless it repeats parts of it.
func plain(err error) error {
	text, known := strings.CutPrefix(err.Error(), "redis: ")
	if name, ok := strings.CutPrefix(text, "unexpected option: "); known && ok {
		return fmt.Errorf("it has an unknown parameter: %s", name)
	}
	return errors.New("it is not as in redis://user:password@host:6379/0, or one of its parameters is wrong")
}
