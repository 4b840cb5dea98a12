package redact

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

// Secrets are put together here, so that scanners do not take them for some.
const (
	pat  = "ghp_" + "x7Kq2mZp9LsVb4TnRw8Yc3Hd6Jf1Ga5Ue0Qi"
	akia = "AKIA" + "LALEMEL33243OLIB"
	guid = "e72e16c7e42f292c" + "6912e7710c838347ae178b4a"
	jwt  = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + "eyJzdWIiOiJ1c2VybmFtZTpib2IifQ." + "HcfCW67Uda-0gz54ZWTqmtgJnZeNem0Q757eTa9EZuw"
	body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDKx1L3qmVt0a8Y\nq9dGZ3m7Wq0bS1hM2n5pR8xYcV4kT6uJ0eLfQwXzAaHsDgKjBvNnMmPpOoIiUuYy\nQ0FB"
	key  = "-----BEGIN PRIVATE " + "KEY-----\n" + body + "\n-----END PRIVATE " + "KEY-----"
)

func quote(s string) string { return string(jsonscan.Quote(s)) }

// TestMask has a secret of each kind where results have them.
func TestMask(t *testing.T) {
	const patMask, keyMask, guess = "[redacted: github-pat]", "[redacted: private-key]", "[redacted: generic-api-key]"
	for _, tt := range []struct{ name, in, want string }{
		{"text", "use " + pat + ".", "use " + patMask + "."},
		{"alone", pat, patMask},
		{"twice", pat + " " + pat, patMask + " " + patMask},
		{"two kinds", pat + " " + akia, patMask + " [redacted: aws-access-token]"},
		{"a web token", "Bearer " + jwt, "Bearer [redacted: jwt]"},
		{"a private key", "x\n" + key + "\ny", "x\n" + keyMask + "\ny"},
		{"a label", "api_key = " + guid + "\n", "api_key = " + guess + "\n"},
		{"a label and a known token", "api_key = " + pat + "\n", "api_key = " + patMask + "\n"},
		{"environment", "A=1\nAPI_TOKEN=" + guid + "\nB=2\n", "A=1\nAPI_TOKEN=" + guess + "\nB=2\n"},
		{"string", `{"a":"` + pat + `","n":1.0}`, `{"a":"` + patMask + `","n":1.0}`},
		{"the name is the member's", `{"access_token": "` + guid + `", "id" : 1}`, `{"access_token": "` + guess + `", "id" : 1}`},
		{"key of an object", `{"` + pat + `":1}`, `{"` + patMask + `":1}`},
		{"array", `["` + pat + `", 1e2, "` + akia + `"]`, `["` + patMask + `", 1e2, "[redacted: aws-access-token]"]`},
		{"escapes beside it", `{"a":"\t\"` + pat + `\"\n\u00e9"}`, `{"a":"\t\"` + patMask + `\"\n\u00e9"}`},
		{"escapes in it", `{"a":"` + strings.Replace(pat, "x7", `\u00787`, 1) + `"}`, `{"a":"` + patMask + `"}`},
		{"a private key in a string", `{"a":` + quote("x\n"+key+"\ny") + `}`, `{"a":` + quote("x\n"+keyMask+"\ny") + `}`},
		{"a private key, a string a line", `{"a":["` + strings.ReplaceAll(key, "\n", `", "`) + `","z"]}`, `{"a":["` + keyMask + strings.Repeat(`", "`+keyMask, 4) + `","z"]}`},
		{"JSON in a string", `{"text":` + quote(`{"access_token":"`+guid+`","n":1}`) + `}`, `{"text":` + quote(`{"access_token":"`+guess+`","n":1}`) + `}`},
		{"JSON in JSON in a string", `{"text":` + quote(`{"a":`+quote(`{"access_token":"`+guid+`","k":`+quote(key)+`}`)+`}`) + `}`,
			`{"text":` + quote(`{"a":`+quote(`{"access_token":"`+guess+`","k":`+quote(keyMask)+`}`)+`}`) + `}`},
		{"JSON Lines", `{"a":"` + pat + `"}` + "\n" + `{"a":1}`, `{"a":"` + patMask + `"}` + "\n" + `{"a":1}`},
		{"cut off", `{"a":"` + pat + `","b":`, `{"a":"` + patMask + `","b":`},
		{"a Windows path", `{"a":"C:\\new\\` + pat + `"}`, `{"a":"C:\\new\\` + patMask + `"}`},
		{"backslash at the end", `{"token":"x\\","a":"` + pat + `"}`, `{"token":"x\\","a":"` + patMask + `"}`},
		{"a command", `{"a":"curl -u \"j.smith:dB2yF6@qL9vZm1P#4J\" https://x.org"}`, `{"a":"curl -u \"[redacted: curl-auth-user]\" https://x.org"}`},
		{"a mask is no secret", `<add key="Password" value="CleartextPassword1" />`, `<add key="Password" value="[redacted: nuget-config-password]" />`},
		{"what stands behind a mask is", `<add key="Password" value="[redacted: x]Cleartext1" />`, `<add key="Password" value="[redacted: nuget-config-password]" />`},
		{"a number", `{"discord_client_id": 177918506041298415 }`, `{"discord_client_id": 177918506041298415 }`},
		{"a number in JSON in a string", `{"a":"{\"discord_client_id\": 177918506041298415 }"}`, `{"a":"{\"discord_client_id\": 177918506041298415 }"}`},
		{"a number in text", "discord_client_id = 177918506041298415 ", "discord_client_id = [redacted: discord-client-id] "},
		{"no key between", `["-----BEGIN PRIVATE KEY----- begins it",{"next":"words that say how a key is written"},"-----END PRIVATE KEY-----"]`,
			`["` + keyMask + `",{"next":"words that say how a key is written"},"` + keyMask + `"]`},
		{"a placeholder", `{"aws_access_key": "AKIAIOSFODNN7EXAMPLE"}`, `{"aws_access_key": "AKIAIOSFODNN7EXAMPLE"}`},
		{"a variable", `{"api_key": "${API_KEY}", "token": "<your token>"}`, `{"api_key": "${API_KEY}", "token": "<your token>"}`},
		{"prose", "The key to it is a token of access.", "The key to it is a token of access."},
		{"spelling stays", "{ \"n\" : 1.0 ,\r\n \"a\":\"\\/\" }", "{ \"n\" : 1.0 ,\r\n \"a\":\"\\/\" }"},
		{"not UTF-8", "\xff" + pat + "\xff", "\xff" + patMask + "\xff"},
		{"nothing", "", ""},
	} {
		out, _, err := Mask(context.Background(), []byte(tt.in))
		if d := cmp.Diff(tt.want, string(out)); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", tt.name, err, d)
		}
		check(t, []byte(tt.in))
	}
}

