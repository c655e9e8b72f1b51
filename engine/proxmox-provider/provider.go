package main

import (
	"context"

	"github.com/bpg/terraform-provider-proxmox/fwprovider"
	"github.com/bpg/terraform-provider-proxmox/proxmoxtf/provider"
	pfbridge "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge/tokens"
	shimv2 "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"
)

// version is what the plugin reports. The linker sets it to the npm SDK's, which the engine asks for.
var version = "0.0.0"

// providerInfo describes the Terraform provider to the bridge: its two halves (plugin SDK and plugin framework)
// merged, under the names of the npm SDK.
func providerInfo(ctx context.Context) tfbridge.ProviderInfo {
	info := tfbridge.ProviderInfo{
		P: pfbridge.MuxShimWithPF(ctx,
			shimv2.NewProvider(provider.ProxmoxVirtualEnvironment()),
			fwprovider.New(version)()),
		Name:           packageName,
		ResourcePrefix: terraformPrefix,
		Version:        version,
		MetadataInfo:   tfbridge.NewProviderMetadata(nil),
	}
	info.MustComputeTokens(tokens.Strategy{
		Resource: func(terraformName string, resource *tfbridge.ResourceInfo) error {
			module, entity := sdkName(terraformName)
			resource.Tok = tfbridge.MakeResource(packageName, module, entity)
			renameSettableID(&info, terraformName, resource)
			return nil
		},
		DataSource: func(terraformName string, source *tfbridge.DataSourceInfo) error {
			module, entity := sdkName(terraformName)
			source.Tok = tfbridge.MakeDataSource(packageName, module, "get"+entity)
			return nil
		},
	})
	// Names of resources that a program leaves out are the logical name plus "-" and random characters.
	info.SetAutonaming(255, "-")
	return info
}

// renameSettableID gives an `id` that a program may set its other name in the SDK: every Pulumi resource has an
// `id` of its own already.
func renameSettableID(info *tfbridge.ProviderInfo, terraformName string, resource *tfbridge.ResourceInfo) {
	id, found := info.P.ResourcesMap().Get(terraformName).Schema().GetOk("id")
	if !found || (!id.Optional() && !id.Required()) {
		return
	}
	resource.Fields = map[string]*tfbridge.SchemaInfo{"id": {Name: "resourceId", Type: "string"}}
	resource.ComputeID = tfbridge.DelegateIDField("resourceId", packageName, "")
}
