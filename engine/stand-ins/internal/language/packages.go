package language

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// manifest is what of a package.json tells whether the package needs a plugin of the engine, and which.
type manifest struct {
	Name    string
	Version string
	Pulumi  struct {
		Resource bool
		Name     string
		Version  string
		Server   string
	}
}

// requiredPackages are the resource plugins that a program's npm packages ask for, each once.
// Only packages below the program's own folder count, as with the official host.
func requiredPackages(programDirectory string) ([]*pulumirpc.PackageDependency, error) {
	manifests, err := packageManifests(filepath.Join(programDirectory, "node_modules"), map[string]bool{})
	if err != nil {
		return nil, err
	}
	var packages []*pulumirpc.PackageDependency
	found := map[string]bool{}
	for _, m := range manifests {
		if !m.Pulumi.Resource {
			continue
		}
		plugin := m.plugin()
		if key := plugin.Name + "@" + plugin.Version; !found[key] {
			found[key] = true
			packages = append(packages, plugin)
		}
	}
	return packages, nil
}

func (m manifest) plugin() *pulumirpc.PackageDependency {
	name, version := m.Pulumi.Name, m.Pulumi.Version
	if name == "" {
		name = strings.TrimPrefix(m.Name, "@pulumi/")
	}
	if version == "" {
		version = m.Version
	}
	return &pulumirpc.PackageDependency{
		Kind:    "resource",
		Name:    name,
		Version: "v" + strings.TrimPrefix(version, "v"),
		Server:  m.Pulumi.Server,
	}
}

// packageManifests reads the package.json of every package in a node_modules folder, and in theirs.
// visited holds the folders that were read: links of a workspace may lead back up.
func packageManifests(modules string, visited map[string]bool) ([]manifest, error) {
	folders, err := packageFolders(modules)
	if err != nil {
		return nil, err
	}
	var manifests []manifest
	for _, folder := range folders {
		m, err := readManifest(folder)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return nil, err
		}
		if visited[real] {
			continue
		}
		visited[real] = true
		nested, err := packageManifests(filepath.Join(real, "node_modules"), visited)
		if err != nil {
			return nil, err
		}
		manifests = append(append(manifests, *m), nested...)
	}
	return manifests, nil
}

// packageFolders are the folders "name" and "@scope/name" of a node_modules folder.
func packageFolders(modules string) ([]string, error) {
	names, err := entries(modules)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, name := range names {
		folder := filepath.Join(modules, name)
		switch {
		case strings.HasPrefix(name, "."):
		case strings.HasPrefix(name, "@"):
			scoped, err := entries(folder)
			if err != nil {
				return nil, err
			}
			for _, sub := range scoped {
				folders = append(folders, filepath.Join(folder, sub))
			}
		default:
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

// entries are the names in a folder; none where there is no such folder.
func entries(folder string) ([]string, error) {
	found, err := os.ReadDir(folder)
	if err != nil && !isAbsence(err) {
		return nil, err
	}
	names := make([]string, len(found))
	for n, entry := range found {
		names[n] = entry.Name()
	}
	return names, nil
}

// readManifest reads a package's package.json; nil where there is none that can be read.
func readManifest(folder string) (*manifest, error) {
	text, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		if isAbsence(err) {
			return nil, nil
		}
		return nil, err
	}
	var m manifest
	// Some packages carry broken ones for their own tests.
	if json.Unmarshal(text, &m) != nil {
		return nil, nil
	}
	return &m, nil
}

// isAbsence tells whether there is no such thing, or whether it is not a folder.
func isAbsence(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
