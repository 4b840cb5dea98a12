package preview

import (
	"context"
	"strings"

	"rlmproxy/pipeline/doc"
)

// outlineTokens is the room of an outline.
const outlineTokens = 1500

// outlineText tells what v is, what stands out, and a few lines of both ends:
// the digest of a preview, with more room for its upper part.
func outlineText(ctx context.Context, b *strings.Builder, v doc.Value) error {
	d, err := digestOf(ctx, v)
	if err != nil {
		return err
	}
	s := newSheet(outlineTokens, doc.CountLines(v.Data))
	s.digest(d, v, outlineRoom)
	b.Write(s.bytes())
	b.WriteByte('\n')
	return nil
}
