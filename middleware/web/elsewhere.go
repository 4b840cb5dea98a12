package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"rlmproxy/fleet"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/roster"
	"rlmproxy/middleware/rpc"
)

// What replicas tell each other of a session that several of them have:
//
//	heard    a message of the client: a notification for all, an answer for who has asked
//	changed  the record has another level, or other subscriptions
//	listens  the client listens at the replica that says so
//	told     a message to the client, for the replica that it listens at
//	ended    the session is over
//
// The kinds are for the bus of all sessions. Whoever is not concerned does not know the key.

// A toldKind is one of these.
type toldKind string

const (
	toldHeard   toldKind = "heard"
	toldChanged toldKind = "changed"
	toldListens toldKind = "listens"
	toldTold    toldKind = "told"
	toldEnded   toldKind = "ended"
)

// busKind is that of all of them on the bus.
const busKind = "session"

// A told is what one replica tells another.
type told struct {
	Kind    toldKind   `json:"kind"`
	Session roster.Key `json:"session"`
	Message []byte     `json:"message,omitempty"` // of JSON-RPC, as it was sent
	Gone    string     `json:"gone,omitempty"`    // changed: a URI that the client has unsubscribed
	Asked   string     `json:"asked,omitempty"`   // told: the replica that asks, where another has passed it on
}

// maxPassed bounds a message that replicas tell each other, in bytes: it is written in
// letters, 4 for 3 bytes.
const maxPassed = fleet.MaxTold/4*3 - 1<<10

// maxToAll bounds a notification of a client, which all replicas get: those of the protocol
// have some hundred bytes.
const maxToAll = 16 << 10

func (sh *shared) tellAll(t told) error { return sh.tell("", t) }

func (sh *shared) tell(to string, t told) error {
	return sh.store.Tell(sh.store.Life(), to, busKind, t)
}

// tellLater is tell for who must not wait for the store.
func (sh *shared) tellLater(to string, t told) {
	sh.tells.Add("", len(t.Message), func(context.Context) { _ = sh.tell(to, t) })
}

// listen has what others tell heard.
func (sh *shared) listen() { sh.store.Handle(busKind, sh.hear) }

// hear takes what another replica tells. It does not block. Whoever may write to the store
// may tell anything, to any session that it knows the key of.
func (sh *shared) hear(from string, body json.RawMessage) {
	var t told
	if json.Unmarshal(body, &t) != nil {
		return
	}
	if t.Kind == toldEnded {
		sh.ended(t.Session)
		return
	}
	s := sh.of(t.Session)
	if s == nil {
		return
	}
	switch t.Kind {
	case toldChanged:
		s.sharing.follows.Add("changed "+t.Gone, len(t.Gone), func(ctx context.Context) { sh.catchUp(ctx, s, t.Gone) })
	case toldListens:
		s.sharing.setListener(from)
		for _, m := range s.streams.listening.unread() {
			sh.passOn(s, from, m)
		}
	case toldHeard, toldTold:
		m, err := rpc.Parse(t.Message)
		switch {
		case err != nil:
		case t.Kind == toldTold && m.Method != "":
			sh.forward(s, from, t, m)
		case t.Kind == toldHeard && m.Method == "" && m.ID != nil && (m.Result != nil || m.Error != nil):
			if s.roamer().Waits(m.ID) {
				sh.do(func() { _ = s.client.Receive(s.life, m) }) // it may wait for room
			}
		case t.Kind == toldHeard && m.Method != "" && m.ID == nil:
			_ = s.client.Receive(s.life, m) // notifications are not refused
		}
	}
}

func (x *sharing) setListener(replica string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.listener = replica
}

func (x *sharing) listensAt() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.listener
}

// catchUp does here what the record of a session has, and ends the subscription to a URI that
// it has no more.
func (sh *shared) catchUp(ctx context.Context, s *session, gone string) {
	rec, err := sh.roster.Find(ctx, s.sharing.key)
	switch {
	case err != nil: // back comes here again
	case rec == nil:
		sh.renew(s) // which knows why
	default:
		sh.follow(ctx, s, rec, gone, false)
	}
}

// follow does here what a record has. Again has servers told what they may know.
func (sh *shared) follow(ctx context.Context, s *session, rec *roster.Record, gone string, again bool) {
	do := func(method, member, value string) {
		if err := s.roamer().Follow(ctx, method, jsonscan.Object(member, jsonscan.Quote(value))); err != nil {
			sh.h.log.Debug("what a client has asked another replica for is not done here", "method", method, "error", err)
		}
	}
	if rec.Level != "" && (again || rec.Level != s.roamer().Past().Level) {
		do("logging/setLevel", "level", rec.Level)
	}
	have := map[string]bool{}
	for _, uri := range s.roamer().Subscriptions() {
		have[uri] = true
	}
	for _, uri := range rec.Subscriptions {
		if uri == gone {
			gone = "" // it was subscribed to again
		}
		if !have[uri] {
			do("resources/subscribe", "uri", uri)
		}
	}
	if gone != "" && have[gone] {
		do("resources/unsubscribe", "uri", gone)
	}
}

