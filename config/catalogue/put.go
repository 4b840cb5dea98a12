package catalogue

import (
	"encoding/json"
	"errors"

	"github.com/tailscale/hujson"

	"rlmproxy/config/jsonc"
)

// What [Put] says of a server of that name.
var (
	ErrSame  = errors.New("it is there already, the same")
	ErrOther = errors.New("there is another server of this name")
)

// Put is data, what the configuration at path has, or nil for a new file, with a server of that
// name more. One that is there is replaced by force only; all else keeps its bytes. The error is
// [ErrSame], [ErrOther], or what makes the file of no use.
func Put(path string, data []byte, name string, server json.RawMessage, force bool) ([]byte, error) {
	if data == nil {
		data = []byte("{\n  \"mcpServers\": {}\n}\n")
	}
	doc, err := jsonc.Parse(path, data)
	if err != nil {
		return nil, err
	}
	section := []string{"mcpServers"}
	servers, err := doc.Object(section, true)
	if err != nil {
		return nil, err
	}
	if at := jsonc.Index(servers, name); at >= 0 {
		given, err := hujson.Parse(server)
		switch {
		case err != nil:
			return nil, err
		case jsonc.Same(servers.Members[at].Value, given):
			return nil, ErrSame
		case !force:
			return nil, ErrOther
		}
	}
	if err := doc.Set(servers, section, name, server); err != nil {
		return nil, err
	}
	return doc.Bytes(), nil
}
