package upstream

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"rlmproxy/pipeline/show"
)

// lastMoments is how long before the end of a session that worked a server says on stderr
// why it ends. What it wrote before has nothing to do with that.
const lastMoments = 5 * time.Second

// why says why the session is over, as far as that is known: err is all that was seen.
func (s *session) why(err error) error {
	select {
	case <-s.pulse.stopped:
		return errSilent
	default:
	}
	how := s.Exit()
	if how == "" {
		return err
	}
	s.ended.Do(func() { // many calls may ask
		s.reason = s.withStderr(errors.New(how), time.Now().Add(-lastMoments))
	})
	return s.reason
}

// withStderr is err with what the server wrote to stderr since then, if it is started here:
// "exit status 1" helps nobody.
func (s *session) withStderr(err error, since time.Time) error {
	c, ok := s.conn.(interface{ Stderr(since time.Time) string })
	if !ok {
		return err
	}
	if said := telling(s.hooks.opts.Mask(c.Stderr(since))); said != "" {
		return fmt.Errorf("%w; stderr: %s", err, said)
	}
	return err
}

const (
	maxTelling      = 3   // lines of stderr in an error
	maxTellingBytes = 300 // of all
)

var (
	// blames are words of lines that say what is wrong.
	blames = regexp.MustCompile(`(?i)error|exception|panic|fatal|fail|missing|required|cannot|can't|denied|invalid|not found|unable`)
	// place says nothing of the reason: where in the program it was, and what runtimes write
	// around that.
	place = regexp.MustCompile(`^\s|^[^\pL\pN]*$|^\S+:\d+$|^throw |^Traceback |^Node\.js v|A complete log of this run`)
)

// telling is what text, the end of a server's stderr, says of the reason: the first line that
// names a mistake with the one behind it, and the last; or the last few where none does. Each is
// quoted, so that it cannot pass for something that we say.
func telling(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
	if top := slices.DeleteFunc(slices.Clone(lines), place.MatchString); len(top) > 0 {
		lines = top
	}
	if first := slices.IndexFunc(lines, blames.MatchString); first >= 0 && len(lines)-first > maxTelling {
		lines = append(slices.Clone(lines[first:first+maxTelling-1]), lines[len(lines)-1])
	}
	lines = lines[max(0, len(lines)-maxTelling):]
	for i, l := range lines {
		lines[i] = strconv.Quote(show.ClipBytes(strings.TrimSpace(l), maxTellingBytes/len(lines)))
	}
	return strings.Join(lines, ", ")
}
