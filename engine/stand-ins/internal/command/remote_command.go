package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"golang.org/x/crypto/ssh"

	"proxmox-gpu-stack/engine/stand-ins/internal/values"
)

// remoteCommand is remote.Command: one command line over SSH, its output kept.
var remoteCommand = resource{
	properties: map[string]func(any) bool{
		"connection":             isConnection,
		"create":                 isString,
		"update":                 isString,
		"delete":                 isString,
		"triggers":               isList,
		"stdin":                  isString,
		"logging":                isLogging,
		"environment":            isStringMap,
		"addPreviousOutputInEnv": isBoolean,
	},
	required: []string{"connection"},
	outputs:  []string{"stdout", "stderr"},

	create: func(ctx context.Context, inputs values.Object, say messages) (values.Object, error) {
		if inputs["create"] == nil {
			return values.Object{"stdout": "", "stderr": ""}, nil
		}
		return runRemoteCommand(ctx, textOf(inputs, "create"), inputs, nil, say)
	},

	// Without an `update` the `create` runs again.
	update: func(ctx context.Context, inputs, state values.Object, say messages) (values.Object, error) {
		for _, name := range []string{"update", "create"} {
			if inputs[name] != nil {
				return runRemoteCommand(ctx, textOf(inputs, name), inputs, state, say)
			}
		}
		return values.Object{"stdout": state["stdout"], "stderr": state["stderr"]}, nil
	},

	// Everything comes from the state, the connection too. Without a `delete` nothing is dialled.
	delete: func(ctx context.Context, state values.Object, say messages) error {
		if state["delete"] == nil {
			return nil
		}
		_, err := runRemoteCommand(ctx, textOf(state, "delete"), state, state, say)
		return err
	},
}

func isLogging(value any) bool {
	text, _ := value.(string)
	return slices.Contains([]string{"stdout", "stderr", logAll, "none"}, text)
}

// runRemoteCommand runs a command line in the login shell. inputs are the resource's, or for a delete its state; previous is the
// state before, if any.
// The connection stays open until this process ends, one an operation: so does the official provider, and it matters to a host
// that counts connections. The context ends the dialling, but not a command that runs.
func runRemoteCommand(
	ctx context.Context, command string, inputs, previous values.Object, say messages,
) (values.Object, error) {
	client, err := dial(ctx, inputs, say)
	if err != nil {
		return nil, err
	}
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	defer session.Close()
	if err := setEnvironment(session, inputs, say); err != nil {
		return nil, err
	}
	if inputs["addPreviousOutputInEnv"] != false {
		offerPreviousOutput(session, previous, say)
	}
	if stdin := textOf(inputs, "stdin"); stdin != "" {
		session.Stdin = strings.NewReader(stdin)
	}
	output := newOutput(textOf(inputs, "logging"), say.status)
	session.Stdout, session.Stderr = output.writers()
	return output.result(session.Run(command), command)
}

// setEnvironment sets the user's variables. One that the server refuses is an error: the command does not run.
func setEnvironment(session *ssh.Session, inputs values.Object, say messages) error {
	variables, _ := inputs["environment"].(values.Object)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if err := session.Setenv(name, textOf(variables, name)); err != nil {
			say.report(pulumirpc.LogSeverity_ERROR, cannotSet(name))
			return fmt.Errorf("could not set environment variable %q: %w", name, err)
		}
	}
	return nil
}

// offerPreviousOutput sets what an earlier run printed. Where the server refuses that, a warning will do.
func offerPreviousOutput(session *ssh.Session, previous values.Object, say messages) {
	for _, output := range []string{"stdout", "stderr"} {
		name, text := "PULUMI_COMMAND_"+strings.ToUpper(output), textOf(previous, output)
		if text == "" {
			continue
		}
		if err := session.Setenv(name, text); err != nil {
			say.report(pulumirpc.LogSeverity_WARNING, cannotSet(name))
		}
	}
}

func cannotSet(name string) string {
	return fmt.Sprintf("Unable to set '%s'. This only works if your SSH server is configured to accept these variables via"+
		" AcceptEnv.", name)
}
