package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"proxmox-gpu-stack/engine/stand-ins/internal/values"
)

// logAll is the default of `logging`.
const logAll = "stdoutAndStderr"

// output is what a running command prints: kept whole, and shown line by line while it comes.
type output struct {
	// The two streams come at once.
	mutex                sync.Mutex
	stdout, stderr, both bytes.Buffer
	logging              string
	shown                lines
}

// newOutput: logging is what is shown, "" for the default; show is called with each whole line.
func newOutput(logging string, show func(string)) *output {
	if logging == "" {
		logging = logAll
	}
	return &output{logging: logging, shown: lines{show: show}}
}

// writers take standard output and standard error.
func (o *output) writers() (stdout, stderr io.Writer) {
	return o.writer("stdout", &o.stdout), o.writer("stderr", &o.stderr)
}

func (o *output) writer(name string, kept *bytes.Buffer) io.Writer {
	shown := o.logging == name || o.logging == logAll
	return writerFunc(func(data []byte) (int, error) {
		o.mutex.Lock()
		defer o.mutex.Unlock()
		kept.Write(data)
		o.both.Write(data)
		if shown {
			o.shown.add(data)
		}
		return len(data), nil
	})
}

// result is the outputs of a command that has ended; or an error: failure with the command and all output, or that the official
// provider would hang.
func (o *output) result(failure error, command string) (values.Object, error) {
	o.shown.end()
	if failure != nil {
		return nil, fmt.Errorf("%w: running %q:\n%s", failure, command, values.Text(o.both.Bytes()))
	}
	if o.shown.tooLong {
		return nil, errors.New(tooLong)
	}
	return values.Object{"stdout": trimmed(&o.stdout), "stderr": trimmed(&o.stderr)}, nil
}

// trimmed takes one newline from the end.
func trimmed(kept *bytes.Buffer) string {
	return strings.TrimSuffix(values.Text(kept.Bytes()), "\n")
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) {
	return f(data)
}
