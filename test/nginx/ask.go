package nginx

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// This file asks nginx over raw connections: nothing tidies a request up.

// A Request is sent as it is written here.
type Request struct {
	TLS     bool
	Method  string   // GET, if it is not said
	Target  string   // as it stands in the request line
	Host    string   // the header; `-` sends none
	Version string   // HTTP/1.1, if it is not said
	Headers []string // `Name: value`
	Body    string

	// From is where the request comes from, 127.0.0.1 if it is not said. If the ConfigMap takes the address from a
	// header, this is the address of the connection, and has to be of 127.0.0.0/8.
	From netip.Addr
	// Port is the load balancer's, for a controller that reads the PROXY protocol: 443 with TLS and 80 without, if it is not said.
	Port uint16
}

// An Answer is what comes back.
type Answer struct {
	Refused  string // no answer of HTTP: why
	Status   int
	Location string // the header; a port of the oracle's own is left out, as 80 and 443 would be
	Header   http.Header
	// Where is the ID of nginx's location, empty where nginx had not come so far. `error` or `sign-in` after it, and `app-root`
	// before it, tell which part of the location has answered.
	Where string
	Pod   *Seen // nil: nginx answered by itself
}

// Seen is what a pod got.
type Seen struct {
	Upstream string // the name of the upstream
	Service  string // namespace/name:port
	Endpoint string // address:port
	TLS      bool
	GRPC     bool
	Method   string
	Target   string
	Header   http.Header // with Host
}

// String is an answer in a few words: the status, and where it leads or which Service has seen which target.
func (a Answer) String() string {
	switch {
	case a.Refused != "":
		return "refused"
	case a.Pod != nil && a.Status == http.StatusOK:
		return a.Pod.Service + " " + a.Pod.Target
	case a.Pod != nil:
		return fmt.Sprintf("%d %s %s", a.Status, a.Pod.Service, a.Pod.Target)
	case a.Location != "":
		return fmt.Sprintf("%d %s", a.Status, a.Location)
	}
	return strconv.Itoa(a.Status)
}

// origins are what one connection can be used for.
type origins struct {
	tls  bool
	name string
	from netip.Addr
	port uint16
}

type connection struct {
	net.Conn
	reader *bufio.Reader
}

var errMalformed = errors.New("a pod was asked something malformed")

// Ask sends one request. A connection is kept for the next.
func (o *Oracle) Ask(r Request) Answer {
	key := origins{tls: r.TLS, from: r.From, port: r.Port}
	if r.TLS {
		key.name = serverIndication(r.Host)
	}
	raw := r.raw()
	for {
		c, fresh, err := o.connection(key)
		if err != nil {
			return Answer{Refused: err.Error()}
		}
		answer, keep, err := c.exchange(o, raw, cmp.Or(r.Method, http.MethodGet))
		if err == nil && keep {
			o.keep(key, c)
			return answer
		}
		_ = c.Close()
		if err == nil {
			return answer
		}
		if fresh { // an old connection may have been closed meanwhile
			return Answer{Refused: err.Error()}
		}
	}
}

// serverIndication is the name that a client would say in the handshake.
func serverIndication(host string) string {
	name, _, _ := strings.Cut(host, ":")
	if _, err := netip.ParseAddr(name); err == nil || name == "" || name == "-" || strings.ContainsAny(name, " \t/[]_*%") {
		return ""
	}
	return strings.TrimSuffix(name, ".")
}

func (r Request) raw() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s\r\n", cmp.Or(r.Method, http.MethodGet), r.Target, cmp.Or(r.Version, "HTTP/1.1"))
	if r.Host != "-" {
		b.WriteString("Host: " + r.Host + "\r\n")
	}
	for _, header := range r.Headers {
		b.WriteString(header + "\r\n")
	}
	if r.Body != "" {
		b.WriteString("Content-Length: " + strconv.Itoa(len(r.Body)) + "\r\n")
	}
	b.WriteString("\r\n" + r.Body)
	return b.Bytes()
}

func (o *Oracle) keep(key origins, c *connection) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.idle[key] = append(o.idle[key], c)
}

func (o *Oracle) connection(key origins) (*connection, bool, error) {
	o.mu.Lock()
	if all := o.idle[key]; len(all) > 0 {
		c := all[len(all)-1]
		o.idle[key] = all[:len(all)-1]
		o.mu.Unlock()
		return c, false, nil
	}
	o.mu.Unlock()
	c, err := o.dial(key)
	return c, true, err
}

