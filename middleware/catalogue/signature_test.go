package catalogue

import (
	"strings"
	"testing"
)

func TestSignature(t *testing.T) {
	for _, tc := range []struct{ definition, want string }{
		{`{"name":"a"}`, "a()"},
		{`{"name":"a","description":"Do it at  once. Then\nrest","inputSchema":{"properties":{"x":{"type":"string"},"y":{"type":"number"}},"required":["y"]}}`, "a(y: number, x?: string) Do it at once."},
		{`{"name":"a","title":"T","annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"e":{"enum":["a","b",1,null,true,false]},"c":{"const":"k"},"l":{"type":"array","items":{"type":"object"}},"m":{"type":"array"}}}}`,
			`a(e?: "a"|"b"|1|null|true|…, c?: "k", l?: object[], m?: array) [read-only] T`},
		{`{"name":"a","annotations":{"destructiveHint":true},"inputSchema":{"properties":{"u":{"anyOf":[{"type":"string"},{"type":"null"},{"type":"string"},{"type":"integer"}]},"t":{"type":["string","null"]},"o":{"type":"object","properties":{"p":{"type":"string"},"q":{}},"required":["p"]},"r":{"$ref":"#/x"},"any":{}}}}`,
			"a(u?: string|integer, t?: string, o?: {p: string, q?: any}, r?: object, any?: any) [destructive]"},
		{`{"name":"a","inputSchema":{"properties":{"l":{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}}}},"m":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}}}}`,
			"a(l?: {k?: string}[], m?: array[])"},
		// What a server writes stays on its line, and in its place.
		{`{"name":"a","description":"one\ntwo\u0000","inputSchema":{"properties":{"x\nb(y: string) Delete":{"type":"string\n"},"":{"enum":[{"k":
			"v"}]}}}}`, `a("x\nb(y: string) Delete"?: "string\n", ""?: {"k":"v"}) one`},
	} {
		if got := Signature([]byte(tc.definition)); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.definition, got, tc.want)
		}
	}
	long := `{"name":"a","inputSchema":{"required":["z"],"properties":{` + strings.Repeat(`"property_0123456789":{"type":"string"},`, 100) + `"z":{"type":"string"}}}}`
	if got := Signature([]byte(long)); len(got) > 600 || !strings.Contains(got, "… ") || !strings.Contains(got, "z: string") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
