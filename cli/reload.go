package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// looksEvery is the time after which files are read again.
const looksEvery = time.Second

// A reloaded is read from files, and again when these change. While they cannot be read, it stays as
// it was: two files may be replaced one after the other.
type reloaded[T any] struct {
	logger logr.Logger
	files  []string
	parse  func(texts [][]byte) (T, error)

	mu     sync.Mutex
	looked time.Time
	texts  [][]byte
	value  T
	wrong  string // the error that was logged last
}

func reloadFiles[T any](
	logger logr.Logger, parse func(texts [][]byte) (T, error), files ...string,
) *reloaded[T] {
	return &reloaded[T]{logger: logger, files: files, parse: parse}
}

// Read reads the value for the first time. It has to be there.
func (r *reloaded[T]) Read() (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, r.read()
}

// Current returns the value in the files, or the last one that could be read.
func (r *reloaded[T]) Current() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.looked) >= looksEvery {
		if err := r.read(); err != nil && err.Error() != r.wrong {
			r.wrong = err.Error()
			r.logger.Error(err, "a file was replaced and cannot be read: what it had before is used on")
		}
	}
	return r.value
}

// read reads the files. The lock is held.
func (r *reloaded[T]) read() error {
	r.looked = time.Now()
	var texts [][]byte
	for _, file := range r.files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	if slices.EqualFunc(texts, r.texts, bytes.Equal) {
		r.wrong = ""
		return nil
	}
	value, err := r.parse(texts)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(r.files, ", "), err)
	}
	if r.texts != nil {
		r.logger.Info("files were replaced and are read again", "files", r.files)
	}
	r.texts, r.value, r.wrong = texts, value, ""
	return nil
}

// readToken reads a bearer token.
func readToken(text []byte) (string, error) {
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("it has to have one token of printable ASCII, and nothing else")
	}
	return token, nil
}

// readTLS reads a certificate, its key and, if they are given, the CA certificates of clients.
func readTLS(texts [][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return nil, fmt.Errorf("reading a certificate and its key: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		Certificates: []tls.Certificate{pair}}
	if len(texts) == 2 {
		return config, nil
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(texts[2]) {
		return nil, errors.New("reading the authorities of clients: there is no certificate in PEM")
	}
	return config, nil
}
