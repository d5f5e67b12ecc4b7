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

	"fairlead.dev/fairlead/cli/configuration"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/reload"
	"fairlead.dev/fairlead/cli/version"
	"fairlead.dev/fairlead/providers/serve"
)

// This file serves a provider of this binary to an operator that is another process, which then
// needs none of the cloud's credentials.

// servedBy are the settings of run that serve-provider has, too.
var servedBy = []string{"provider", "kubeconfig", "namespace", "installation-id", "cloud-attempt-timeout", "cloud-call-timeout", "shutdown-timeout", "log-format", "verbose"}

// A served provider has an address to listen at, and the credentials that it asks clients for.
type served struct {
	listen    string
	tokenFile string
	certFile  string
	keyFile   string
	clientCAs string
}

func newServeProvider(with Providers) *cobra.Command {
	var (
		o operator.Settings
		s served
	)
	cmd := &cobra.Command{
		Use:   "serve-provider",
		Short: "Serve a cloud of this binary to an operator that is another process",
		Long: `Serve one of the clouds of this binary over the provider protocol, so that the process with the credentials
of the cloud can be another one than the operator, and stand elsewhere.

The provider is sent private keys and client secrets. It listens on loopback or on a unix socket, or it asks for
a bearer token or a client certificate, over TLS. All files are read again when they change.

Settings are flags, variables of the environment such as FAIRLEAD_LISTEN, and a file that --config names.`,
		Example: `  # Beside an operator that shares a volume with it
  fairlead serve-provider --provider aws --listen unix:/run/fairlead/aws.sock --installation-id my-cluster

  # To operators elsewhere
  fairlead serve-provider --provider aws --listen :8443 --tls-cert-file tls.crt --tls-key-file tls.key \
    --client-ca-file ca.crt --installation-id my-cluster

  # The fake cloud, to look at the protocol
  fairlead serve-provider --provider fake --listen 127.0.0.1:8090
  curl -s 'http://127.0.0.1:8090/load-balancer?key=a'`,
		Args: cobra.NoArgs,
	}
	settings := o.Flags(with.Clouds)
	own := s.flags()
	settings.AddFlagSet(own)
	cmd.Flags().SortFlags = false
	settings.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(servedBy, f.Name) || own.Lookup(f.Name) != nil || with.Clouds.Has(f.Name) {
			cmd.Flags().AddFlag(f)
		}
	})
	cmd.Flags().String("config", "", "`FILE` of settings in YAML, by the names of these flags; also "+configuration.Variable("config"))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, err := configuration.Resolve(cmd, settings, os.Environ()); err != nil {
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
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8090", "`ADDRESS` to listen at, such as :8443, or a unix socket, unix:/run/fairlead.sock")
	flags.StringVar(&s.tokenFile, "token-file", "", "`FILE` with the bearer token that requests need; unset: none is asked for")
	flags.StringVar(&s.certFile, "tls-cert-file", "", "`FILE` with the certificate, in PEM; unset: connections are not encrypted")
	flags.StringVar(&s.keyFile, "tls-key-file", "", "`FILE` with the key of the certificate, in PEM")
	flags.StringVar(&s.clientCAs, "client-ca-file", "", "`FILE` with the authorities, in PEM, that the certificates of clients have to be from; unset: none is asked for")
	return flags
}

// run serves until the context ends.
func (s *served) run(ctx context.Context, o *operator.Settings, with Providers, logs io.Writer) error {
	logger := logr.FromSlogHandler(o.Logs(logs))
	if err := s.check(); err != nil {
		return err
	}
	options := serve.Options{Log: logger, Software: "fairlead " + version.String()}
	if s.tokenFile != "" {
		token := reload.Files(logger, func(texts [][]byte) (string, error) { return reload.Token(texts[0]) }, s.tokenFile)
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
	cloud, err := o.Provider.Live(ctx, with.Clouds, o.Surroundings())
	if err != nil {
		return err
	}
	defer cloud.Close()
	on, err := s.open(ctx)
	if err != nil {
		return err
	}
	logger.Info("serving", "version", version.String(), "provider", o.Provider.String(), "at", on.Addr().String(), "tls", config != nil, "token", s.tokenFile != "", "clientCertificates", s.clientCAs != "")
	if config != nil {
		on = tls.NewListener(on, config)
	}
	if err := serve.New(cloud.Term(), options).Listen(ctx, on, o.Shutdown); err != nil {
		return err
	}
	logger.Info("stopped")
	return nil
}

// check refuses to be reached by others without knowing who they are.
func (s *served) check() error {
	switch {
	case (s.certFile == "") != (s.keyFile == ""):
		return errors.New("--tls-cert-file and --tls-key-file go together: give both, or neither")
	case s.clientCAs != "" && s.certFile == "":
		return errors.New("--client-ca-file: only TLS has certificates of clients; give --tls-cert-file and --tls-key-file, too")
	case s.local():
		return nil
	case s.tokenFile == "" && s.clientCAs == "":
		return fmt.Errorf("--listen: other machines can reach %s: give --token-file or --client-ca-file, or listen on loopback or a unix socket", s.listen)
	case s.certFile == "":
		return fmt.Errorf("--listen: other machines can reach %s, and private keys are sent to it: give --tls-cert-file and --tls-key-file, or listen on loopback or a unix socket", s.listen)
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

// open opens where the provider listens. A socket that an earlier process has left is replaced.
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
	if err := os.Chmod(path, 0o660); err != nil { //nolint:gosec // a group can share it, as that of a pod's volumes does
		return nil, errors.Join(fmt.Errorf("--listen: %w", err), on.Close())
	}
	return on, nil
}

// tls is how connections are encrypted; nil for not at all.
func (s *served) tls(logger logr.Logger) (*tls.Config, error) {
	if s.certFile == "" {
		return nil, nil
	}
	files := []string{s.certFile, s.keyFile}
	if s.clientCAs != "" {
		files = append(files, s.clientCAs)
	}
	config := reload.Files(logger, reload.TLS, files...)
	if _, err := config.Read(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return config.Current(), nil },
	}, nil
}
