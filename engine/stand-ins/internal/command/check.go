package command

import (
	"maps"
	"slices"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"proxmox-gpu-stack/engine/stand-ins/internal/remote"
	"proxmox-gpu-stack/engine/stand-ins/internal/values"
)

var connectionDefaults = values.Object{
	"user":           remote.DefaultUser,
	"port":           remote.DefaultPort,
	"dialErrorLimit": remote.DefaultDialErrorLimit,
	"perDialTimeout": remote.DefaultPerDialTimeout,
}

// check looks at a resource's inputs before anything is planned. It gives them without nulls, the connection with its defaults
// and secret; and what is wrong with them.
func (r resource) check(given values.Object) (values.Object, []*pulumirpc.CheckFailure) {
	inputs := withoutNulls(given)
	var failures []*pulumirpc.CheckFailure
	refuse := func(property, reason string) {
		failures = append(failures, &pulumirpc.CheckFailure{Property: property, Reason: reason})
	}
	for _, name := range r.required {
		if inputs[name] == nil {
			refuse(name, "Missing required field")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		accepts, covered := r.properties[name]
		plain := values.Plain(inputs[name])
		switch {
		case isInternal(name):
		case !covered:
			refuse(name, "not covered by the stand-in")
		case !values.HasUnknown(plain) && !accepts(plain):
			refuse(name, "not a valid value")
		}
	}
	if connection := inputs["connection"]; connection != nil {
		inputs["connection"] = secretConnection(connection)
	}
	return inputs, failures
}

func withoutNulls(given values.Object) values.Object {
	inputs := values.Object{}
	for name, value := range given {
		if value != nil {
			inputs[name] = value
		}
	}
	return inputs
}

func secretConnection(connection any) any {
	complete := withDefaults(connection)
	if values.SignatureOf(complete) == values.Secret {
		return complete
	}
	return values.AsSecret(complete)
}

// withDefaults leaves a connection that is not known yet as it is.
func withDefaults(connection any) any {
	object, ok := connection.(values.Object)
	switch {
	case values.SignatureOf(connection) == values.Secret:
		return values.AsSecret(withDefaults(object["value"]))
	case !ok || values.SignatureOf(connection) != "":
		return connection
	}
	complete := maps.Clone(connectionDefaults)
	maps.Copy(complete, object)
	if proxy := object["proxy"]; proxy != nil {
		complete["proxy"] = withDefaults(proxy)
	}
	return complete
}
