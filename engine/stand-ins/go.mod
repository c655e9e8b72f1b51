module proxmox-gpu-stack/engine/stand-ins

go 1.26

require (
	github.com/pkg/sftp v1.13.10
	github.com/pulumi/pulumi/sdk/v3 v3.248.0
	golang.org/x/crypto v0.53.0
	google.golang.org/grpc v1.81.1
	google.golang.org/protobuf v1.36.11
)

require (
	github.com/kr/fs v0.1.0 // indirect
	golang.org/x/net v0.56.0 // indirect
	golang.org/x/sys v0.46.0 // indirect
	golang.org/x/text v0.38.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260622175928-b703f567277d // indirect
)