func (o *Oracle) dial(key origins) (*connection, error) {
	port := o.places.http
	if key.tls {
		port = o.places.https
	}
	dialer := net.Dialer{Timeout: patience}
	if key.from.IsValid() && !o.config.forged() {
		dialer.LocalAddr = &net.TCPAddr{IP: key.from.AsSlice()}
	}
	c, err := dialer.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	if o.config.forged() {
		if _, err := io.WriteString(c, key.proxyLine()); err != nil {
			return nil, err
		}
	}
	if key.tls {
		client := tls.Client(c, &tls.Config{ServerName: key.name, InsecureSkipVerify: true}) //nolint:gosec // which certificate is shown means nothing
		if err := client.Handshake(); err != nil {                                           //nolint:noctx // it has a deadline
			return nil, fmt.Errorf("TLS: %w", err)
		}
		c = client
	}
	return &connection{c, bufio.NewReader(c)}, nil
}

// proxyLine is version 1 of the PROXY protocol.
func (k origins) proxyLine() string {
	from, family, to := k.from, "TCP4", "127.0.0.1"
	if !from.IsValid() {
		from = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if from.Is6() {
		family, to = "TCP6", "::1"
	}
	port := k.port
	if port == 0 {
		if port = 80; k.tls {
			port = 443
		}
	}
	return fmt.Sprintf("PROXY %s %s %s 40000 %d\r\n", family, from, to, port)
}

func (c *connection) exchange(o *Oracle, raw []byte, method string) (Answer, bool, error) {
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(raw); err != nil {
		return Answer{}, false, err
	}
	response, err := http.ReadResponse(c.reader, &http.Request{Method: method})
	if err != nil {
		return Answer{}, false, err
	}
	for response.StatusCode == http.StatusContinue {
		if response, err = http.ReadResponse(c.reader, &http.Request{Method: method}); err != nil {
			return Answer{}, false, err
		}
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if err != nil {
		return Answer{}, false, err
	}
	answer, err := o.read(response)
	return answer, !response.Close && response.StatusCode != http.StatusSwitchingProtocols, err
}

func (o *Oracle) read(response *http.Response) (Answer, error) {
	h := response.Header
	answer := Answer{Status: response.StatusCode, Where: h.Get("X-Oracle-Location"), Header: h}
	answer.Location = o.portless(h.Get("Location"))
	if pods := h["X-Oracle-Pod"]; len(pods) > 0 {
		pod, err := o.seen(pods[0])
		if err != nil {
			return answer, err
		}
		answer.Pod = pod
	}
	h.Del("X-Oracle-Location")
	h.Del("X-Oracle-Pod")
	return answer, nil
}

// portless leaves out the port under which the oracle runs, which is 80 or 443 elsewhere.
func (o *Oracle) portless(location string) string {
	for _, port := range []int{o.places.http, o.places.https} {
		own := ":" + strconv.Itoa(port)
		if i := strings.Index(location, own); i >= 0 && (i+len(own) == len(location) || strings.ContainsRune("/?#", rune(location[i+len(own)]))) {
			return location[:i] + location[i+len(own):]
		}
	}
	return location
}

func (o *Oracle) seen(encoded string) (*Seen, error) {
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, err
	}
	name, rest, _ := strings.Cut(string(text), "\n")
	line, headers, _ := strings.Cut(rest, "\n")
	first, last := strings.IndexByte(line, ' '), strings.LastIndexByte(line, ' ')
	if first < 0 || first == last {
		return nil, fmt.Errorf("%w: %q", errMalformed, line)
	}
	pod := &Seen{TLS: strings.HasSuffix(name, "s"), GRPC: strings.HasPrefix(name, "pods_grpc"), Method: line[:first], Target: line[first+1 : last], Header: http.Header{}}
	for header := range strings.SplitSeq(headers, "\n") {
		if name, value, ok := strings.Cut(header, ":"); ok {
			pod.Header.Add(name, value)
		}
	}
	pod.Upstream, pod.Endpoint, _ = strings.Cut(pod.Header.Get("X-Oracle-Peer"), "|")
	pod.Service = o.Upstreams[pod.Upstream]
	for _, own := range []string{"X-Oracle-Peer", AnswerHeader, ReplyHeader, AuthHeader, AuthReplyHeader} {
		pod.Header.Del(own)
	}
	return pod, nil
}
