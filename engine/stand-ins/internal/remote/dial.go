package remote

import (
	"context"
	"fmt"
	"net"

	"golang.org/x/crypto/ssh"
)

// Dial connects, by way of the connection's proxy if there is one. It fails after `dialErrorLimit` retries, or when the context
// ends between two attempts. note is told of each attempt that failed and is tried again.
func Dial(ctx context.Context, connection Connection, note func(string)) (*ssh.Client, error) {
	own, err := readCredentials(&connection)
	if err != nil {
		return nil, err
	}
	defer own.release()
	if connection.Proxy == nil {
		return dialDirectly(ctx, "Dial", &connection, own.ClientConfig, note)
	}
	client, err := dialThroughProxy(ctx, &connection, own.ClientConfig, note)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	return client, nil
}

func dialDirectly(
	ctx context.Context, what string, connection *Connection, config *ssh.ClientConfig, note func(string),
) (*ssh.Client, error) {
	return retried(ctx, what, connection.DialErrorLimit, note, func() (*ssh.Client, error) {
		return ssh.Dial("tcp", connection.address(), config)
	})
}

// dialThroughProxy tries each of its three parts again by itself, as the official provider does.
func dialThroughProxy(
	ctx context.Context, connection *Connection, config *ssh.ClientConfig, note func(string),
) (*ssh.Client, error) {
	own, err := readCredentials(connection.Proxy)
	if err != nil {
		return nil, err
	}
	defer own.release()
	proxy, err := dialDirectly(ctx, "Dial proxy", connection.Proxy, own.ClientConfig, note)
	if err != nil {
		return nil, err
	}
	limit, address := connection.DialErrorLimit, connection.address()
	channel, err := retried(ctx, "Dial from proxy", limit, note, func() (net.Conn, error) {
		return proxy.Dial("tcp", address)
	})
	if err != nil {
		return nil, err
	}
	return retried(ctx, "Dial", limit, note, func() (*ssh.Client, error) {
		conn, channels, requests, err := ssh.NewClientConn(channel, address, config)
		if err != nil {
			return nil, err
		}
		return ssh.NewClient(conn, channels, requests), nil
	})
}
