package upstream

import (
	"slices"
	"time"
)

// maxRestarts is how many links in a minute may end soon after they began, by a
// crash or a session that the server forgot, and be replaced at once. A server
// behind a balancer that knows no sessions forgets each.
const maxRestarts = 5

// An allowance is when links that ended soon have been replaced.
type allowance []time.Time

// spend reports whether one more may be replaced at once.
func (a *allowance) spend(now time.Time) bool {
	*a = slices.DeleteFunc(*a, func(t time.Time) bool { return now.Sub(t) > time.Minute })
	if len(*a) >= maxRestarts {
		return false
	}
	*a = append(*a, now)
	return true
}
