package upstream

import (
	"context"
	"errors"
	"slices"
	"time"
)

// forgotten reports whether l has ended because the server does not know its
// session any more: it is there, and a new one is all that it takes.
func forgotten(l link) bool {
	h, ok := l.(*httpLink)
	return ok && errors.Is(context.Cause(h.life), errForgotten)
}

// maxForgets is how many sessions a server may forget soon after they began, in
// a minute. One behind a balancer that knows no sessions forgets each.
const maxForgets = 5

// An allowance is when sessions that were forgotten soon have been replaced.
type allowance []time.Time

// spend reports whether one more may be replaced at once.
func (a *allowance) spend(now time.Time) bool {
	*a = slices.DeleteFunc(*a, func(t time.Time) bool { return now.Sub(t) > time.Minute })
	if len(*a) >= maxForgets {
		return false
	}
	*a = append(*a, now)
	return true
}
