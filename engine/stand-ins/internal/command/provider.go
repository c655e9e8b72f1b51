// Package command is a command provider. It covers remote.Command and remote.CopyToRemote, as pulumi-command 1.2.1 behaves.
package command

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"proxmox-gpu-stack/engine/stand-ins/internal/plugin"
	"proxmox-gpu-stack/engine/stand-ins/internal/values"
)

type provider struct {
	pulumirpc.UnimplementedResourceProviderServer
	version string
	engine  atomic.Pointer[pulumirpc.EngineClient]
	// running is the context of all operations; cancel ends it.
	running context.Context
	cancel  context.CancelFunc
}

// Serve serves the provider until the engine ends this process. version is that of its SDK.
func Serve(version string) error {
	p := &provider{version: version}
	p.running, p.cancel = context.WithCancel(context.Background())
	if err := p.connect(plugin.EngineAddress()); err != nil {
		return err
	}
	return plugin.Serve(func(server grpc.ServiceRegistrar) {
		pulumirpc.RegisterResourceProviderServer(server, p)
	}, func() {})
}

// connect says where the engine takes messages; without an address they are dropped.
func (p *provider) connect(address string) error {
	if address == "" {
		return nil
	}
	connection, err := plugin.Dial(address)
	if err != nil {
		return err
	}
	client := pulumirpc.NewEngineClient(connection)
	p.engine.Store(&client)
	return nil
}

func (p *provider) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: p.version}, nil
}

func (p *provider) Attach(_ context.Context, request *pulumirpc.PluginAttach) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, p.connect(request.GetAddress())
}

func (p *provider) GetSchema(context.Context, *pulumirpc.GetSchemaRequest) (*pulumirpc.GetSchemaResponse, error) {
	schema, err := json.Marshal(map[string]string{"name": "command", "version": p.version})
	return &pulumirpc.GetSchemaResponse{Schema: string(schema)}, err
}

func (p *provider) CheckConfig(_ context.Context, request *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	return &pulumirpc.CheckResponse{Inputs: request.GetNews()}, nil
}

func (p *provider) DiffConfig(context.Context, *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	return &pulumirpc.DiffResponse{}, nil
}

func (p *provider) Configure(context.Context, *pulumirpc.ConfigureRequest) (*pulumirpc.ConfigureResponse, error) {
	return &pulumirpc.ConfigureResponse{AcceptSecrets: true, SupportsPreview: true}, nil
}

func (p *provider) Check(_ context.Context, request *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	resource, err := resourceOf(request.GetUrn())
	if err != nil {
		return nil, err
	}
	checked, failures := resource.check(values.FromStruct(request.GetNews()))
	inputs, err := values.ToStruct(checked)
	return &pulumirpc.CheckResponse{Inputs: inputs, Failures: failures}, err
}

func (p *provider) Diff(_ context.Context, request *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	return difference(values.FromStruct(request.GetOldInputs()), values.FromStruct(request.GetNews())), nil
}

func (p *provider) Create(_ context.Context, request *pulumirpc.CreateRequest) (*pulumirpc.CreateResponse, error) {
	resource, err := resourceOf(request.GetUrn())
	if err != nil {
		return nil, err
	}
	inputs := values.FromStruct(request.GetProperties())
	if request.GetPreview() {
		properties, err := state(inputs, resource.unknownOutputs())
		return &pulumirpc.CreateResponse{Properties: properties}, err
	}
	ctx, end := p.operation(request.GetTimeout())
	defer end()
	outputs, err := resource.create(ctx, values.PlainObject(inputs), p.messages(request.GetUrn()))
	if err != nil {
		return nil, err
	}
	properties, err := state(inputs, outputs)
	return &pulumirpc.CreateResponse{Id: newID(request.GetUrn()), Properties: properties}, err
}

func (p *provider) Update(_ context.Context, request *pulumirpc.UpdateRequest) (*pulumirpc.UpdateResponse, error) {
	resource, err := resourceOf(request.GetUrn())
	if err != nil {
		return nil, err
	}
	inputs := values.FromStruct(request.GetNews())
	if request.GetPreview() {
		properties, err := state(inputs, resource.unknownOutputs())
		return &pulumirpc.UpdateResponse{Properties: properties}, err
	}
	ctx, end := p.operation(request.GetTimeout())
	defer end()
	old := values.PlainObject(values.FromStruct(request.GetOlds()))
	outputs, err := resource.update(ctx, values.PlainObject(inputs), old, p.messages(request.GetUrn()))
	if err != nil {
		return nil, err
	}
	properties, err := state(inputs, outputs)
	return &pulumirpc.UpdateResponse{Properties: properties}, err
}

func (p *provider) Delete(_ context.Context, request *pulumirpc.DeleteRequest) (*emptypb.Empty, error) {
	resource, err := resourceOf(request.GetUrn())
	if err != nil {
		return nil, err
	}
	ctx, end := p.operation(request.GetTimeout())
	defer end()
	old := values.PlainObject(values.FromStruct(request.GetProperties()))
	return &emptypb.Empty{}, resource.delete(ctx, old, p.messages(request.GetUrn()))
}

// Read gives what is in the state: a command cannot be read back.
func (p *provider) Read(_ context.Context, request *pulumirpc.ReadRequest) (*pulumirpc.ReadResponse, error) {
	return &pulumirpc.ReadResponse{
		Id: request.GetId(), Properties: request.GetProperties(), Inputs: request.GetInputs(),
	}, nil
}

// Cancel ends all operations that wait for a host.
func (p *provider) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	p.cancel()
	return &emptypb.Empty{}, nil
}

// operation is the context of one operation: customTimeouts, in seconds, end it, if there are any.
func (p *provider) operation(timeout float64) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(p.running)
	}
	return context.WithTimeout(p.running, time.Duration(timeout*float64(time.Second)))
}

func (p *provider) messages(urn string) messages {
	return messages{engine: p.engine.Load(), urn: urn}
}

// state is what the engine keeps: the inputs as they came, secrets marked, and the outputs.
func state(inputs, outputs values.Object) (*structpb.Struct, error) {
	maps.Copy(inputs, outputs)
	return values.ToStruct(inputs)
}

// newID is the resource's name and some random characters.
func newID(urn string) string {
	random := make([]byte, 4)
	_, _ = rand.Read(random) // it never fails
	return nameIn(urn) + hex.EncodeToString(random)
}

// nameIn and typeIn take a URN apart: urn:pulumi:stack::project::parent$type::name.
func nameIn(urn string) string {
	return part(urn, 3)
}

func typeIn(urn string) string {
	types := part(urn, 2)
	return types[strings.LastIndex(types, "$")+1:]
}

func part(urn string, n int) string {
	parts := strings.SplitN(urn, "::", 4)
	if n >= len(parts) {
		return ""
	}
	return parts[n]
}
