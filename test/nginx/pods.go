package nginx

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/textproto"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// This file answers nginx in the place of all pods, and of the server that auth-url names. They take requests that
// servers would refuse, such as one for a path without a slash, and answer with what they saw.

// What a request tells the pod, and the server of auth-url, to answer.
const (
	AnswerHeader    = "X-Oracle-Answer"     // the status, 200 if it is not said
	ReplyHeader     = "X-Oracle-Reply"      // a header, as `Name: value`
	AuthHeader      = "X-Oracle-Auth"       // the status of auth-url, 401 if it is not said
	AuthReplyHeader = "X-Oracle-Auth-Reply" // a header of its answer
)

// sockets are where nginx finds them.
var sockets = []string{"pods_http", "pods_https", "pods_grpc", "pods_grpcs", "oracle_auth"}

// pods listens in a folder until it is closed.
type pods struct {
	listeners []net.Listener
	servers   []*http.Server
	mu        sync.Mutex
	open      map[net.Conn]bool
}

func servePods(folder string) (*pods, error) {
	p := &pods{open: map[net.Conn]bool{}}
	pair, err := tls.X509KeyPair(ownPair(), ownPair())
	if err != nil {
		return nil, err
	}
	for _, name := range sockets {
		listener, err := net.Listen("unix", filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, "pods_grpc") {
			p.grpc(listener, name, pair)
			continue
		}
		if name == "pods_https" {
			listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
		}
		p.listeners = append(p.listeners, listener)
		go p.accept(listener, name)
	}
	return p, nil
}

// grpc answers over HTTP/2, as pods with GRPC do.
func (p *pods) grpc(listener net.Listener, name string, pair tls.Certificate) {
	server := &http.Server{Protocols: &http.Protocols{}, ReadHeaderTimeout: patience, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := textproto.MIMEHeader(r.Header)
		header.Set("Host", r.Host)
		w.Header().Set("X-Oracle-Pod", encodeSeen(name, r.Method+" "+r.RequestURI+" "+r.Proto, header))
		status, err := strconv.Atoi(cmp.Or(r.Header.Get(AnswerHeader), "200"))
		if err != nil {
			status = http.StatusInternalServerError
		}
		w.WriteHeader(status)
	})
	p.servers = append(p.servers, server)
	if name == "pods_grpcs" {
		server.Protocols.SetHTTP2(true)
		go func() { _ = server.ServeTLS(listener, "", "") }() // it ends when the listener does
		return
	}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(listener) }() // it ends when the listener does
}

func (p *pods) accept(listener net.Listener, name string) {
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.open[c] = true
		p.mu.Unlock()
		go func() {
			reader := bufio.NewReader(c)
			for answerOne(reader, c, name) == nil {
			}
			_ = c.Close()
			p.mu.Lock()
			delete(p.open, c)
			p.mu.Unlock()
		}()
	}
}

func (p *pods) close() {
	for _, listener := range p.listeners {
		_ = listener.Close()
	}
	for _, server := range p.servers {
		_ = server.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

func answerOne(reader *bufio.Reader, to io.Writer, name string) error {
	lines := textproto.NewReader(reader)
	first, err := lines.ReadLine()
	if err != nil {
		return err
	}
	header, err := lines.ReadMIMEHeader()
	if err != nil {
		return err
	}
	length, err := strconv.ParseInt("0"+header.Get("Content-Length"), 10, 64)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, reader, length); err != nil {
		return err
	}
	status, reply, seen := cmp.Or(header.Get(AuthHeader), "401"), header.Get(AuthReplyHeader), ""
	if name != "oracle_auth" {
		status, reply, seen = cmp.Or(header.Get(AnswerHeader), "200"), header.Get(ReplyHeader), "X-Oracle-Pod: "+encodeSeen(name, first, header)+"\r\n"
		if _, own, _ := strings.Cut(header.Get("X-Oracle-Peer"), "|"); len(own) == 3 { // the controller's own answer
			status, reply, seen = own, "", ""
			if _, target, _ := strings.Cut(first, " "); !strings.HasPrefix(target, "/") || header.Get("Host") == "" {
				status = "400" // it is nginx, too, and wants a path and a host
			}
		}
	}
	if reply != "" {
		reply += "\r\n"
	}
	_, err = fmt.Fprintf(to, "HTTP/1.1 %s x\r\nContent-Type: text/html\r\nContent-Length: 0\r\n%s%s\r\n", status, seen, reply)
	return err
}

func encodeSeen(name, first string, header textproto.MIMEHeader) string {
	var text strings.Builder
	text.WriteString(name + "\n" + first + "\n")
	for key, values := range header {
		for _, value := range values {
			text.WriteString(key + ":" + value + "\n")
		}
	}
	return base64.StdEncoding.EncodeToString([]byte(text.String()))
}
