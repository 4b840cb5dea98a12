package terminal

import "testing"

func TestVisible(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"plain\tüñ 日本 🙂\n\n", "plain\tüñ 日本 🙂\n\n"},
		{"a\r\nb", "a\r\nb"},
		{"a\rb\r", `a\u000db\u000d`},
		{"\x1b]0;title\x07\x1b[2J", `\u001b]0;title\u0007\u001b[2J`},
		{"\x00\x08\x7f", `\u0000\u0008\u007f`},
		{"C1 \u009b31m \u0085", `C1 \u009b31m \u0085`},
		{"raw C1 \x9b31m", `raw C1 \x9b31m`},
		{"bidi \u202eabc\u202c \u2066x\u2069 \u200f", `bidi \u202eabc\u202c \u2066x\u2069 \u200f`},
		{"replaced \ufffd", "replaced \ufffd"},
		{"", ""},
	} {
		if got := Visible(tt.text); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}
