package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/providers/serve"
)

// This file serves a provider of this binary to an operator that is another process, which then
// needs none of the cloud's credentials.

// servedBy lists the settings of run that serve-provider has, too.
var servedBy = []string{
	"provider", "kubeconfig", "context", "namespace", "installation-id", "cloud-attempt-timeout",
	"cloud-call-timeout", "shutdown-timeout", "log-format", "verbose",
}

// A served provider listens at an address, and asks clients for credentials.
type served struct {
	listen    string
	tokenFile string
	certFile  string
	keyFile   string
	clientCAs string
}

func newServeProvider(with access.Clouds) *cobra.Command {
	var (
		o operator.Settings
		s served
	)
	cmd := &cobra.Command{
		Use:   "serve-provider",
		Short: "Serve a cloud of this binary to an operator that is another process",
		Long: `Serve one of the clouds of this binary over the provider protocol. The operator then
needs no credentials of the cloud: only this process has them, and it can run elsewhere.

Requests carry private keys and client secrets. Therefore the provider listens on loopback or on
a unix socket, or it uses TLS and asks for a bearer token or a client certificate. All files are
read again when they change.

Settings are flags, environment variables such as FAIRLEAD_LISTEN, and a file that --config names.`,
		Example: `  # Beside an operator that shares a volume with it
  fairlead serve-provider --provider aws --listen unix:/run/fairlead/aws.sock \
    --installation-id my-cluster

  # To operators elsewhere
  fairlead serve-provider --provider aws --listen :8443 --tls-cert-file tls.crt \
    --tls-key-file tls.key --client-ca-file ca.crt --installation-id my-cluster

  # The fake cloud, to look at the protocol
  fairlead serve-provider --provider fake --listen 127.0.0.1:8090
  curl -s 'http://127.0.0.1:8090/load-balancer?key=a'`,
		Args: cobra.NoArgs,
	}
	settings := o.Flags(with)
	own := s.flags()
	settings.AddFlagSet(own)
	addSomeSettings(cmd, settings, func(name string) bool {
		return slices.Contains(servedBy, name) || own.Lookup(name) != nil || with.Has(name)
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, err := resolveSettings(cmd, settings, os.Environ()); err != nil {
			return err
		}
		return s.run(cmd.Context(), &o, with, cmd.ErrOrStderr())
	}
	return cmd
}

// flags adds the address to listen at, and the files with certificates and tokens.
func (s *served) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("serve-provider", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8090",
		"`ADDRESS` to listen at, such as :8443, or a unix socket, unix:/run/fairlead.sock")
	flags.StringVar(&s.tokenFile, "token-file", "",
		"`FILE` with the bearer token that requests need; unset: requests need none")
	flags.StringVar(&s.certFile, "tls-cert-file", "",
		"`FILE` with the certificate, in PEM; unset: connections are not encrypted")
	flags.StringVar(&s.keyFile, "tls-key-file", "", "`FILE` with the key of the certificate, in PEM")
	flags.StringVar(&s.clientCAs, "client-ca-file", "", "`FILE` with the CA certificates, in PEM, "+
		"that have to have signed the certificates of clients; unset: clients need no certificate")
	return flags
}

// run serves until the context ends.
func (s *served) run(
	ctx context.Context, o *operator.Settings, with access.Clouds, logs io.Writer,
) error {
	logger := logr.FromSlogHandler(o.Logs(logs))
	if err := s.check(); err != nil {
		return err
	}
	options := serve.Options{Log: logger, Software: "fairlead " + operator.Version()}
	if s.tokenFile != "" {
		read := func(texts [][]byte) (string, error) { return readToken(texts[0]) }
		token := reloadFiles(logger, read, s.tokenFile)
		if _, err := token.Read(); err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
		options.Token = token.Current
	}
	config, err := s.tls(logger)
	if err != nil {
		return err
	}
	if len(o.Provider.Names) > 1 || len(o.Provider.Others()) > 0 {
		return errors.New("--provider: one cloud of this binary is served")
	}
	cloud, err := o.Provider.Live(ctx, with, o.Environment())
	if err != nil {
		return err
	}
	defer cloud.Close()
	on, err := s.open(ctx)
	if err != nil {
		return err
	}
	logger.Info("serving", "version", operator.Version(), "provider", o.Provider.String(),
		"at", on.Addr().String(), "tls", config != nil, "token", s.tokenFile != "",
		"clientCertificates", s.clientCAs != "")
	if config != nil {
		on = tls.NewListener(on, config)
	}
	if err := serve.New(cloud.Term(), options).Listen(ctx, on, o.Shutdown); err != nil {
		return err
	}
	logger.Info("stopped")
	return nil
}

// check refuses an address that other machines can reach, unless clients authenticate over TLS.
func (s *served) check() error {
	switch {
	case (s.certFile == "") != (s.keyFile == ""):
		return errors.New("--tls-cert-file and --tls-key-file go together: give both, or neither")
	case s.clientCAs != "" && s.certFile == "":
		return errors.New("--client-ca-file: only TLS has certificates of clients; " +
			"give --tls-cert-file and --tls-key-file, too")
	case s.local():
		return nil
	case s.tokenFile == "" && s.clientCAs == "":
		return fmt.Errorf("--listen: other machines can reach %s: give --token-file or "+
			"--client-ca-file, or listen on loopback or a unix socket", s.listen)
	case s.certFile == "":
		return fmt.Errorf("--listen: other machines can reach %s, and private keys are sent to it: "+
			"give --tls-cert-file and --tls-key-file, or listen on loopback or a unix socket", s.listen)
	}
	return nil
}

// local reports whether only this machine can connect.
func (s *served) local() bool {
	if strings.HasPrefix(s.listen, unixScheme) {
		return true
	}
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

const unixScheme = "unix:"

// open listens at the address. It replaces a socket that an earlier process has left.
func (s *served) open(ctx context.Context) (net.Listener, error) {
	var listens net.ListenConfig
	path, unix := strings.CutPrefix(s.listen, unixScheme)
	if !unix {
		on, err := listens.Listen(ctx, "tcp", s.listen)
		if err != nil {
			return nil, fmt.Errorf("--listen: %w", err)
		}
		return on, nil
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if c, err := new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
			return nil, errors.Join(fmt.Errorf("--listen: another process listens at %s", path), c.Close())
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("--listen: replacing a socket that nothing listens at: %w", err)
		}
	}
	on, err := listens.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	err = os.Chmod(path, 0o660) //nolint:gosec // a group shares it, as fsGroup of a pod does
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--listen: %w", err), on.Close())
	}
	return on, nil
}

// tls returns the configuration of TLS, or nil where connections are not encrypted.
func (s *served) tls(logger logr.Logger) (*tls.Config, error) {
	if s.certFile == "" {
		return nil, nil
	}
	files := []string{s.certFile, s.keyFile}
	if s.clientCAs != "" {
		files = append(files, s.clientCAs)
	}
	config := reloadFiles(logger, readTLS, files...)
	if _, err := config.Read(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return config.Current(), nil
		},
	}, nil
}
