package command

import (
	"context"
	"os"

	"proxmox-gpu-stack/engine/stand-ins/internal/remote"
	"proxmox-gpu-stack/engine/stand-ins/internal/values"
)

// copyToRemote is remote.CopyToRemote: a file, a folder or a text over SFTP.
var copyToRemote = resource{
	properties: map[string]func(any) bool{
		"connection": isConnection,
		"triggers":   isList,
		"remotePath": isString,
		"source":     isSource,
	},
	required: []string{"connection", "remotePath", "source"},

	create: func(ctx context.Context, inputs values.Object, say messages) (values.Object, error) {
		return nil, copySource(ctx, inputs, say)
	},

	// A changed connection copies nothing.
	update: func(ctx context.Context, inputs, state values.Object, say messages) (values.Object, error) {
		if values.Equal(inputs["source"], state["source"]) && inputs["remotePath"] == state["remotePath"] {
			return nil, nil
		}
		return nil, copySource(ctx, inputs, say)
	},

	// The files stay.
	delete: func(context.Context, values.Object, messages) error {
		return nil
	},
}

func isSource(value any) bool {
	source, _ := value.(values.Object)
	switch values.SignatureOf(value) {
	case values.Asset:
		return isString(source["path"]) || isString(source["text"])
	case values.Archive:
		return isString(source["path"])
	default:
		return false
	}
}

// copySource copies `source` to `remotePath`, over a connection that is closed at once.
func copySource(ctx context.Context, inputs values.Object, say messages) error {
	client, err := dial(ctx, inputs, say)
	if err != nil {
		return err
	}
	defer client.Close()
	files, err := remote.OpenFiles(client)
	if err != nil {
		return err
	}
	defer files.Close()

	source, _ := inputs["source"].(values.Object)
	target := textOf(inputs, "remotePath")
	if source["text"] != nil {
		return files.CopyText(textOf(source, "text"), target)
	}
	path := textOf(source, "path")
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return files.CopyFolder(path, target)
	default:
		return files.CopyFile(path, target)
	}
}
