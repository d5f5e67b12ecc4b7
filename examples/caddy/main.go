// Command caddy-provider is a provider of Fairlead's whose load balancers are served by Caddy.
// README.md is a tutorial that follows its code.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	_ "github.com/caddyserver/caddy/v2/modules/caddytls/standardstek"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"
	"github.com/go-logr/logr"

	"fairlead.dev/fairlead/api/provider/kit"
)

const usage = `caddy-provider run   [flags]    runs Caddy and the provider in one process
caddy-provider serve [flags]    runs the provider, for a Caddy that runs already, of this binary
caddy-provider caddy COMMAND    is Caddy with the modules that the provider needs; "caddy run" runs it
`

var logger = log.New(os.Stderr, "caddy-provider: ", log.LstdFlags)

func main() {
	registerModules()
	mode := ""
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	switch mode {
	case "caddy":
		os.Args = os.Args[1:]
		caddycmd.Main()
	case "run", "serve":
		ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		if err := run(ctx, mode, os.Args[2:]); err != nil {
			logger.Fatal(err)
		}
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
}

// run serves until it is told to stop.
func run(ctx context.Context, mode string, arguments []string) error {
	flags := flag.NewFlagSet(mode, flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:9911", "where the operator reaches the provider: `HOST:PORT`, or unix:/path/to/socket")
	dir := flags.String("state", "", "a `DIRECTORY` in which the provider remembers what the operator sent, private keys included")
	at := flags.String("admin", "http://127.0.0.1:2019", "Caddy's admin API: a `URL`, or unix//path/to/socket; \"run\" has one of its own")
	tokenFile := flags.String("token-file", "", "a `FILE` with the bearer token of the operator, read for each call")
	p := &provider{}
	address := flags.String("address", "127.0.0.1", "the `IP` address at which load balancers are reached, or a network such as 10.0.9.0/24 in which each gets its own")
	flags.BoolVar(&p.realPorts, "real-ports", false, "open listeners at their own ports, not at free ones")
	flags.DurationVar(&p.checkEvery, "check-every", 0, "how often targets are checked; 0 is as their target groups say")
	flags.DurationVar(&p.shutdownDelay, "shutdown-delay", 100*time.Millisecond, "how long connections have for an answer when a configuration is replaced")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	var err error
	if p.network, err = networkOf(*address); err != nil {
		return err
	}
	if *dir == "" {
		return errors.New("--state is needed: a directory in which the provider remembers what the operator sent")
	}
	if err := os.MkdirAll(*dir, 0o700); err != nil { //nolint:gosec // the command line says where
		return err
	}
	if mode == "run" {
		socket := filepath.Join(*dir, "admin.sock")
		*at = "unix/" + socket
		if err := startCaddy(socket, *dir); err != nil {
			return fmt.Errorf("starting Caddy: %w", err)
		}
		defer func() { _ = caddy.Stop() }()
	}
	p.file = filepath.Join(*dir, "state.json")
	if p.caddy, err = newAdmin(*at); err != nil {
		return err
	}
	if err := p.start(); err != nil {
		return err
	}
	defer p.stop()
	return serve(ctx, *listen, *tokenFile, p)
}

// networkOf is the network of an address, or of a network.
func networkOf(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Prefix(address.BitLen())
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		err = fmt.Errorf("--address is %q; it has to be an IP address, or a network such as 10.0.9.0/24", text)
	}
	return network.Masked(), err
}

// startCaddy runs Caddy with nothing but its admin API. It writes no configuration to disk: that
// has private keys.
func startCaddy(socket, dir string) error {
	config, err := json.Marshal(object{
		"admin":   object{"listen": "unix/" + socket, "config": object{"persist": false}},
		"storage": object{"module": "file_system", "root": filepath.Join(dir, "caddy")},
		"logging": object{"logs": object{"default": object{"level": "ERROR"}}},
	})
	if err != nil {
		return err
	}
	return caddy.Load(config, true)
}

// readToken returns "" with an error: then all requests are refused.
func readToken(file string) (string, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the command line says which
	if err == nil && strings.TrimSpace(string(text)) == "" {
		err = fmt.Errorf("%s is empty", file)
	}
	return strings.TrimSpace(string(text)), err
}

// serve answers the operator. Where others than this machine can reach it, it asks for a token.
func serve(ctx context.Context, at, tokenFile string, p *provider) error {
	network, address := "tcp", at
	if path, ok := strings.CutPrefix(at, "unix:"); ok {
		network, address = "unix", path
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { //nolint:gosec // the command line says which
			return err
		}
	}
	socket, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	if tcp, ok := socket.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && tokenFile == "" {
		return errors.Join(fmt.Errorf("--listen %s can be reached from elsewhere: it needs a --token-file", at), socket.Close())
	}
	logger.Printf("listening at %s", socket.Addr())
	options := kit.Options{Log: logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))}
	if tokenFile != "" {
		options.Token = func() string {
			token, err := readToken(tokenFile)
			if err != nil {
				logger.Printf("reading the token: %v", err)
			}
			return token
		}
	}
	return kit.New(p, options).Listen(ctx, socket, 10*time.Second)
}
