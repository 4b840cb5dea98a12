package wire

import (
	"encoding/json"
	"errors"

	"rlmproxy/jsonscan"
)

// Message is one JSON-RPC message, its parts sliced out of the line and not
// decoded. Absent parts are nil; of a repeated key the last one counts, as with
// encoding/json.
type Message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// Split slices a line into the parts of a message. It validates the whole line:
// what it returns can be spliced into another message as it stands. Cost: one
// pass, no copy.
func Split(line []byte) (Message, error) {
	var m Message
	err := jsonscan.Members(line, func(key string, value json.RawMessage) error {
		switch key {
		case "id":
			m.ID = value
		case "method":
			if value[0] != '"' {
				return errors.New("method is not a string")
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
