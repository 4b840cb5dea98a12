package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/observe"
)

var errFull = errors.New("the disk or the reader of stderr is too slow")

// A record is a line. docs/operations.md says what its fields mean.
type record struct {
	Time      string           `json:"time"`
	ID        string           `json:"id"`
	For       string           `json:"for,omitempty"`
	Agent     string           `json:"agent"`
	Client    string           `json:"client,omitempty"`
	Trace     string           `json:"trace_id,omitempty"`
	Method    string           `json:"method"`
	Server    string           `json:"server,omitempty"`
	Tool      string           `json:"tool,omitempty"`
	Prompt    string           `json:"prompt,omitempty"`
	ArgsHash  string           `json:"args_hash,omitempty"`
	Outcome   observe.Outcome  `json:"outcome"`
	Error     string           `json:"error,omitempty"`
	MS        float64          `json:"ms"`
	QueuedMS  float64          `json:"queued_ms,omitempty"`
	TokensIn  int              `json:"tokens_in"`
	TokensOut int              `json:"tokens_out"`
	ReadID    cache.ID         `json:"read_id,omitempty"`
	CacheID   cache.ID         `json:"cache_id,omitempty"`
	Handles   []observe.Handle `json:"handles,omitempty"`
	Arguments json.RawMessage  `json:"arguments,omitempty"`
	Result    json.RawMessage  `json:"result,omitempty"`
}

// timeForm is RFC 3339 in milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

// newProcess tells the ids of this process from those of others that write to the same
// file.
func newProcess() string { return strings.ToLower(rand.Text()[:8]) }

// line is what is written of a call.
func (l *Log) line(c *observe.Call) []byte {
	r := record{
		Time: c.Begun.UTC().Format(timeForm), ID: l.id(c.Number), Agent: c.Agent, Client: c.Client,
		Trace: c.Trace, Method: c.Method, Server: c.Server, ArgsHash: l.hash(c.Arguments),
		Outcome: c.Outcome, Error: c.Error, MS: ms(c.Took), QueuedMS: ms(c.Queued),
		TokensIn: c.TokensIn, TokensOut: c.TokensOut, ReadID: c.ReadID, CacheID: c.CacheID,
		Handles: c.Handles,
	}
	if c.For != 0 {
		r.For = l.id(c.For)
	}
	if c.Method == "prompts/get" {
		r.Prompt = c.Name
	} else {
		r.Tool = c.Name
	}
	switch l.opts.Content {
	case ContentAll:
		r.Result = l.content(c.Result)
		fallthrough
	case ContentArguments:
		r.Arguments = l.content(c.Arguments)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil { // what Redact gave is no JSON
		r.Arguments, r.Result = nil, nil
		out.Reset()
		_ = enc.Encode(r) // all else always encodes
	}
	return out.Bytes()
}

func (l *Log) id(number int64) string { return l.process + "-" + strconv.FormatInt(number, 10) }

// ms is a time in milliseconds, to the microsecond.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// hash is a keyed hash of arguments as they were sent. Of 16 bytes no two are alike by
// chance.
func (l *Log) hash(arguments json.RawMessage) string {
	if len(arguments) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, l.opts.Key)
	mac.Write(arguments)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// maxContent bounds the arguments and the result in a line, in bytes. Longer ones would
// have to be searched for secrets as a whole to show a part of them.
const maxContent = 64 << 10

// content is arguments, or a result, as they are written.
func (l *Log) content(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) == 0:
		return nil
	case len(raw) > maxContent:
		return fmt.Appendf(nil, `"(%d bytes, too long for this log)"`, len(raw))
	}
	return l.opts.Redact(raw)
}

// gap is a line that says how many lines are missing.
func gap(lost int) []byte {
	return fmt.Appendf(nil, "{\"time\":%q,\"lost\":%d}\n", time.Now().UTC().Format(timeForm), lost)
}
