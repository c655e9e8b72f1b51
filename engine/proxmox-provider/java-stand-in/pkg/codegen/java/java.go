// Package java stands in for Pulumi's Java code generator. The bridge links it to convert examples in
// documentation, which this plugin never does.
package java

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/pulumi/pulumi/pkg/v3/codegen/pcl"
)

// GenerateProgram always fails.
func GenerateProgram(*pcl.Program) (map[string][]byte, hcl.Diagnostics, error) {
	return nil, nil, errors.New("no Java code generator in this build")
}
