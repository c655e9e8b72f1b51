package command

import (
	"bytes"
	"fmt"
)

// longestLine is the length at which the official log reader stops, and the run never ends.
const longestLine = 64 * 1024

var tooLong = fmt.Sprintf("stand-in: a logged line is %d bytes or longer: the official provider would hang here; "+
	`use logging: "none"`, longestLine)

// lines shows text line by line while it comes.
type lines struct {
	show       func(string)
	unfinished []byte
	// tooLong tells whether there was a line of longestLine.
	tooLong bool
}

func (l *lines) add(data []byte) {
	for {
		line, rest, ended := bytes.Cut(data, []byte{'\n'})
		l.unfinished = append(l.unfinished, line...)
		l.tooLong = l.tooLong || len(l.unfinished) >= longestLine
		if !ended {
			return
		}
		l.finish()
		data = rest
	}
}

// end shows what is left without a newline.
func (l *lines) end() {
	if len(l.unfinished) > 0 {
		l.finish()
	}
}

func (l *lines) finish() {
	l.show(string(bytes.TrimSuffix(l.unfinished, []byte{'\r'})))
	l.unfinished = l.unfinished[:0]
}