// observe has others learn what the requests of a POST change of a session: before the client
// hears that they have, since it may ask another replica next.
func (sh *shared) observe(s *session, stream *stream, msgs []rpc.Message) {
	if sh == nil {
		return
	}
	ids := []byte{'['}
	changes := map[string]change{}
	for _, m := range msgs {
		if m.Method == "" || m.ID == nil {
			continue
		}
		if len(ids)+len(m.ID) <= maxAnswers {
			ids = jsonscan.AppendElement(ids, m.ID)
		}
		switch m.Method {
		case "initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
			changes[string(m.ID)] = change{m.Method, jsonscan.StringMember(m.Params, "uri")}
		}
	}
	stream.answers = answersOf(append(ids, ']'))
	if len(changes) > 0 {
		stream.answering = func(answer rpc.Message) {
			if c, ok := changes[string(answer.ID)]; ok && answer.Error == nil {
				sh.changed(s, c)
			}
		}
	}
}

// A change is a request that changes what others know of a session.
type change struct{ method, uri string }

// changed has others learn what an answered request has changed.
func (sh *shared) changed(s *session, c change) {
	x, life := s.sharing, sh.store.Life()
	var state roster.State
	var err error
	t := told{Kind: toldChanged, Session: x.key}
	switch c.method {
	case "initialize":
		sh.save(s)
		return
	case "logging/setLevel":
		state, err = sh.roster.SetLevel(life, x.key, s.roamer().Past().Level)
	case "resources/subscribe":
		state, err = sh.roster.Subscribe(life, x.key, c.uri)
	case "resources/unsubscribe":
		state, err = sh.roster.Unsubscribe(life, x.key, c.uri)
		t.Gone = c.uri
	}
	sh.noted(s, state, err)
	if err == nil {
		_ = sh.tellAll(t)
		// Others may have changed the record at the same time, and this replica have heard of
		// it too early.
		x.follows.Add("changed", 0, func(ctx context.Context) { sh.catchUp(ctx, s, "") })
	}
}

// pass hands a message of the client to the replicas that it is for. Passed says that it is
// not for this one. Requests are for whoever gets them.
func (sh *shared) pass(ctx context.Context, s *session, m rpc.Message) (passed bool, err error) {
	if sh == nil || m.Method != "" && m.ID != nil {
		return false, nil
	}
	t := told{Kind: toldHeard, Session: s.sharing.key}
	switch m.Method {
	case "":
		replica := sh.otherOf(m.ID)
		if replica == "" {
			return false, nil
		}
		if t.Message = m.Bytes(); len(t.Message) > maxPassed {
			t.Message = rpc.Message{ID: m.ID, Error: rpc.ErrorObject(tooLong("the client's answer", len(t.Message)))}.Bytes()
		}
		return true, sh.tellAnswer(ctx, replica, t)
	case "notifications/progress":
		replica := sh.otherOf(jsonscan.Member(m.Params, "progressToken"))
		if replica == "" {
			return false, nil
		}
		if t.Message = m.Bytes(); len(t.Message) <= maxPassed {
			_ = sh.tell(replica, t)
		}
		return true, nil
	case "notifications/cancelled":
		if s.roamer().Serves(jsonscan.Member(m.Params, "requestId")) {
			return false, nil
		}
	case "notifications/initialized":
		if !s.sharing.resumed { // where it was begun somebody waits for that
			return false, nil
		}
	}
	// The servers behind each replica are other processes, or know it as another client.
	if t.Message = m.Bytes(); len(t.Message) > maxToAll {
		sh.h.log.Debug("a notification is too long for other replicas", "method", m.Method, "bytes", len(t.Message))
	} else {
		_ = sh.tellAll(t)
	}
	return false, nil
}

// answerTime is how long a client's answer waits for a store that is away, answerEvery how often
// it is tried. The client would not send it again, and the question wait for nothing.
const answerTime, answerEvery = 15 * time.Second, 500 * time.Millisecond

// patiently does f, again as long as the store is away. Late says that it was.
func (sh *shared) patiently(ctx context.Context, f func() error) (late bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	tick := time.NewTicker(answerEvery)
	defer tick.Stop()
	for {
		err := f()
		var away *fleet.AwayError
		if !errors.As(err, &away) {
			return late, err
		}
		late = true
		select {
		case <-tick.C:
		case <-ctx.Done():
			return true, err
		case <-sh.h.drain:
			return true, err
		}
	}
}

// tellAnswer tells another replica what a client has answered. It may arrive twice: the
// second finds nobody waiting.
func (sh *shared) tellAnswer(ctx context.Context, to string, t told) error {
	late, err := sh.patiently(ctx, func() error { return sh.tell(to, t) })
	if err == nil && late { // the other replica may have been about to subscribe again
		sh.do(func() {
			select {
			case <-time.After(2 * answerEvery):
				_ = sh.tell(to, t)
			case <-sh.store.Life().Done():
			}
		})
	}
	return err
}

