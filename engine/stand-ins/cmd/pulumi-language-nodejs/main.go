// Command pulumi-language-nodejs stands in for the official one, on machines that cannot have it.
package main

import (
	"fmt"
	"os"

	"proxmox-gpu-stack/engine/stand-ins/internal/language"
)

// version is that of @pulumi/pulumi; the linker sets it.
var version string

func main() {
	if err := language.Serve(version); err != nil {
		fmt.Fprintln(os.Stderr, "stand-in: pulumi-language-nodejs:", err)
		os.Exit(1)
	}
}
