package e2e

import (
	"encoding/base64"
	"strings"
)

// An odd is an answer that a proxy which decodes and encodes would change. What
// the server sends is result, or failure as its error.
type odd struct {
	name    string
	result  string
	failure string
	reply   string // what clients get where that is something else: only the proxy may say it
	large   bool   // over the limit: whole only where nothing is shaped
}

// odds are the corpus: a case a line. Each went wrong somewhere, in the Go SDK's
// typed results, in JavaScript's numbers or in a line reader.
func odds() []odd {
	blob := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00\x01\xfe\xff~", 9000)))
	pixel := `iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==`
	const ofServer = `[from server \"s\", not from the proxy:]\n`
	deep := strings.Repeat(`[{"d":`, 450) + "1" + strings.Repeat("}]", 450)
	return []odd{
		// Content types.
		{name: "text", result: `{"content":[{"type":"text","text":"plain"}]}`},
		{name: "empty text", result: `{"content":[{"type":"text","text":""}]}`},
		{name: "no content", result: `{"content":[]}`},
		{name: "nothing at all", result: `{}`},
		{name: "null content", result: `{"content":null}`},
		{name: "content is an object", result: `{"content":{"type":"text","text":"x"}}`},
		{name: "content of odd elements", result: `{"content":[null,1,"x",[],{},{"type":null},{"type":7,"text":1}]}`},
		{name: "image", result: `{"content":[{"type":"image","data":"` + pixel + `","mimeType":"image/png"}]}`},
		{name: "audio", result: `{"content":[{"mimeType":"audio/wav","type":"audio","data":"UklGRiQAAABXQVZF","annotations":{"audience":["user"]}}]}`},
		{name: "resource text", result: `{"content":[{"type":"resource","resource":{"uri":"file:///a%20b","text":"x\ny","mimeType":"text/plain","_meta":{"k":1.0}}}]}`},
		{name: "resource blob", result: `{"content":[{"type":"resource","resource":{"blob":"AAEC/w==","uri":"x://y","size":1e3}}]}`},
		{name: "resource link", result: `{"content":[{"type":"resource_link","uri":"x://y?a=1&b=<2>","name":"n","size":9007199254740993,"icons":[{"src":"data:,","theme":"dark"}]}]}`},
		{name: "tool use", result: `{"content":[{"type":"tool_use","id":"t1","name":"n","input":{"b":1,"a":2.50}},{"type":"tool_result","toolUseId":"t1","content":[],"isError":false}]}`},
		{name: "unknown type", result: `{"content":[{"type":"hologram","z":1,"a":{"c":[],"b":{}}}]}`},
		{name: "no type", result: `{"content":[{"text":"no type"}]}`},
		{name: "all types", result: `{"content":[{"type":"text","text":"a"},{"type":"image","data":"` + pixel + `","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/ogg"},{"type":"resource_link","uri":"a:b","name":"c"},{"type":"x"}]}`},
		{name: "annotations", result: `{"content":[{"type":"text","text":"a","annotations":{"priority":0.10,"audience":["assistant","user","vendor"],"lastModified":"2026-01-01T00:00:00Z","x-odd":null}}]}`},

		// Members and their order.
		{name: "odd key order", result: `{"isError":false,"structuredContent":{"z":1,"a":2,"m":{"y":1,"b":2}},"content":[{"text":"x","type":"text"}]}`},
		{name: "unknown members", result: `{"content":[],"x-vendor":{"b":1,"a":[1,2]},"resultCount":3,"Content":[],"CONTENT":1}`},
		{name: "null members", result: `{"content":[{"type":"text","text":"x","annotations":null,"_meta":null}],"structuredContent":null,"isError":null,"x":null}`},
		{name: "keys twice", result: `{"content":[],"x":1,"x":2,"structuredContent":{"k":1,"k":2,"k":1}}`},
		{name: "content twice", result: `{"content":[{"type":"text","text":"a"}],"content":[{"type":"text","text":"b"}]}`},
		{name: "empty keys", result: `{"":1,"content":[],"structuredContent":{"":{"":""}}}`},
		{name: "odd keys", result: `{"content":[],"a\u0062c":1,"\u00e9":2,"é":3,"<&>":4,"\ud800":5,"\/":6," ":7,"a.b":8,"\u0000":9}`},
		{name: "key of a known name, spelled", result: `{"\u0063ontent":[{"t\u0079pe":"text","text":"x"}],"\u0069sError":true}`},
		{name: "prototype keys", result: `{"content":[],"__proto__":{"a":1},"constructor":2}`},
		{name: "meta", result: `{"_meta":{"z":1.0,"a":{"c":9007199254740993,"b":null},"vendor.example/x":[]},"content":[]}`},
		{name: "meta last, spaced", result: `{"content":[],"_meta": { "a" : 1 } }`},
		{name: "meta empty", result: `{"_meta":{},"content":[]}`},
		{name: "meta with tickets", result: `{"content":[],"_meta":{"rlmproxy/splice":"1","rlmproxy/agent":"me","a":1.0}}`, reply: `{"content":[],"_meta":{"a":1.0}}`},
		{name: "our first line", result: `{"content":[ {"type":"text" , "text" : "[cut: \u00e9"} , {"n":1.0,"text":"n\u0065xt: x","type":"text"}],"x":1e2}`,
			reply: `{"content":[ {"type":"text" , "text" : "` + ofServer + `[cut: \u00e9"} , {"n":1.0,"text":"` + ofServer + `n\u0065xt: x","type":"text"}],"x":1e2}`},
		{name: "nearly our first line", result: `{"content":[{"type":"text","text":"x\n[cut: "},{"type":"text","text":"[cut off]"}]}`},
		{name: "a ticket", result: `{"rlmproxy/splice":"AAAA.1"}`},
		{name: "result type", result: `{"resultType":"complete","content":[{"type":"text","text":"x"}]}`},

		// Flags and structured content.
		{name: "isError", result: `{"isError":true,"content":[{"type":"text","text":"no such file"}]}`},
		{name: "isError, odd", result: `{"isError":"true","content":[{"type":"text","text":"x"}]}`},
		{name: "isError and nothing else", result: `{"isError":true}`},
		{name: "structured alone", result: `{"structuredContent":{"b":[1.0,2.50],"a":{"id":9007199254740993}}}`},
		{name: "structured and text", result: `{"content":[{"type":"text","text":"{\"b\":1,\"a\":2}"}],"structuredContent":{"b":1,"a":2}}`},
		{name: "structured and other text", result: `{"content":[{"type":"text","text":"two items"}],"structuredContent":{"items":[1,2],"next":null}}`},
		{name: "structured array", result: `{"content":[],"structuredContent":[3,1,2]}`},
		{name: "structured string", result: `{"content":[],"structuredContent":"\u00e9"}`},
		{name: "structured number", result: `{"content":[],"structuredContent":1e400}`},
		{name: "structured error", result: `{"content":[{"type":"text","text":"x"}],"structuredContent":{"error":{"code":1.50}},"isError":true}`},

		// Numbers.
		{name: "integers", result: `{"structuredContent":[9007199254740991,9007199254740993,-9007199254740993,18446744073709551616,123456789012345678901234567890],"content":[]}`},
		{name: "zeros", result: `{"content":[],"structuredContent":{"a":0,"b":-0,"c":0.0,"d":-0.0,"e":0e0,"f":0E+0,"g":0e-9}}`},
		{name: "fractions", result: `{"content":[],"structuredContent":{"a":1.0,"b":1.10,"c":0.1,"d":3.141592653589793238462643383279,"e":100.000}}`},
		{name: "exponents", result: `{"content":[],"structuredContent":{"a":1e400,"b":1E5,"c":1e+5,"d":-1e-400,"e":5e-324,"f":1.7976931348623157e308,"g":1e0}}`},
		{name: "long number", result: `{"content":[],"n":` + strings.Repeat("1234567890", 40) + `.` + strings.Repeat("0", 400) + `}`},

		// Strings.
		{name: "escapes", result: `{"content":[{"type":"text","text":"\u00e9é\u0041\/\\\"\b\f\n\r\t\u0000\u001f\u007f"}]}`},
		{name: "surrogates", result: `{"content":[{"type":"text","text":"\ud83d\ude00 😀 \uD83D\uDE00"}]}`},
		{name: "lone surrogates", result: `{"content":[{"type":"text","text":"a\ud800b"},{"type":"text","text":"\udc00\ud800"},{"type":"text","text":"\uDFFF"}]}`},
		{name: "line ends of Unicode", result: "{\"content\":[{\"type\":\"text\",\"text\":\"a\u2028b\u2029c\u0085d\\u2028\"}]}"},
		{name: "marks", result: "{\"content\":[{\"type\":\"text\",\"text\":\"\ufeff\u202e\u200b\u0301e\u0301 \u00e9 \U0010ffff\x7f\"}]}"},
		{name: "HTML", result: `{"content":[{"type":"text","text":"<a href='x'>&amp;\u003c/a></script>"}],"<b>":"&"}`},
		{name: "other scripts", result: `{"content":[{"type":"text","text":"日本語 العربية עברית 한국어 ไทย 🏳️‍🌈"}]}`},
		{name: "JSON in a string", result: `{"content":[{"type":"text","text":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}]}`},
		{name: "SSE in a string", result: `{"content":[{"type":"text","text":"data: x\n\nevent: y\ndata: \r\r"}]}`},

		// White space, nesting.
		{name: "white space", result: "{ \"content\"\t: [ { \"type\" :\"text\" , \"text\":  \"x\" } ] ,\t\"isError\" : false }"},
		{name: "white space in empty ones", result: "{ \"content\" : [ \t ] , \"structuredContent\" : {  \t} }"},
		{name: "white space alone", result: "{ \t }"},
		{name: "arrays in arrays", result: `{"content":[],"structuredContent":[[[[]],[]],[{}],[[{}]]]}`},
		{name: "900 deep", result: `{"content":[],"structuredContent":` + deep + `}`, large: true},

		// Long ones.
		{name: "long text", result: `{"content":[{"type":"text","text":"` + strings.Repeat(`line \u00e9 é 1.0\n`, 4000) + `"}]}`, large: true},
		{name: "long blob", result: `{"content":[{"type":"resource","resource":{"uri":"x://y","blob":"` + blob + `"}}]}`, large: true},
		{name: "long image", result: `{"content":[{"type":"image","mimeType":"image/png","data":"` + blob + `"}]}`},
		{name: "long rows", result: `{"structuredContent":{"rows":[` + strings.Repeat(`{"z":1.0,"a":9007199254740993,"é":"\u00e9"},`, 3000) + `{}]},"content":[]}`, large: true},
		{name: "long key", result: `{"content":[],"` + strings.Repeat("k", 70_000) + `":1}`, large: true},

		// What the other methods return.
		{name: "contents", result: `{"contents":[{"uri":"x://y","mimeType":"text/plain","text":"\u00e9","size":1.0},{"uri":"x://z","blob":"AA=="}],"x":-0}`},
		{name: "contents that may be kept", result: `{"ttlMs":5.0e3,"cacheScope":"public","contents":[]}`},
		{name: "messages", result: `{"messages":[{"role":"assistant","content":{"text":"<&>","type":"text"}},{"content":{"type":"image","data":"AA==","mimeType":"image/png"},"role":"vendor"}],"description":null}`},

		// Errors.
		{name: "error", failure: `{"code":-32000,"message":"no"}`},
		{name: "error with data", failure: `{"code":-32602,"message":"<b> & \u00e9 é","data":{"z":1.0,"a":9007199254740993,"<":">"}}`},
		{name: "error, odd order", failure: `{"data":null,"message":"m","code":-32603}`},
		{name: "error, spaced", failure: "{ \"code\" : 1 ,\t\"message\" : \"m\" , \"data\" : [ 1 , 2 ] }"},
		{name: "error, unknown members", failure: `{"code":-32001,"message":"m","retryAfter":1.50,"data":"d"}`},
		{name: "error, positive code", failure: `{"code":429,"message":"too many"}`},
		{name: "error, code 0", failure: `{"code":0,"message":""}`},
		{name: "error, large code", failure: `{"code":-9007199254740993,"message":"m"}`},
		{name: "error, method not found", failure: `{"code":-32601,"message":"Method <not> found","data":{"method":"x"}}`},
		{name: "error, resource not found", failure: `{"code":-32002,"message":"m","data":{"uri":"x://y"}}`},
		{name: "error, URL elicitation", failure: `{"code":-32042,"message":"m","data":{"elicitations":[{"url":"https://x/?a=1&b=2","mode":"url"}]}}`},
	}
}

