package identitytest

import (
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
)

// network is an HTTP proxy whose tunnels end at the emulator, whatever the
// names of its services mean elsewhere. It hangs up on who wants to go anywhere
// else: an answer would pass for one of the machine's identity endpoint.
type network struct {
	mu       sync.Mutex
	routes   map[string]string // host:port of a service to where it is found
	cut      bool
	over     bool
	open     []net.Conn // ends of tunnels
	tunnels  sync.WaitGroup
	attempts int
}

// CutNetwork ends all connections to the account and hangs up on new ones until
// JoinNetwork. The identity endpoint is on the machine of the program and stays.
func (n *network) CutNetwork() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = true
	n.closeAll()
}

// JoinNetwork ends CutNetwork.
func (n *network) JoinNetwork() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = false
}

// Attempts returns how often a connection to the account was asked for.
func (n *network) Attempts() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.attempts
}

// end closes every tunnel and waits for them.
func (n *network) end() {
	n.mu.Lock()
	n.over = true
	n.closeAll()
	n.mu.Unlock()
	n.tunnels.Wait()
}

func (n *network) closeAll() {
	for _, c := range n.open {
		c.Close()
	}
	n.open = nil
}

// serve is an [http.HandlerFunc] for CONNECT.
func (n *network) serve(w http.ResponseWriter, r *http.Request) {
	to, ok := n.route(r.Host)
	if r.Method != http.MethodConnect || !ok || !n.admit() {
		panic(http.ErrAbortHandler)
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		http.Error(w, "the emulator does not answer", http.StatusBadGateway)
		return
	}
	program, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		server.Close()
		http.Error(w, "no tunnel", http.StatusInternalServerError)
		return
	}
	if n.begin(program, server) {
		defer n.tunnels.Done()
		io.WriteString(program, "HTTP/1.1 200 Connection Established\r\n\r\n")
		tunnel(program, buffered, server)
		n.forget(program, server)
	}
}

func (n *network) route(host string) (to string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	to, ok = n.routes[host]
	return to, ok
}

// lead gives a service another place, and returns the one before.
func (n *network) lead(host, to string) (before string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, n.routes[host] = n.routes[host], to
	return before
}

// tunnel copies both ways until one of them ends.
func tunnel(program net.Conn, fromProgram io.Reader, server net.Conn) {
	var up sync.WaitGroup
	up.Go(func() {
		io.Copy(server, fromProgram)
		server.Close()
		program.Close()
	})
	io.Copy(program, server)
	server.Close()
	program.Close()
	up.Wait()
}

// admit counts an attempt and reports whether there is a network.
func (n *network) admit() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attempts++
	return !n.cut && !n.over
}

// begin enters the ends of a tunnel into the list, or closes them where the
// network has gone meanwhile. A tunnel that has begun must be Done.
func (n *network) begin(ends ...net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = append(n.open, ends...)
	if n.cut || n.over {
		n.closeAll()
		return false
	}
	n.tunnels.Add(1)
	return true
}

func (n *network) forget(ends ...net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = slices.DeleteFunc(n.open, func(c net.Conn) bool { return slices.Contains(ends, c) })
}
