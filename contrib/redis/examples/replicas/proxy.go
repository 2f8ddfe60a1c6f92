package main

import (
	"io"
	"net"
	"sync"
)

// A proxy leads connections to servers in turn, and to another one if one is gone.
type proxy struct {
	listener net.Listener

	mu      sync.Mutex
	servers []string
	next    int
	conns   map[net.Conn]bool
}

func newProxy(servers ...string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, servers: servers, conns: map[net.Conn]bool{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.lead(conn)
		}
	}()
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) close() {
	_ = p.listener.Close()
	p.cut()
}

// cut breaks every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// dial connects to the next server that is there.
func (p *proxy) dial() (net.Conn, error) {
	var conn net.Conn
	var err error
	for range p.servers {
		p.mu.Lock()
		server := p.servers[p.next%len(p.servers)]
		p.next++
		p.mu.Unlock()
		if conn, err = net.Dial("tcp", server); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (p *proxy) lead(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := p.dial()
	if err != nil {
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	var pipes sync.WaitGroup
	for _, way := range [][2]net.Conn{{server, client}, {client, server}} {
		pipes.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_, _ = client.Close(), server.Close()
		})
	}
	pipes.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, server)
}
