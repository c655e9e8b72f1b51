package remote

import (
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// credentials are what a connection says about keys, for Go's SSH library.
type credentials struct {
	*ssh.ClientConfig
	agent net.Conn
}

// readCredentials fails before any dial for what no retry can cure: a key that cannot be read, an agent that does not answer.
// The ways to log in come in the official order: private key, password, keyboard-interactive, agent.
func readCredentials(connection *Connection) (credentials, error) {
	read := credentials{ClientConfig: &ssh.ClientConfig{
		User: connection.User,
		// It bounds the TCP connection alone: a peer that accepts and stays silent afterwards is waited for.
		Timeout: time.Duration(connection.PerDialTimeout) * time.Second,
	}}
	if connection.PrivateKey != "" {
		signer, err := parsePrivateKey(connection.PrivateKey, connection.PrivateKeyPassword)
		if err != nil {
			return read, err
		}
		read.Auth = append(read.Auth, ssh.PublicKeys(signer))
	}
	if connection.Password != "" {
		read.Auth = append(read.Auth, ssh.Password(connection.Password), answerAll(connection.Password))
	}
	if err := read.acceptHostKey(connection.HostKey); err != nil {
		return read, err
	}
	// As in the official provider, an agent that does not answer is an error even beside a private key.
	return read, read.connectAgent(connection.AgentSocketPath)
}

// release ends the connection to the agent, which the handshake alone needs.
func (c *credentials) release() {
	if c.agent != nil {
		_ = c.agent.Close()
	}
}

func parsePrivateKey(key, password string) (ssh.Signer, error) {
	if password == "" {
		return ssh.ParsePrivateKey([]byte(key))
	}
	return ssh.ParsePrivateKeyWithPassphrase([]byte(key), []byte(password))
}

// answerAll gives the password to whatever a server asks for.
func answerAll(password string) ssh.AuthMethod {
	return ssh.KeyboardInteractive(func(_, _ string, questions []string, _ []bool) ([]string, error) {
		answers := make([]string, len(questions))
		for n := range answers {
			answers[n] = password
		}
		return answers, nil
	})
}

// acceptHostKey: without a host key any host is accepted. With one, only its algorithm is offered and only it is accepted.
func (c *credentials) acceptHostKey(text string) error {
	if text == "" {
		c.HostKeyCallback = ssh.InsecureIgnoreHostKey()
		return nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return fmt.Errorf("failed to parse host key: %w", err)
	}
	c.HostKeyCallback = ssh.FixedHostKey(key)
	c.HostKeyAlgorithms = []string{key.Type()}
	return nil
}

func (c *credentials) connectAgent(socketPath *string) error {
	path := os.Getenv("SSH_AUTH_SOCK")
	if socketPath != nil {
		path = *socketPath
	}
	if path == "" {
		return nil
	}
	connection, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	c.agent = connection
	c.Auth = append(c.Auth, ssh.PublicKeysCallback(agent.NewClient(connection).Signers))
	return nil
}
