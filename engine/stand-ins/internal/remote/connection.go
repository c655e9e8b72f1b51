// Package remote makes SSH connections: dialled, retried and refused as pulumi-command 1.2.1 does it.
package remote

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
)

// What a connection is that does not say otherwise.
const (
	DefaultUser           = "root"
	DefaultPort           = 22
	DefaultDialErrorLimit = 10
	DefaultPerDialTimeout = 15
)

// Connection is the `connection` of a resource.
type Connection struct {
	Host               string
	Port               int
	User               string
	PrivateKey         string
	PrivateKeyPassword string
	Password           string
	HostKey            string
	// AgentSocketPath is SSH_AUTH_SOCK where it is nil; "" is no agent.
	AgentSocketPath *string
	// DialErrorLimit is how often a failed attempt is tried again; -1 is for ever.
	DialErrorLimit int
	// PerDialTimeout is in seconds; 0 is no limit.
	PerDialTimeout int
	Proxy          *Connection
}

// ReadConnection reads a connection from a property value without secret marks.
func ReadConnection(value any) (Connection, error) {
	var connection Connection
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &connection)
	}
	if err != nil {
		return connection, fmt.Errorf("connection: %w", err)
	}
	return connection, nil
}

// UnmarshalJSON fills in the defaults. A state of an older version of the provider may lack them.
func (c *Connection) UnmarshalJSON(text []byte) error {
	type fields Connection
	given := fields{
		User:           DefaultUser,
		Port:           DefaultPort,
		DialErrorLimit: DefaultDialErrorLimit,
		PerDialTimeout: DefaultPerDialTimeout,
	}
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	*c = Connection(given)
	return nil
}

func (c *Connection) address() string {
	return net.JoinHostPort(c.Host, strconv.Itoa(c.Port))
}
