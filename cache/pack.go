package cache

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/klauspost/compress/zstd"
)

// A packer compresses what is kept outside of memory. It is safe for concurrent use.
type packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// newPacker returns a packer. Its work is checked by who uses it: the id of an entry is its
// checksum.
func newPacker() (*packer, error) {
	// Two at a time, and not as many as there are cores: each holds some MB.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecodeAllCapLimit(true))
	return &packer{enc, dec}, err
}

// pack compresses texts, one behind the other.
func (p *packer) pack(texts ...[]byte) (packed []byte) {
	for _, text := range texts {
		packed = p.enc.EncodeAll(text, packed)
	}
	return packed
}

// unpack returns what was packed, at most size bytes: more is an error.
func (p *packer) unpack(packed []byte, size int64) ([]byte, error) {
	return p.dec.DecodeAll(packed, make([]byte, 0, size))
}

// Flags of an origin, as it is written.
const (
	isReadOnly = 1 << iota
	hasArguments
	isNoModel
)

// appendOrigin writes an origin without its terms. No origin's bytes begin those of another.
func appendOrigin(b []byte, o Origin) []byte {
	var flags byte
	if o.ReadOnly {
		flags |= isReadOnly
	}
	if o.Arguments != nil {
		flags |= hasArguments
	}
	if o.NoModel {
		flags |= isNoModel
	}
	b = append(b, flags)
	b = appendSized(b, []byte(o.Server))
	b = appendSized(b, []byte(o.Tool))
	return appendSized(b, o.Arguments)
}

func appendSized(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

var errNotWritten = errors.New("cache: not as it was written")

// readOrigin reads what appendOrigin wrote, and returns what is behind it.
func readOrigin(b []byte) (o Origin, rest []byte, err error) {
	if len(b) == 0 || b[0]&^(isReadOnly|hasArguments|isNoModel) != 0 {
		return o, nil, errNotWritten
	}
	flags := b[0]
	var fields [3][]byte
	rest = b[1:]
	for i := range fields {
		if fields[i], rest, err = readSized(rest); err != nil {
			return o, nil, err
		}
	}
	o = Origin{Server: string(fields[0]), Tool: string(fields[1]), ReadOnly: flags&isReadOnly != 0, NoModel: flags&isNoModel != 0}
	if flags&hasArguments != 0 {
		o.Arguments = append([]byte{}, fields[2]...)
	} else if len(fields[2]) > 0 {
		return Origin{}, nil, errNotWritten
	}
	return o, rest, nil
}

// readSized reads what appendSized wrote, and returns what is behind it.
func readSized(b []byte) (text, rest []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > math.MaxInt32 || uint64(len(b)-n) < size {
		return nil, nil, errNotWritten
	}
	return b[n : n+int(size)], b[n+int(size):], nil
}
