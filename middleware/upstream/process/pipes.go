package process

import "os"

// pipes are those of a server's standard streams: our ends, and its own.
type pipes struct {
	stdin, stdout, stderr                *os.File
	theirStdin, theirStdout, theirStderr *os.File
}

func newPipes() (*pipes, error) {
	var p pipes
	var err error
	pipe := func(r, w **os.File) {
		if err == nil {
			*r, *w, err = os.Pipe()
		}
	}
	pipe(&p.theirStdin, &p.stdin)
	pipe(&p.stdout, &p.theirStdout)
	pipe(&p.stderr, &p.theirStderr)
	if err != nil {
		p.close()
		return nil, err
	}
	return &p, nil
}

// handedOver closes the server's ends, which it has now.
func (p *pipes) handedOver() {
	p.theirStdin.Close()
	p.theirStdout.Close()
	p.theirStderr.Close()
}

// close closes whatever is open.
func (p *pipes) close() {
	p.handedOver()
	p.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
}
