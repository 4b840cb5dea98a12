package consent

import (
	"context"
	"encoding/json"
	"errors"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/scan"
	"rlmproxy/middleware/session"
)

// maxRefused is how often in a row a person may refuse before they are not asked any more, for
// as long as the answers of a session or of its client are remembered.
const maxRefused = 3

// ErrOpen is why a person is not asked: they have not answered the last question yet.
var ErrOpen = errors.New("the person has not answered the last question yet")

// ErrTired is why a person is not asked: they have refused too often.
var ErrTired = errors.New("the person has refused several times, and is not asked any more")

// AskAnew asks the person at the client of r whether they agree to what message says, whatever
// they said before: the answer is to this message alone. What in it does not show is written
// out. Result is as of Ask.
func (c *Consents) AskAnew(ctx context.Context, r *session.Request, message string) (said Answer, result json.RawMessage, err error) {
	if !CanBeAsked(r) {
		return NotAsked, nil, nil
	}
	message = scan.Visible(message)
	k := key{session: r.Session, tool: "\x00" + r.Name} // no tool's name
	if r.Stateless {
		k.session, k.party = nil, r.Session.Party
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.of(k)
	switch {
	case one.asked != nil:
		return NotAsked, nil, ErrOpen
	case one.dismissed >= maxRefused:
		return NotAsked, nil, ErrTired
	}
	if r.Stateless {
		if one.state != "" && one.message == message && jsonscan.StringMember(r.Params, "requestState") == one.state {
			if answer := jsonscan.Member(jsonscan.Member(r.Params, "inputResponses"), "consent"); answer != nil {
				one.state, one.message = "", ""
				return one.refusedOr(jsonscan.StringMember(answer, "action")), nil, nil
			}
		}
		one.state, one.message = newState(), message
		return NotAsked, inputRequired(one.state, form(message)), nil
	}
	one.asked = make(chan struct{})
	c.mu.Unlock()
	action, cannot, err := put(ctx, r, form(message))
	c.mu.Lock()
	close(one.asked)
	one.asked = nil
	if err != nil || cannot {
		return NotAsked, nil, err
	}
	return one.refusedOr(action), nil, nil
}

// refusedOr takes the action of an answer that counts once. c.mu must be held.
func (said *consent) refusedOr(action string) Answer {
	switch action {
	case "accept":
		said.dismissed = 0
		return Agreed
	case "decline":
		said.dismissed++
		return Declined
	}
	said.dismissed++
	return Dismissed
}
