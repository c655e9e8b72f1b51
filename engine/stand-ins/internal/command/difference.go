package command

import (
	"maps"
	"slices"
	"strings"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"proxmox-gpu-stack/engine/stand-ins/internal/values"
)

// kinds of a change, and of one that replaces the resource.
var (
	kinds = map[values.Change]pulumirpc.PropertyDiff_Kind{
		values.Added:   pulumirpc.PropertyDiff_ADD,
		values.Deleted: pulumirpc.PropertyDiff_DELETE,
		values.Updated: pulumirpc.PropertyDiff_UPDATE,
	}
	replacingKinds = map[values.Change]pulumirpc.PropertyDiff_Kind{
		values.Added:   pulumirpc.PropertyDiff_ADD_REPLACE,
		values.Deleted: pulumirpc.PropertyDiff_DELETE_REPLACE,
		values.Updated: pulumirpc.PropertyDiff_UPDATE_REPLACE,
	}
)

// difference: any changed input is an update, `connection` included.
func difference(olds, news values.Object) *pulumirpc.DiffResponse {
	changes := values.Diff(own(olds), own(news))
	response := &pulumirpc.DiffResponse{
		Changes:         pulumirpc.DiffResponse_DIFF_NONE,
		HasDetailedDiff: true,
		DetailedDiff:    map[string]*pulumirpc.PropertyDiff{},
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		response.Changes = pulumirpc.DiffResponse_DIFF_SOME
		response.Diffs = append(response.Diffs, path)
		kind := kinds[changes[path]]
		// A list of triggers that comes or goes replaces; for its elements the SDK asks with replaceOnChanges.
		if path == "triggers" {
			kind = replacingKinds[changes[path]]
			response.Replaces = append(response.Replaces, path)
		}
		response.DetailedDiff[path] = &pulumirpc.PropertyDiff{Kind: kind}
	}
	return response
}

// own are the inputs without what the engine adds for itself.
func own(inputs values.Object) values.Object {
	result := values.Object{}
	for name, value := range inputs {
		if !isInternal(name) {
			result[name] = value
		}
	}
	return result
}

// isInternal tells whether the engine adds a property of that name for itself.
func isInternal(name string) bool {
	return strings.HasPrefix(name, "__") || name == "version"
}
