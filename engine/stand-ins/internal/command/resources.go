package command

import (
	"context"

	"golang.org/x/crypto/ssh"

	"proxmox-gpu-stack/engine/stand-ins/internal/plugin"
	"proxmox-gpu-stack/engine/stand-ins/internal/remote"
	"proxmox-gpu-stack/engine/stand-ins/internal/values"
)

// resource is a type of resource: its properties, and what create, update and delete do. What they get is without secret marks;
// what create and update give are the outputs.
type resource struct {
	properties map[string]func(value any) bool
	required   []string
	outputs    []string
	create     func(ctx context.Context, inputs values.Object, say messages) (values.Object, error)
	update     func(ctx context.Context, inputs, state values.Object, say messages) (values.Object, error)
	delete     func(ctx context.Context, state values.Object, say messages) error
}

var resources = map[string]resource{
	"command:remote:Command":      remoteCommand,
	"command:remote:CopyToRemote": copyToRemote,
}

// resourceOf is the type of the resource that a URN names.
func resourceOf(urn string) (resource, error) {
	found, ok := resources[typeIn(urn)]
	if !ok {
		return found, plugin.NotCovered(typeIn(urn))
	}
	return found, nil
}

// unknownOutputs are the outputs in a preview.
func (r resource) unknownOutputs() values.Object {
	outputs := values.Object{}
	for _, name := range r.outputs {
		outputs[name] = values.Unknown
	}
	return outputs
}

// dial connects as the properties say.
func dial(ctx context.Context, properties values.Object, say messages) (*ssh.Client, error) {
	connection, err := remote.ReadConnection(properties["connection"])
	if err != nil {
		return nil, err
	}
	return remote.Dial(ctx, connection, say.status)
}

func isString(value any) bool {
	_, ok := value.(string)
	return ok
}

func isBoolean(value any) bool {
	_, ok := value.(bool)
	return ok
}

func isList(value any) bool {
	_, ok := value.([]any)
	return ok
}

func isStringMap(value any) bool {
	object, ok := value.(values.Object)
	for _, element := range object {
		ok = ok && isString(element)
	}
	return ok
}

func isConnection(value any) bool {
	object, _ := value.(values.Object)
	return isString(object["host"])
}

// textOf is a string among properties; "" where there is none.
func textOf(properties values.Object, name string) string {
	text, _ := properties[name].(string)
	return text
}