// An ask is a request whose params would not survive being decoded. In params
// CASE is where the test puts what the server goes by, and NAME the tool.
type ask struct {
	name   string
	params string
}

func asks() []ask {
	return []ask{
		{"plain", `{"name":"NAME","arguments":{"case":"CASE"}}`},
		{"numbers", `{"name":"NAME","arguments":{"case":"CASE","n":[9007199254740993,1.0,1e400,-0,0.10,123456789012345678901234567890]}}`},
		{"odd order", `{"arguments":{"z":1,"case":"CASE","a":{"c":1,"b":2}},"name":"NAME"}`},
		{"unknown members", `{"task":{"ttl":1.0},"name":"NAME","x-odd":[null],"arguments":{"case":"CASE"},"cursor":null}`},
		{"white space", "{ \"name\" : \"NAME\" ,\t\"arguments\" : { \"case\" : \"CASE\" , \"x\" : [ ] } }"},
		{"escapes", `{"name":"NAME","arguments":{"case":"CASE","s":"\u00e9é\/<&>\ud800","\u0061":1,"é":2,"<":3}}`},
		{"spelled keys", `{"n\u0061me":"NAME","x\u00e9<":1,"arguments":{"case":"CASE"}}`},
		{"keys twice", `{"name":"NAME","arguments":{"case":"CASE","k":1,"k":2},"x":1,"x":2}`},
		{"deep", `{"name":"NAME","arguments":{"case":"CASE","d":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}}`},
		{"long", `{"name":"NAME","arguments":{"case":"CASE","s":"` + strings.Repeat(`\u00e9é `, 20_000) + `"}}`},
		{"null arguments", `{"case":"CASE","name":"NAME","arguments":null}`},
	}
}
