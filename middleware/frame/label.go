package frame

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/rpc"
)

// Label returns a result of a server's, of any method, that reaches an agent as it came:
// each text that begins as a line of ours gets a line above it that says whose it is.
func Label(raw json.RawMessage, server string) json.RawMessage {
	if !mayImitate(raw) {
		return raw
	}
	return labelResult(raw, quotedLine(From(server)), true)
}

// mayImitate looks at the begin of each text, wherever it is.
func mayImitate(raw []byte) bool {
	return anyX(raw, func(at int) bool {
		rest, ok := after(raw[at+1:], 't', `\u0074`)
		if !ok || len(rest) == 0 || rest[0] != '"' {
			return false
		}
		i := jsonscan.SkipSpace(rest, 1)
		if i == len(rest) || rest[i] != ':' { // a value: "type":"text"
			return false
		}
		i = jsonscan.SkipSpace(rest, i+1)
		return i+1 < len(rest) && rest[i] == '"' && startsLikeOurs(rest[i:])
	})
}

// startsLikeOurs is [Imitates] for the text that begins with a JSON string; what follows
// the string does not matter. Of a long text it looks at the begin.
func startsLikeOurs(quoted []byte) bool {
	if c := quoted[1]; c > ' ' && c < 0x7f && c != '\\' && !mayBegin[c] {
		return false
	}
	for size := 256; ; size *= 8 {
		head := quoted[:min(len(quoted), size)]
		if end := jsonscan.SkipString(head, 0); end < len(head) || len(head) == len(quoted) {
			return Imitates(jsonscan.AppendUnquoted(nil, head[:end]))
		}
		text := jsonscan.AppendUnescaped(nil, head[1:wholeEscapes(head)])
		if blank(text) < len(text)/2 { // the rest has more than a line of ours needs
			return Imitates(text)
		}
	}
}

// wholeEscapes is a place near the end of head, the begin of a JSON string, that is not
// within an escape.
func wholeEscapes(head []byte) int {
	i := 1
	for i < len(head)-6 {
		switch {
		case head[i] != '\\':
			i++
		case head[i+1] == 'u':
			i += 6
		default:
			i += 2
		}
	}
	return i
}

// labelResult labels the texts of content, a prompt's messages, a resource's contents
// and, at the top, those of the result that a task has.
func labelResult(raw, line json.RawMessage, top bool) json.RawMessage {
	return rewritten(raw, func(key string, value json.RawMessage) json.RawMessage {
		switch {
		case key == "content", key == "contents":
			return eachOf(value, func(block json.RawMessage) json.RawMessage { return labelBlock(block, line) })
		case key == "messages":
			return eachOf(value, func(m json.RawMessage) json.RawMessage { return labelResult(m, line, false) })
		case key == "result" && top:
			return labelResult(value, line, false)
		}
		return value
	})
}

// labelBlock labels the text of a block of content, or of the resource within it.
func labelBlock(block, line json.RawMessage) json.RawMessage {
	return rewritten(block, func(key string, value json.RawMessage) json.RawMessage {
		switch {
		case key == "text" && value[0] == '"' && startsLikeOurs(value):
			return append(append([]byte{'"'}, line...), value[1:]...)
		case key == "resource":
			return labelBlock(value, line)
		}
		return value
	})
}

// quotedLine is a line as it stands within a JSON string.
func quotedLine(line string) json.RawMessage {
	quoted := jsonscan.Quote(line)
	return quoted[1 : len(quoted)-1]
}

// rewritten is [jsonscan.Rewrite] for an object; anything else stays as it is.
func rewritten(value json.RawMessage, f func(key string, value json.RawMessage) json.RawMessage) json.RawMessage {
	if len(value) == 0 || value[0] != '{' {
		return value
	}
	out, err := jsonscan.Rewrite(value, f)
	if err != nil {
		return value
	}
	return out
}

// eachOf has f rewrite the elements of an array, or the value itself if it is none. What
// stands between elements keeps its bytes.
func eachOf(value json.RawMessage, f func(json.RawMessage) json.RawMessage) json.RawMessage {
	if len(value) == 0 || value[0] != '[' {
		return f(value)
	}
	var out []byte
	done := 0
	for _, element := range jsonscan.Items(value) {
		at := jsonscan.OffsetIn(value, element)
		out = append(append(out, value[done:at]...), f(element)...)
		done = at + len(element)
	}
	return append(out, value[done:]...)
}

// Error is a server's own JSON-RPC error without what only we say: labelled if its message
// begins as a line of ours. Other errors are as they are.
func Error(err error, server string) error {
	failure := err
	if f, ok := err.(*rpc.Failure); ok {
		failure = f.Unwrap()
	}
	said, ok := failure.(*jsonrpc.Error)
	if !ok || !Imitates([]byte(said.Message)) && !mayHaveOurs(said.Data) {
		return err
	}
	message := said.Message
	if Imitates([]byte(message)) {
		message = From(server) + message
	}
	return &jsonrpc.Error{Code: said.Code, Message: message, Data: Strip(said.Data)}
}
