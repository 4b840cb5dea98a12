package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
)

// A Message is one JSON-RPC message, its parts sliced out of what the other side
// sent, or about to be sent. Parts that are absent are nil.
//
//	request        ID and Method
//	notification   Method
//	response       ID and either Result or Error
type Message struct {
	ID     json.RawMessage // as written: a string or a number
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// Parse slices one message. It checks all of data as strictly as
// [jsonscan.Members], so that the parts can stand in another message as they are.
// Of a repeated key the last one counts, as with encoding/json. It copies nothing.
func Parse(data []byte) (Message, error) {
	var m Message
	err := jsonscan.Members(data, func(key string, value json.RawMessage) error {
		switch key {
		case "id":
			m.ID = value
		case "method":
			if value[0] != '"' {
				return fmt.Errorf("%w: its method is not a string", ErrNotMessage)
			}
			m.Method = jsonscan.Unquote(value)
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			m.Error = value
		}
		return nil
	})
	return m, err
}

// Trim is a message without the blanks around it and the byte order mark that may stand
// before it: some programs write one before all text.
func Trim(data []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\xef\xbb\xbf")))
}

// Clone returns m in memory of its own.
func (m Message) Clone() Message {
	m.ID, m.Params = bytes.Clone(m.ID), bytes.Clone(m.Params)
	m.Result, m.Error = bytes.Clone(m.Result), bytes.Clone(m.Error)
	return m
}

// Parts returns the message as JSON in three parts, to be written one behind the
// other: body is what m holds of params, result or error, not copied.
func (m Message) Parts() (head, body, tail []byte) {
	head = make([]byte, 0, len(m.ID)+len(m.Method)+64)
	head = append(head, `{"jsonrpc":"2.0"`...)
	if m.ID != nil {
		head = append(append(head, `,"id":`...), m.ID...)
	}
	switch {
	case m.Method != "":
		name, _ := json.Marshal(m.Method) // any string encodes
		head = append(append(head, `,"method":`...), name...)
		if m.Params != nil {
			head, body = append(head, `,"params":`...), m.Params
		}
	case m.Error != nil:
		head, body = append(head, `,"error":`...), m.Error
	default:
		head, body = append(head, `,"result":`...), m.Result
	}
	return head, body, []byte{'}'}
}

// Bytes returns the message as JSON.
func (m Message) Bytes() []byte {
	head, body, tail := m.Parts()
	return append(append(head, body...), tail...)
}

// OneLine replaces line ends between the tokens of b, which is JSON: strings
// cannot hold any. It returns b itself where there are none.
func OneLine(b []byte) []byte {
	if bytes.IndexByte(b, '\n') < 0 && bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, b)
}

// maxIDBytes bounds an id: each is held until its request has been answered.
const maxIDBytes = 1 << 10

// checkID refuses what the protocol does not allow as the id of a request: all but
// strings and numbers (JSON-RPC 2.0, section 4; MCP has no null).
func checkID(id json.RawMessage) error {
	switch {
	case len(id) > maxIDBytes:
		return fmt.Errorf("the id has more than %d bytes", maxIDBytes)
	case id[0] == '"', id[0] == '-', '0' <= id[0] && id[0] <= '9':
		return nil
	}
	return errors.New("the id is neither a string nor a number")
}

// Answer returns what a response holds: its result, or its error as a [Failure].
func (m Message) Answer() (json.RawMessage, error) {
	switch {
	case m.Error != nil && m.Error[0] == '{':
		var e jsonrpc.Error
		if err := json.Unmarshal(m.Error, &e); err != nil {
			return nil, fmt.Errorf("%w: its error object: %w", ErrBadAnswer, brief{err})
		}
		return nil, &Failure{m.Error, &e}
	case m.Result == nil:
		return nil, fmt.Errorf("%w: neither result nor error", ErrBadAnswer)
	}
	return m.Result, nil
}
