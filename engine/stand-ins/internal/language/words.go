package language

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	word            = regexp.MustCompile(`(?s)(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+`)
	quoted          = regexp.MustCompile(`(?s)"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)`)
	escapedInDouble = regexp.MustCompile("\\\\([\"\\\\$`])")
)

// shellWords splits a command line into words: single and double quotes and backslashes as in sh, nothing else.
func shellWords(text string) ([]string, error) {
	if rest := strings.TrimSpace(word.ReplaceAllString(text, "")); rest != "" {
		return nil, fmt.Errorf("a %s without its other half in: %s", rest[:1], text)
	}
	words := word.FindAllString(text, -1)
	for n := range words {
		words[n] = quoted.ReplaceAllStringFunc(words[n], unquoted)
	}
	return words, nil
}

// unquoted is what a piece of a word stands for: the quotes go, and so does the backslash before what it escapes.
func unquoted(piece string) string {
	switch piece[0] {
	case '"':
		return escapedInDouble.ReplaceAllString(piece[1:len(piece)-1], "$1")
	case '\'':
		return piece[1 : len(piece)-1]
	default:
		return strings.TrimPrefix(piece, `\`)
	}
}
