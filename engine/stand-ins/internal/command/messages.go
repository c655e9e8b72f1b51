package command

import (
	"context"
	"strings"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// messages tells the engine's user about one resource. Each is with the engine before the next one is sent, and before the
// operation is answered.
type messages struct {
	engine *pulumirpc.EngineClient
	urn    string
}

// status shows a line beside the resource while it is worked on.
func (m messages) status(text string) {
	m.log(pulumirpc.LogSeverity_INFO, text, true)
}

// report shows a line that stays.
func (m messages) report(severity pulumirpc.LogSeverity, text string) {
	m.log(severity, text, false)
}

func (m messages) log(severity pulumirpc.LogSeverity, text string, ephemeral bool) {
	if m.engine == nil {
		return
	}
	// A message that does not arrive is no reason to fail.
	_, _ = (*m.engine).Log(context.Background(), &pulumirpc.LogRequest{
		Severity: severity, Message: strings.ToValidUTF8(text, "\uFFFD"), Urn: m.urn, Ephemeral: ephemeral,
	})
}
