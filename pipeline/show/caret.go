package show

import "strings"

// Caret is the line of source where offset is, a byte, with a caret below, both indented:
//
//	.items[]]
//	        ^
func Caret(source string, offset int) string {
	offset = min(max(offset, 0), len(source))
	start := strings.LastIndexByte(source[:offset], '\n') + 1
	line := source[start:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	before := []rune(strings.ToValidUTF8(source[start:offset], "\uFFFD"))
	after := Clip(strings.ToValidUTF8(line[min(offset-start, len(line)):], "\uFFFD"), 40)
	// Sixty characters to the left are enough to find the place.
	if len(before) > 60 {
		before = append([]rune("…"), before[len(before)-59:]...)
	}
	shown := strings.ReplaceAll(string(before)+after, "\t", " ")
	return "    " + shown + "\n    " + strings.Repeat(" ", len(before)) + "^"
}
