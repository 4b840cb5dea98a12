package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/cache"
	"rlmproxy/pipeline/show"
)

// blobURI names a block of a cached result as a resource.
func blobURI(id cache.ID, block int) string {
	return fmt.Sprintf("rlmproxy://cache/%s/%d", id, block)
}

// readBlock returns the result of resources/read for a cached block: the
// base64 data that a preview only names, or a block's text.
func (s *Server) readBlock(ctx context.Context, agent, uri string) (json.RawMessage, error) {
	id, block, ok := parseBlobURI(uri)
	if !ok {
		return nil, notFound(uri)
	}
	r, err := s.cached(ctx, agent, id)
	if err != nil {
		return nil, notFound(uri)
	}
	d, ok := r.doc(block)
	if !ok {
		return nil, notFound(uri)
	}
	text, err := quote(string(d.text))
	if err != nil {
		return nil, err
	}
	media, member := d.blob, "blob"
	if media == "" {
		media, member = "text/plain", "text"
	}
	kind, err := quote(media)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"contents":[{"uri":%q,"mimeType":%s,"%s":`, uri, kind, member)
	out.Write(text)
	out.WriteString(`}]}`)
	return out.Bytes(), nil
}

// notFound is the error for a resource that is not there. The SDK's own writes
// the URI as a Go string, which JSON cannot hold if it has control characters.
func notFound(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": show.ClipBytes(uri, 200)})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
}

func parseBlobURI(uri string) (cache.ID, int, bool) {
	rest, ok := strings.CutPrefix(uri, "rlmproxy://cache/")
	id, number, slash := strings.Cut(rest, "/")
	block, err := strconv.Atoi(number)
	return cache.ID(id), block, ok && slash && err == nil && blobURI(cache.ID(id), block) == uri
}
