package middleware

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestFirstCursor: null and "" begin a list, as no cursor does. They were refused.
func TestFirstCursor(t *testing.T) {
	one := func(name string) Upstream {
		return Upstream{Name: name, Prefix: name, Conn: offering(map[string]string{
			"resources/list":           `{"resources":[{"name":"a","uri":"file:///a"}]}`,
			"resources/templates/list": `{"resourceTemplates":[{"name":"t","uriTemplate":"a:{b}"}]}`,
		})}
	}
	_, conn := dial(t, Options{Upstreams: []Upstream{one("a"), one("b")}})
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		want, err := conn.Call(t.Context(), method, json.RawMessage(`{}`))
		if err != nil {
			t.Fatal(method, err)
		}
		for _, cursor := range []string{"null", `""`} {
			got, err := conn.Call(t.Context(), method, json.RawMessage(fmt.Sprintf(`{"cursor":%s}`, cursor)))
			if err != nil || string(got) != string(want) {
				t.Errorf("%s from %s: %s, %v", method, cursor, got, err)
			}
		}
		for _, cursor := range []string{`"x"`, "5", "{}", "false"} {
			if got, err := conn.Call(t.Context(), method, json.RawMessage(fmt.Sprintf(`{"cursor":%s}`, cursor))); err == nil {
				t.Errorf("%s from %s: %s", method, cursor, got)
			}
		}
	}
}
