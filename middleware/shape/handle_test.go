package shape

import "testing"

func TestParseHandle(t *testing.T) {
	const id = "k3v4x2m7q4t5w6za"
	for _, tt := range []struct {
		uri  string
		want Handle // without an ID: it is none
	}{
		{"rlmproxy://cache/" + id, Handle{id, -1, ""}},
		{"rlmproxy://cache/" + id + "/12", Handle{id, 12, ""}},
		{"rlmproxy://cache/" + id + "?jq=.a | .b", Handle{id, -1, ".a | .b"}},
		{"rlmproxy://cache/" + id + "/1?jq=.a%20%7C%20.b%2B1", Handle{id, 1, ".a | .b+1"}},
		{"rlmproxy://cache/" + id + "?jq=.a %20", Handle{id, -1, ".a %20"}},
		{"rlmproxy://cache/" + id + "?jq=.a%b", Handle{id, -1, ".a%b"}},
		{"rlmproxy://cache/" + id + "?jq=.a+1&x=y#z", Handle{id, -1, ".a+1&x=y#z"}},
		{"rlmproxy://cache/" + id + "?jq=.a |\n.b", Handle{id, -1, ".a |\n.b"}},
		{"rlmproxy://cache/k3v4x2m7q4t5w6z", Handle{"k3v4x2m7q4t5w6z", -1, ""}}, // copied wrongly
		{"rlmproxy://cache/{id}/{block}", Handle{}},
		{"rlmproxy://cache/ID", Handle{}},
		{"rlmproxy://cache/" + id + " and more", Handle{}},
		{"rlmproxy://cache/" + id + "?fields=a", Handle{}},
		{"rlmproxy://cache/" + id + "\n", Handle{}},
		{" rlmproxy://cache/" + id, Handle{}},
		{"RLMPROXY://cache/" + id, Handle{}},
		{"rlmproxy://other/" + id, Handle{}},
	} {
		if got, ok := ParseHandle(tt.uri); ok != (tt.want.ID != "") || ok && got != tt.want {
			t.Errorf("%q: %+v, %t", tt.uri, got, ok)
		}
	}
}