// TestNotFound holds the list of what passes in docs/redaction.md.
func TestNotFound(t *testing.T) {
	for _, tt := range []struct{ name, in string }{
		{"a password that a person chose", "DB_PASSWORD=hunter2hunter2\n"},
		{"in a URL", "DATABASE_URL=postgres://admin:s3cretPassw0rd@db/app\n"},
		{"a column of a table", "id,api_key\n1," + guid + "\n"},
		{"a Markdown table", "| api_key |\n| --- |\n| " + guid + " |\n"},
		{"name and value apart", `[{"name":"API_KEY","value":"` + guid + `"}]`},
		{"without a name", "it is " + guid},
		{".netrc", "machine x.org login ann password " + guid + "\n"},
		{"base64", base64.StdEncoding.EncodeToString([]byte("use " + pat))},
		{"a number in JSON", `{"discord_client_id":177918506041298415 }`},
		{"in two parts", pat[:20] + "\n" + pat[20:]},
	} {
		if out, n := Text([]byte(tt.in)); n > 0 || string(out) != tt.in {
			t.Errorf("%s is found after all: %s", tt.name, out)
		}
	}
}

// TestJSON: what is special in results of the protocol.
func TestJSON(t *testing.T) {
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	image := encode("\x89PNG\xff" + strings.Repeat(pat, 100))
	for _, tt := range []struct{ name, in, want string }{
		{"a blob that is text", `{"contents":[{"uri":"a:b", "blob":"` + encode("T="+pat+"\n") + `"},{"blob" : "` + encode("é "+pat) + `"}]}`,
			`{"contents":[{"uri":"a:b", "blob":"` + encode("T=[redacted: github-pat]\n") + `"},{"blob" : "` + encode("é [redacted: github-pat]") + `"}]}`},
		{"a blob that is an image", `{"blob":"` + image + `"}`, `{"blob":"` + image + `"}`},
		{"an image", `{"type":"image","data":"` + strings.Repeat("A", 2000) + akia + `"}`, `{"type":"image","data":"` + strings.Repeat("A", 2000) + akia + `"}`},
		{"a data URI", `{"src":"data:image/png;base64,` + image + `"}`, `{"src":"data:image/png;base64,` + image + `"}`},
		{"handles", `{"progressToken":"` + jwt + `","_meta":{"progressToken":"` + guid + `"},"requestState":"` + jwt + `"}`,
			`{"progressToken":"` + jwt + `","_meta":{"progressToken":"` + guid + `"},"requestState":"` + jwt + `"}`},
		{"where to sign in", `{"mode":"url","url":"https://x.org/?state=` + jwt + `","message":"` + jwt + `"}`, `{"mode":"url","url":"https://x.org/?state=` + jwt + `","message":"[redacted: jwt]"}`},
		{"an address", `{"structuredContent":{"url":"https://x.org/?t=` + jwt + `"}}`, `{"structuredContent":{"url":"https://x.org/?t=[redacted: jwt]"}}`},
		{"no handle", `{"a":{"b":{"requestState":"` + jwt + `"}}}`, `{"a":{"b":{"requestState":"[redacted: jwt]"}}}`},
	} {
		out, _, err := JSON(context.Background(), []byte(tt.in))
		if d := cmp.Diff(tt.want, string(out)); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", tt.name, err, d)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if out, _, err := JSON(ctx, []byte(`{"a":"`+pat+`"}`)); err == nil {
		t.Errorf("without time to search, %s is shown", out)
	}
	if out, n := Text([]byte("a " + pat + " b " + akia)); n != 2 || string(out) != "a [redacted: github-pat] b [redacted: aws-access-token]" {
		t.Errorf("Text: %s, %d", out, n)
	}
}

