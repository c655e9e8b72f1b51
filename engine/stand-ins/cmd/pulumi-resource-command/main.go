// Command pulumi-resource-command stands in for the official one, on machines that cannot have it.
package main

import (
	"fmt"
	"os"

	"proxmox-gpu-stack/engine/stand-ins/internal/command"
)

// version is that of @pulumi/command; the linker sets it.
var version string

func main() {
	if err := command.Serve(version); err != nil {
		fmt.Fprintln(os.Stderr, "stand-in: pulumi-resource-command:", err)
		os.Exit(1)
	}
}
