package values

import (
	"fmt"
	"strings"
)

// Change is what happened to a value.
type Change int

// The changes that there are.
const (
	Added Change = iota
	Deleted
	Updated
)

// Diff gives the paths that differ between two objects, as the official provider reports them.
// A secret counts as one value: what differs inside it is not told.
func Diff(olds, news Object) map[string]Change {
	found := map[string]Change{}
	diffObjects(olds, news, "", found)
	return found
}

func diffObjects(olds, news Object, path string, found map[string]Change) {
	for key := range olds {
		diffValues(olds[key], news[key], below(path, key), found)
	}
	for key := range news {
		if _, seen := olds[key]; !seen {
			diffValues(nil, news[key], below(path, key), found)
		}
	}
}

func diffLists(olds, news []any, path string, found map[string]Change) {
	for n := range max(len(olds), len(news)) {
		diffValues(element(olds, n), element(news, n), fmt.Sprintf("%s[%d]", path, n), found)
	}
}

func diffValues(before, after any, path string, found map[string]Change) {
	if Equal(before, after) {
		return
	}
	if before == nil {
		found[path] = Added
		return
	}
	if after == nil {
		found[path] = Deleted
		return
	}
	if olds, ok := before.([]any); ok {
		if news, ok := after.([]any); ok {
			diffLists(olds, news, path, found)
			return
		}
	}
	if olds, ok := before.(Object); ok && SignatureOf(before) == "" {
		if news, ok := after.(Object); ok && SignatureOf(after) == "" {
			diffObjects(olds, news, path, found)
			return
		}
	}
	found[path] = Updated
}

func element(list []any, n int) any {
	if n < len(list) {
		return list[n]
	}
	return nil
}

// below is the path of a key below another path, in the engine's spelling: a.b, a["with.dot"].
func below(path, key string) string {
	switch {
	case key == "" || strings.ContainsAny(key, `."[]`):
		return path + `["` + strings.ReplaceAll(key, `"`, `\"`) + `"]`
	case path == "":
		return key
	default:
		return path + "." + key
	}
}
