// Package language is a language host for Node.js: it tells the engine which plugins a program needs, and runs the program.
// It covers what preview, up, refresh and destroy need.
package language

import (
	"context"
	"sync/atomic"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"proxmox-gpu-stack/engine/stand-ins/internal/plugin"
)

type host struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
	version       string
	engineAddress atomic.Value
	programs      programs
}

// Serve serves the language host until the engine ends this process. version is that of the SDK.
func Serve(version string) error {
	h := &host{version: version}
	h.engineAddress.Store(plugin.EngineAddress())
	return plugin.Serve(func(server grpc.ServiceRegistrar) {
		pulumirpc.RegisterLanguageRuntimeServer(server, h)
	}, h.programs.interrupt)
}

func (h *host) Handshake(
	_ context.Context, request *pulumirpc.LanguageHandshakeRequest,
) (*pulumirpc.LanguageHandshakeResponse, error) {
	h.engineAddress.Store(request.GetEngineAddress())
	return &pulumirpc.LanguageHandshakeResponse{}, nil
}

func (h *host) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: h.version}, nil
}

func (h *host) GetRequiredPackages(
	_ context.Context, request *pulumirpc.GetRequiredPackagesRequest,
) (*pulumirpc.GetRequiredPackagesResponse, error) {
	packages, err := requiredPackages(request.GetInfo().GetProgramDirectory())
	return &pulumirpc.GetRequiredPackagesResponse{Packages: packages}, err
}

func (h *host) Run(ctx context.Context, request *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	return h.programs.run(ctx, request, h.engineAddress.Load().(string)), nil
}

func (h *host) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	h.programs.interrupt()
	return &emptypb.Empty{}, nil
}
