package language

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// programCommand is node with the SDK's own cmd/run as its main module, and the program as that one's argument.
func programCommand(request *pulumirpc.RunRequest, engineAddress string) (*exec.Cmd, error) {
	info := request.GetInfo()
	options, err := readOptions(info.GetOptions())
	if err != nil {
		return nil, err
	}
	runner, err := sdkRunner(info.GetProgramDirectory())
	if err != nil {
		return nil, err
	}
	arguments := append(options.nodeArgs, runner)
	arguments = append(arguments, runnerFlags(request, engineAddress)...)
	arguments = append(arguments, info.GetEntryPoint())
	arguments = append(arguments, request.GetArgs()...)

	command := exec.Command("node", arguments...)
	command.Dir = info.GetProgramDirectory()
	command.Env, err = programEnvironment(request, options)
	// The engine shows what comes on our own stdout and stderr.
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command, err
}

func runnerFlags(request *pulumirpc.RunRequest, engineAddress string) []string {
	info := request.GetInfo()
	var flags []string
	for _, flag := range []struct{ name, value string }{
		{"monitor", request.GetMonitorAddress()},
		{"engine", engineAddress},
		{"organization", request.GetOrganization()},
		{"project", request.GetProject()},
		{"root-directory", info.GetRootDirectory()},
		{"stack", request.GetStack()},
		{"pwd", info.GetProgramDirectory()},
		{"parallel", fmt.Sprint(request.GetParallel())},
	} {
		if flag.value != "" {
			flags = append(flags, "--"+flag.name, flag.value)
		}
	}
	if request.GetDryRun() {
		flags = append(flags, "--dry-run")
	}
	return flags
}

func programEnvironment(request *pulumirpc.RunRequest, options runtimeOptions) ([]string, error) {
	configuration, err := json.Marshal(sdkConfiguration(request.GetConfig()))
	if err != nil {
		return nil, err
	}
	// An SDK expects a list, also of nothing.
	secretKeys, err := json.Marshal(append([]string{}, request.GetConfigSecretKeys()...))
	if err != nil {
		return nil, err
	}
	environment := append(os.Environ(),
		"PULUMI_CONFIG="+string(configuration),
		"PULUMI_CONFIG_SECRET_KEYS="+string(secretKeys),
	)
	if options.typeScript {
		environment = append(environment, "PULUMI_NODEJS_TYPESCRIPT=true")
	}
	if options.tsConfig != "" {
		environment = append(environment, "PULUMI_NODEJS_TSCONFIG_PATH="+options.tsConfig)
	}
	return environment, nil
}

// sdkConfiguration is the configuration under the keys that every SDK reads: "project:key" becomes "project:config:key".
func sdkConfiguration(given map[string]string) map[string]string {
	configuration := make(map[string]string, len(given))
	for key, value := range given {
		namespace, name, _ := strings.Cut(key, ":")
		if !strings.HasPrefix(name, "config:") {
			key = namespace + ":config:" + name
		}
		configuration[key] = value
	}
	return configuration
}

// sdkRunner is the folder cmd/run of the program's own SDK, which lies in a node_modules folder beside the program or above.
func sdkRunner(programDirectory string) (string, error) {
	for folder := programDirectory; ; folder = filepath.Dir(folder) {
		runner := filepath.Join(folder, "node_modules", "@pulumi", "pulumi", "cmd", "run")
		if _, err := os.Stat(filepath.Join(runner, "index.js")); err == nil {
			return runner, nil
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("@pulumi/pulumi is not installed in %s: run npm ci there", programDirectory)
		}
	}
}
