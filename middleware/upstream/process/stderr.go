package process

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"strings"
)

// logLines logs what a server writes to stderr, long lines cut.
func logLines(r io.ReadCloser, logger *slog.Logger, m *missing) {
	defer r.Close()
	br := bufio.NewReaderSize(r, 4096)
	for {
		line, err := br.ReadSlice('\n')
		if s := strings.TrimRight(string(line), "\r\n"); s != "" {
			logger.Info("stderr", "line", strings.ToValidUTF8(s, "\uFFFD"))
			m.read(s)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