// tooLong is the error for what does not fit between replicas.
func tooLong(what string, n int) error {
	return fmt.Errorf("%s has %d bytes, more than the %d that replicas of the proxy tell each other: it passes where the session's requests all come to one replica", what, n, maxPassed)
}

// replicaOf is the replica that has asked a client with this id, or token, as in "rlm-NAME-2-7".
// It is "" for what has no such form.
func replicaOf(id json.RawMessage) string {
	parts := strings.Split(strings.Trim(string(id), `"`), "-")
	if len(parts) != 4 || parts[0] != "rlm" || len(parts[1]) > 32 || strings.Trim(parts[1], replicaLetters) != "" {
		return ""
	}
	return parts[1]
}

// otherOf is replicaOf where that is another replica, else "".
func (sh *shared) otherOf(id json.RawMessage) string {
	if replica := replicaOf(id); replica != sh.store.Replica() {
		return replica
	}
	return ""
}

const replicaLetters = "abcdefghijklmnopqrstuvwxyz0123456789"

// askTime is how often a replica is looked for that has passed a question on to a client.
const askTime = 5 * time.Second

// elsewhere hands what servers tell and ask a client to the replica that the client listens
// at, where that is another one.
func (sh *shared) elsewhere(s *session) func(ctx context.Context, m rpc.Message) (bool, error) {
	if sh == nil {
		return nil
	}
	return func(ctx context.Context, m rpc.Message) (bool, error) {
		replica := s.sharing.listensAt()
		if replica == "" || replica == sh.store.Replica() || s.streams.listening.reachable() {
			return false, nil
		}
		if m.ID == nil {
			sh.passOn(s, replica, &m)
			return true, nil
		}
		t := told{Kind: toldTold, Session: s.sharing.key, Message: m.Bytes()}
		if len(t.Message) > maxPassed {
			return true, tooLong("the question", len(t.Message))
		}
		alive, err := sh.store.Alive(ctx, replica)
		if err == nil && !alive {
			return false, nil // the client is not reached, as it says
		}
		if err == nil {
			err = sh.tell(replica, t)
		}
		if err == nil {
			id := strings.Clone(string(m.ID))
			sh.do(func() { sh.await(ctx, s, replica, json.RawMessage(id)) })
		}
		return true, err
	}
}

// passOn hands a message without an answer to the replica that the client listens at.
func (sh *shared) passOn(s *session, replica string, m *rpc.Message) {
	if t := (told{Kind: toldTold, Session: s.sharing.key, Message: m.Bytes()}); len(t.Message) <= maxPassed {
		sh.tellLater(replica, t)
	}
}

// forward sends a client that listens here what a server behind another replica says. If it
// has gone on to listen elsewhere meanwhile, that is passed on, once. A question that it
// cannot be sent fails where it was asked.
func (sh *shared) forward(s *session, from string, t told, m rpc.Message) {
	replica := s.sharing.listensAt()
	if !s.streams.listening.reachable() && replica != "" && replica != sh.store.Replica() && t.Asked == "" {
		t.Asked = from
		sh.tellLater(replica, t)
		return
	}
	if t.Asked != "" {
		from = t.Asked
	}
	if m.ID == nil {
		s.streams.listening.push(m)
		return
	}
	err := errors.New("the client has no stream open on which it could be asked")
	if s.streams.listening.reachable() {
		if err = s.streams.room(); err == nil {
			s.streams.listening.push(m)
			return
		}
	}
	answer := rpc.Message{ID: m.ID, Error: rpc.ErrorObject(err)}
	if from == sh.store.Replica() { // it came back
		_ = s.client.Receive(s.life, answer)
		return
	}
	sh.tellLater(from, told{Kind: toldHeard, Session: s.sharing.key, Message: answer.Bytes()})
}

// await fails a question that another replica has passed on when that one is lost.
func (sh *shared) await(ctx context.Context, s *session, replica string, id json.RawMessage) {
	tick := time.NewTicker(askTime)
	defer tick.Stop()
	for s.roamer().Waits(id) {
		select {
		case <-ctx.Done():
			return
		case <-s.life.Done():
			return
		case <-tick.C:
		}
		if alive, err := sh.store.Alive(ctx, replica); err == nil && !alive {
			lost := errors.New("the client listened at a replica of the proxy that is lost, and may not have been asked")
			_ = s.client.Receive(ctx, rpc.Message{ID: id, Error: rpc.ErrorObject(lost)})
			return
		}
	}
}

// listens has others know that the client listens here.
func (sh *shared) listens(s *session) {
	if sh == nil || !s.client.Initialized() {
		return
	}
	s.sharing.setListener(sh.store.Replica())
	state, err := sh.roster.Listen(sh.store.Life(), s.sharing.key)
	if sh.noted(s, state, err); err == nil {
		_ = sh.tellAll(told{Kind: toldListens, Session: s.sharing.key})
	}
}
