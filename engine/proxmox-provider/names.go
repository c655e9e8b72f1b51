package main

import "strings"

const (
	packageName     = "proxmoxve" // in the tokens of the npm SDK
	terraformPrefix = "proxmox"
	legacyPrefix    = terraformPrefix + "_virtual_environment_"
	newPrefix       = terraformPrefix + "_"
)

// sdkName turns a Terraform name into the npm SDK's module and type name: the last word is the type, the words
// before it are the module, and the old proxmox_virtual_environment_ names are marked Legacy.
//
//	proxmox_virtual_environment_container -> index, ContainerLegacy
//	proxmox_hardware_mapping_pci          -> hardware/mapping, Pci
func sdkName(terraformName string) (module, entity string) {
	rest, legacy := strings.CutPrefix(terraformName, legacyPrefix)
	if !legacy {
		rest = strings.TrimPrefix(terraformName, newPrefix)
	}
	words := strings.Split(rest, "_")
	last := words[len(words)-1]
	module, entity = "index", strings.ToUpper(last[:1])+last[1:]
	if len(words) > 1 {
		module = strings.Join(words[:len(words)-1], "/")
	}
	if legacy {
		entity += "Legacy"
	}
	return module, entity
}
