// Command pulumi-resource-proxmoxve serves the Terraform provider for Proxmox VE (bpg/terraform-provider-proxmox)
// to the Pulumi engine, under the names that the npm SDK @muhlba91/pulumi-proxmoxve uses.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"

	pfbridge "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfgen"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/x/muxer"
	"github.com/pulumi/pulumi-terraform-bridge/v3/unstable/metadata"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
)

// embedded is the Pulumi schema, put here when the provider is built; empty in a build by hand, which computes it at each start.
//
//go:embed schema.json
var embedded []byte

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "pulumi-resource-proxmoxve:", err)
		os.Exit(1)
	}
}

// run serves the provider, or with the word `schema` prints what the second half of a build embeds: engine/lib/go-build.sh.
func run(ctx context.Context) error {
	info := providerInfo(ctx)
	if err := recordDispatch(&info); err != nil {
		return err
	}
	schema := embedded
	if len(schema) == 0 {
		var err error
		if schema, err = packageSchema(ctx, info); err != nil {
			return err
		}
	}
	if len(os.Args) == 2 && os.Args[1] == "schema" {
		_, err := os.Stdout.Write(schema)
		return err
	}
	pfbridge.MainWithMuxer(ctx, packageName, info, schema)
	return nil
}

// recordDispatch notes in the provider's metadata which half of the Terraform provider serves which resource.
// Published bridged providers read this from a file that is generated at build time.
func recordDispatch(info *tfbridge.ProviderInfo) error {
	mux, ok := info.P.(interface {
		ResolveDispatch(*tfbridge.ProviderInfo) (muxer.DispatchTable, error)
	})
	if !ok {
		return fmt.Errorf("the merged provider %T cannot say which half serves what", info.P)
	}
	table, err := mux.ResolveDispatch(info)
	if err != nil {
		return err
	}
	return metadata.Set(info.GetMetadata(), "mux", table)
}

// packageSchema computes the Pulumi schema, without the documentation: two thirds of a start, so that a build does it once,
// as published bridged providers do.
func packageSchema(ctx context.Context, info tfbridge.ProviderInfo) ([]byte, error) {
	generated, err := tfgen.GenerateSchema(ctx, tfgen.GenerateSchemaOptions{
		ProviderInfo:    info,
		DiagnosticsSink: diag.DefaultSink(io.Discard, io.Discard, diag.FormatOptions{Color: colors.Never}),
		XInMemoryDocs:   true,
	})
	if err != nil {
		return nil, err
	}
	return generated.ProviderMetadata.PackageSchema, nil
}