// TestRules: each rule compiles, and one that begins with its keywords is tried there.
func TestRules(t *testing.T) {
	set := rules()
	anywhere := 0
	for _, r := range set.rules {
		r.once.Do(func() {
			if err := r.compile(); err != nil {
				t.Error(err)
			}
		})
		if !r.atKeyword {
			anywhere++
		}
	}
	if len(set.rules) < 200 || anywhere > 30 {
		t.Errorf("%d rules, %d of them searched around keywords", len(set.rules), anywhere)
	}
	for _, bad := range []string{"x", "[[rules]]\nid = \"a\"\nregex = '''a'''\n"} {
		if _, err := parseRules(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

var masks = regexp.MustCompile(`\[redacted: [a-z0-9-]+\]`)

// check holds what is promised of every text: nothing but secrets changes, what was JSON
// is JSON of the same shape, and masking again changes nothing.
func check(t interface{ Fatalf(string, ...any) }, in []byte) {
	out, found, err := Mask(context.Background(), in)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if (found.Total() == 0) != bytes.Equal(in, out) {
		t.Fatalf("%d found in %q, but it became %q", found.Total(), in, out)
	}
	if again, n := Text(out); n > 0 || !bytes.Equal(again, out) {
		t.Fatalf("%q became %q, and then %q", in, out, again)
	}
	if !masks.Match(in) {
		rest := in
		pieces := masks.Split(string(out), -1)
		for i, p := range pieces {
			at := bytes.Index(rest, []byte(p))
			if at < 0 || i == 0 && at > 0 || i == len(pieces)-1 && !bytes.HasSuffix(rest, []byte(p)) {
				t.Fatalf("%q became %q: %q is not where it was", in, out, p)
			}
			rest = rest[at+len(p):]
		}
	}
	if jsonscan.Valid(in, jsonscan.MaxDepth) {
		if d := cmp.Diff(skeleton(in), skeleton(out)); d != "" {
			t.Fatalf("%q became %q:\n%s", in, out, d)
		}
	}
}

// skeleton is all of some JSON but what its strings hold.
func skeleton(data []byte) (tokens []any) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return append(tokens, err.Error())
		}
		if _, ok := token.(string); ok {
			token = "a string"
		}
		tokens = append(tokens, token)
	}
}

// TestMaskProperties puts secrets, and parts of some, everywhere.
func TestMaskProperties(t *testing.T) {
	pieces := []string{pat, akia, guid, jwt, key, "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "token", "api_key", "password", "discord", "1", "177918506041298415",
		`"`, `\`, `\\`, "\n", " ", "=", ":", ": ", ",", "{", "}", "[", "]", "é", "\u2028", `<add key="Password" value="`, "curl -u ", "abcdefgh12345", "kind: Secret\ndata:\n  x: ", "null"}
	piece := rapid.SampledFrom(pieces)
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "") })
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			kinds := 3
			if depth > 0 {
				kinds = 6
			}
			switch rapid.IntRange(0, kinds).Draw(t, "kind") {
			case 0, 1:
				return quote(text.Draw(t, "text"))
			case 2:
				return rapid.SampledFrom([]string{"1.0", "177918506041298415", "true", "null", "-1e5"}).Draw(t, "literal")
			case 3:
				return show.Quote(text.Draw(t, "text"))
			case 4:
				return "[" + strings.Join(rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "items"), rapid.SampledFrom([]string{",", ", "}).Draw(t, "comma")) + "]"
			case 5:
				return quote(value(depth-1).Draw(t, "in a string"))
			}
			var members []string
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				members = append(members, quote(text.Draw(t, "key"))+": "+value(depth-1).Draw(t, "value"))
			}
			return "{" + strings.Join(members, ",") + "}"
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, []byte(value(4).Draw(t, "JSON")))
		check(t, []byte(text.Draw(t, "text")))
	})
}

func FuzzMask(f *testing.F) {
	for _, c := range publicCases(f)[:200] {
		f.Add([]byte(c.Text))
		f.Add([]byte(`{"a":` + quote(c.Text) + `}`))
	}
	f.Fuzz(func(t *testing.T, in []byte) { check(t, in) })
}
