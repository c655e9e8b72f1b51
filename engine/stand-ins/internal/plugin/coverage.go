package plugin

import (
	"context"
	"path"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const prefix = "stand-in: "

// NotCovered is the error of a call for something that a stand-in does not cover.
func NotCovered(what string) error {
	return status.Errorf(codes.Unimplemented, prefix+"%s is not covered", what)
}

// nameUncovered gives a method that is not covered the words of NotCovered, so that they tell whose fault it is.
func nameUncovered(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	reply, err := handle(ctx, request)
	return reply, named(err, info.FullMethod)
}

func nameUncoveredStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	return named(handle(server, stream), info.FullMethod)
}

func named(err error, method string) error {
	if status.Code(err) == codes.Unimplemented && !strings.HasPrefix(status.Convert(err).Message(), prefix) {
		return NotCovered(path.Base(method))
	}
	return err
}
