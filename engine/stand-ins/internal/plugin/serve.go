// Package plugin is what both stand-ins share: being a plugin of the Pulumi engine. A plugin serves gRPC on a free
// loopback port, prints that port as its first line, and leaves with the engine.
package plugin

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Serve serves what register adds to the server, until the engine ends this process. onLeave is called before that.
func Serve(register func(grpc.ServiceRegistrar), onLeave func()) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot listen on the loopback interface: %w", err)
	}
	// The default limit is 4 MiB a message.
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(math.MaxInt32),
		grpc.UnaryInterceptor(nameUncovered),
		grpc.StreamInterceptor(nameUncoveredStream),
	)
	register(server)
	go leaveWithEngine(onLeave)
	if _, err := fmt.Println(listener.Addr().(*net.TCPAddr).Port); err != nil {
		return err
	}
	return server.Serve(listener)
}

// leaveWithEngine waits for the engine's end and ends this process.
func leaveWithEngine(onLeave func()) {
	ends := make(chan os.Signal, 1)
	// The engine ends a plugin with SIGINT, and kills it five seconds later.
	signal.Notify(ends, syscall.SIGINT, syscall.SIGTERM)
	// Standard input is a pipe of the engine: it closes when the engine dies, however it dies.
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			ends <- syscall.SIGTERM
		}()
	}
	<-ends
	onLeave()
	os.Exit(0)
}

// Dial prepares a connection to the engine; it is made with the first call.
func Dial(engineAddress string) (*grpc.ClientConn, error) {
	// The address is one already: nothing has to look it up.
	return grpc.NewClient("passthrough:///"+engineAddress, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// EngineAddress is the address of the engine that a plugin is started with: its last argument that is no flag.
func EngineAddress() string {
	address := ""
	for _, argument := range os.Args[1:] {
		if !strings.HasPrefix(argument, "-") {
			address = argument
		}
	}
	return address
}
