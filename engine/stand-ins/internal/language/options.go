package language

import (
	"cmp"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
)

// runtimeOptions are the `runtime: options:` of Pulumi.yaml that this host knows.
type runtimeOptions struct {
	typeScript bool
	tsConfig   string
	nodeArgs   []string
}

// readOptions checks the options as the official host does. An option of the wrong type, or a package manager other than npm,
// is an error.
func readOptions(raw *structpb.Struct) (runtimeOptions, error) {
	options := runtimeOptions{typeScript: true}
	packageManager, nodeArgs := "auto", ""
	err := cmp.Or(
		text(raw, "packagemanager", &packageManager),
		boolean(raw, "typescript", &options.typeScript),
		text(raw, "tsconfig", &options.tsConfig),
		text(raw, "nodeargs", &nodeArgs),
	)
	if err != nil {
		return options, err
	}
	if packageManager != "auto" && packageManager != "npm" {
		return options, fmt.Errorf("stand-in: packagemanager %q is not covered; use npm", packageManager)
	}
	if options.nodeArgs, err = shellWords(nodeArgs); err != nil {
		return options, fmt.Errorf("nodeargs option: %w", err)
	}
	return options, nil
}

// text puts an option into value, which stays as it is where there is no such option.
func text(raw *structpb.Struct, name string, value *string) error {
	given, ok := raw.GetFields()[name]
	if !ok {
		return nil
	}
	kind, ok := given.GetKind().(*structpb.Value_StringValue)
	if !ok {
		return fmt.Errorf("%s option must be a string", name)
	}
	*value = kind.StringValue
	return nil
}

func boolean(raw *structpb.Struct, name string, value *bool) error {
	given, ok := raw.GetFields()[name]
	if !ok {
		return nil
	}
	kind, ok := given.GetKind().(*structpb.Value_BoolValue)
	if !ok {
		return fmt.Errorf("%s option must be a boolean", name)
	}
	*value = kind.BoolValue
	return nil
}
