package shape

import (
	"encoding/json"

	"rlmproxy/jsonscan"
)

// FactsOf returns what we say of a reply, if we made it: ok is false for others.
func FactsOf(reply json.RawMessage) (facts Facts, ok bool) {
	ours := jsonscan.Member(jsonscan.Member(reply, "_meta"), metaResult)
	ok = ours != nil && json.Unmarshal(ours, &facts) == nil
	return facts, ok
}

// manyBytes is above which an answer is counted as it is written, and not as it is read:
// to unquote it would take as much memory again.
const manyBytes = 1 << 20

// Tokens counts what an agent reads of the result of a tools/call, and of any other
// result its JSON.
func Tokens(raw json.RawMessage) int {
	if len(raw) > manyBytes {
		return count(raw)
	}
	r, err := ParseToolResult(raw)
	if err != nil {
		return count(raw)
	}
	return r.Tokens()
}

// Ending says of the result of a tools/call whether it is an error, or a question of the
// server's.
func Ending(raw json.RawMessage) (isError, asks bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return false, false
	}
	m := members(raw, "isError", "resultType")
	return string(m[0]) == "true", isQuestion(m[1])
}
