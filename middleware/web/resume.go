package web

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/rpc"
)

// With other replicas, the id of a stream says where it is: replica, session there, number,
// and of what answers requests, these requests' ids.
//
//	k3v9x2m8q4-7-0        the stream on which a client listens
//	k3v9x2m8q4-7-3-5b315d the one for the answer to request 1
//
// A client whose connection was cut comes with the id of the last event that it has got, to
// any replica. What the SDKs do with the answer, read in their sources:
//
//	                      TypeScript 1.32       Python 2               Go 1.8
//	an error of HTTP      two more tries        one more try           the session fails
//	204                   waits for its timeout waits for its timeout  the call fails
//	a stream that ends    comes back            comes back             comes back, if the id is another
//	an error as an event  the call fails        the call fails         the call fails
//
// So no client of ours is answered with an error of HTTP. To listen it begins anew. For an
// answer it is sent back until it finds the replica; where that is lost, its request fails.

// maxAnswers bounds the ids of requests in that of their stream, in bytes.
const maxAnswers = 64

// answersOf is what says in the id of a stream which requests it answers: ids is an array.
func answersOf(ids []byte) string {
	if len(ids) <= 2 {
		return ""
	}
	return "-" + hex.EncodeToString(ids)
}

// A place is what an event's id says of its stream.
type place struct {
	replica, session, stream string
	answers                  json.RawMessage // ids of requests, an array; nil: unknown
	n                        string          // of the event
	tries                    int             // how often the client was sent back
}

// parsePlace reads an id as eventID and comeBack write them.
func parsePlace(event string) (p place, ok bool) {
	stream, number, ok := strings.Cut(event, "_")
	parts := strings.Split(stream, "-")
	if !ok || len(event) > 512 || len(parts) < 3 || len(parts) > 4 || len(parts[0]) > 32 || strings.Trim(parts[0], replicaLetters) != "" {
		return p, false
	}
	p = place{replica: parts[0], session: parts[1], stream: parts[2]}
	var tries string
	if p.n, tries, ok = strings.Cut(number, "_"); ok {
		p.tries, _ = strconv.Atoi(tries)
	}
	for _, digits := range []string{p.session, p.stream, p.n, tries} {
		if len(digits) > 18 || strings.Trim(digits, "0123456789") != "" {
			return p, false
		}
	}
	if len(parts) == 4 {
		ids, err := hex.DecodeString(parts[3])
		if err != nil || !json.Valid(ids) || ids[0] != '[' {
			return p, false
		}
		p.answers = ids
	}
	return p, p.session != "" && p.stream != "" && p.n != ""
}

// again is the id of the event after which the client comes once more.
func (p place) again() string {
	id := p.replica + "-" + p.session + "-" + p.stream
	if p.answers != nil {
		id += answersOf(p.answers)
	}
	return id + "_" + p.n + "_" + strconv.Itoa(p.tries+1)
}

// listens reports whether the stream is one on which a client listens.
func (p place) listens() bool { return strings.Trim(p.stream, "0") == "" }

// lostTries is the number of tries that says that a client has heard that its answer is
// lost.
const lostTries = 1_000_000

// resume answers a client that comes for a stream which is not here, unless the client
// listens: that begins anew here. Answered is false too for what is no id of ours.
func (sh *shared) resume(w http.ResponseWriter, event string) (listens, answered bool) {
	p, ok := parsePlace(event)
	wait := min(retryTime, sh.h.opts.ResumeTime/20)
	switch {
	case !ok || p.listens():
		return ok, false
	case p.tries >= lostTries || p.answers == nil: // it has heard all that there is
		w.WriteHeader(http.StatusNoContent)
		return false, true
	case p.replica != sh.store.Replica() && time.Duration(p.tries)*wait <= sh.h.opts.ResumeTime:
		if alive, err := sh.store.Alive(sh.store.Life(), p.replica); alive || err != nil {
			out := newResponse(w, true)
			_ = out.back(p.again(), wait)
			return false, true
		}
	}
	p.tries = lostTries - 1
	out, lost := newResponse(w, true), rpc.ErrorObject(errLost)
	_ = jsonscan.Elements(p.answers, func(id json.RawMessage) error {
		return out.event(p.again(), &rpc.Message{ID: id, Error: lost})
	})
	return false, true
}

var errLost = errors.New("the answer is lost: the replica of the proxy that worked on the request has gone, or has waited for the client too long; what the request does may have been done")

// comeBack has a client come again later whose session nobody knows now: an error of HTTP
// would end the session for some.
func comeBack(w http.ResponseWriter, event string, wait time.Duration) {
	p, ok := parsePlace(event)
	if !ok {
		p = place{replica: "0", session: "0", stream: "0", n: "0"}
	}
	_ = newResponse(w, true).back(p.again(), wait)
}
