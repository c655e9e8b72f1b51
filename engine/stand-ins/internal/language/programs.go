package language

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// alreadyReported is the exit code by which the SDK's cmd/run says that the user has been shown a good message already.
const alreadyReported = 32

// timeToEnd is how long a program gets to end: as long as the engine gives a plugin.
const timeToEnd = 5 * time.Second

// programs are those that run just now.
type programs struct {
	mutex   sync.Mutex
	running map[*os.Process]bool
}

// run runs the program of a request to its end. An error is in the response, as the engine wants it.
func (p *programs) run(ctx context.Context, request *pulumirpc.RunRequest, engineAddress string) *pulumirpc.RunResponse {
	if request.GetAttachDebugger() {
		return failed("stand-in: --attach-debugger is not covered")
	}
	command, err := programCommand(request, engineAddress)
	if err != nil {
		return failed(err.Error())
	}
	if err := p.start(command); err != nil {
		return failed(fmt.Sprintf("could not run node: %v", err))
	}
	defer p.forget(command.Process)
	defer context.AfterFunc(ctx, func() { interrupt(command.Process) })()

	err = command.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return &pulumirpc.RunResponse{}
	case !errors.As(err, &exit):
		return failed(fmt.Sprintf("could not run node: %v", err))
	case exit.ExitCode() == alreadyReported:
		return &pulumirpc.RunResponse{Bail: true}
	default:
		return failed(fmt.Sprintf("Program exited with non-zero exit code: %d", exit.ExitCode()))
	}
}

func failed(message string) *pulumirpc.RunResponse {
	return &pulumirpc.RunResponse{Error: message}
}

// start holds the lock, so that no program starts unseen by interrupt.
func (p *programs) start(command *exec.Cmd) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if err := command.Start(); err != nil {
		return err
	}
	if p.running == nil {
		p.running = map[*os.Process]bool{}
	}
	p.running[command.Process] = true
	return nil
}

func (p *programs) forget(process *os.Process) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.running, process)
}

// interrupt ends all that run.
func (p *programs) interrupt() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for process := range p.running {
		interrupt(process)
	}
}

func interrupt(process *os.Process) {
	_ = process.Signal(os.Interrupt)
	time.AfterFunc(timeToEnd, func() { _ = process.Kill() })
}
