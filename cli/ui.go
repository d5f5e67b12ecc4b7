package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/answer"
	"fairlead.dev/fairlead/cli/comparison"
	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/page"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
)

const uiHelp = `Serve a page on this machine that shows load balancers, the routes of each host, what
answers a request and why, the plan, and what is wrong: the same as status, explain and plan print with
-o json, to which each view has a link. With --base, it has what changes since a git revision, as diff
prints it.

With --live, the objects are those of the cluster of the current kubeconfig, read with your own rights.
The page follows changes of the files or of the cluster. It changes nothing, reads nothing of the cloud,
and shows no Secret. It answers on loopback alone, until it is interrupted.`

const uiExamples = `  # The routes of these files
  fairlead ui -f config/samples

  # What is degraded in the cluster of the current kubeconfig? Open the browser, too
  fairlead ui --live --open`

func newUI(with access.Clouds) *cobra.Command {
	u := &pageSource{with: with, version: time.Now().UnixNano(), changed: make(chan struct{})}
	var (
		port int
		open bool
	)
	cmd := &cobra.Command{
		Use:     "ui -f FILE|DIR... | --live",
		Short:   "Serve a page on this machine that shows routes, reasons and plans",
		Long:    uiHelp,
		Example: uiExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			u.in.Files = append(u.in.Files, args...)
			if err := u.in.RequireFiles(u.live); err != nil {
				return err
			}
			if u.live && u.in.FromFiles() {
				return errors.New("--live reads the cluster, and no files: leave out one of them")
			}
			u.cmd = cmd
			return serveUI(cmd, u, port, open)
		},
	}
	u.in.ManifestFlags(cmd)
	cmd.Flags().BoolVar(&u.live, "live", false, "read the objects from the cluster")
	u.cluster.ConnectionFlags(cmd.Flags())
	u.in.ProviderFlag(cmd, with)
	completeManifests(cmd)
	cmd.Flags().StringVar(&u.base, "base", "", "compare with the same files at this git `REVISION`")
	cmd.MarkFlagsMutuallyExclusive("base", "live")
	cmd.Flags().IntVar(&port, "port", 0, "`PORT` of loopback; 0: any that is free")
	cmd.Flags().BoolVar(&open, "open", false, "open the page in the browser")
	return cmd
}

// serveUI serves the page until the command is interrupted.
func serveUI(cmd *cobra.Command, u *pageSource, port int, open bool) error {
	address, stop, err := u.start(cmd.Context(), port)
	if err != nil {
		return err
	}
	defer stop()
	_ = output.While(cmd.ErrOrStderr(), "compiling", func() error {
		u.shown.Prepare(cmd.Context())
		return nil
	})
	fmt.Fprintf(cmd.OutOrStdout(), "the page is %s/now, until you press Ctrl-C\n", address)
	if open {
		if err := openBrowser(cmd.Context(), address+"/now"); err != nil {
			output.Error(cmd.ErrOrStderr(), err)
		}
	}
	<-cmd.Context().Done()
	return nil
}

// start serves the page on loopback, and returns its address.
func (u *pageSource) start(ctx context.Context, port int) (address string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	if err := u.follow(ctx); err != nil {
		cancel()
		return "", nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("listening on loopback: %w", err)
	}
	u.shown = page.Handler(u)
	server := &http.Server{Handler: u.shown, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends when it is closed
	}()
	return "http://" + listener.Addr().String(), func() {
		cancel()
		_ = server.Close() // the program ends
		<-ended
	}, nil
}

// openBrowser opens an address in the user's browser.
func openBrowser(ctx context.Context, address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	if err := exec.CommandContext(ctx, name, args...).Start(); err != nil { //nolint:gosec // one of three, with an address of loopback
		return fmt.Errorf("opening the browser: %w; the page is served all the same", err)
	}
	return nil
}

// A pageSource has what the page shows: what commands print about the present files or cluster.
type pageSource struct {
	cmd     *cobra.Command
	with    access.Clouds
	in      source.Input
	live    bool
	cluster access.Cluster
	base    string // a git revision
	shown   *page.Server

	mu        sync.Mutex
	version   int64 // it begins with the time, so that the page of a command that ended shows another one
	changed   chan struct{}
	compiled  *compilation
	documents []page.Document
	err       error
}

// follow has changes of the files or of the cluster compiled.
func (u *pageSource) follow(ctx context.Context) error {
	var changes <-chan struct{}
	var err error
	if u.live {
		changes, err = source.WatchCluster(ctx, u.cluster)
	} else {
		changes, err = source.WatchFiles(ctx, u.in.Paths())
	}
	if err != nil {
		return err
	}
	go func() {
		for range changes {
			u.mu.Lock()
			u.compiled, u.documents, u.err = nil, nil, nil
			u.version++
			close(u.changed)
			u.changed = make(chan struct{})
			u.mu.Unlock()
		}
	}()
	return nil
}

// Version is a page.Source.
func (u *pageSource) Version() (string, <-chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return strconv.FormatInt(u.version, 36), u.changed
}

// Of is a page.Source.
func (u *pageSource) Of() string {
	if u.base != "" {
		return u.in.Of(u.cluster) + " Compared with revision " + u.base + "."
	}
	return u.in.Of(u.cluster)
}

// Documents is a page.Source.
func (u *pageSource) Documents(context.Context) ([]page.Document, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.present()
}

// present compiles what is there now, unless that is done. The caller holds the lock.
func (u *pageSource) present() ([]page.Document, error) {
	if u.documents == nil && u.err == nil {
		u.compiled, u.documents, u.err = u.compile()
	}
	return u.documents, u.err
}

// compile makes the documents: the status and, of files, the plan and what changes since the revision.
func (u *pageSource) compile() (*compilation, []page.Document, error) {
	in := u.in.Again()
	compiled, err := compileFor(u.cmd, &in, u.with, u.cluster)
	if err != nil {
		return nil, nil, err
	}
	report, err := compiled.status(u.cmd, &in, u.cluster)
	if err != nil {
		return nil, nil, err
	}
	reports := []any{report}
	if !u.live {
		reports = append(reports, program.Report(compiled.programs, compiled.diagnostics, compiled.problems))
	}
	if u.base != "" {
		compared, err := u.compare()
		if err != nil {
			return nil, nil, err
		}
		reports = append(reports, compared)
	}
	var out []page.Document
	for i, r := range reports {
		data, err := printed(r)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, page.Document{Command: []string{"status", "plan", "diff"}[i], JSON: data})
	}
	return &compiled, out, nil
}

// compare compares the files with those of the revision.
func (u *pageSource) compare() (comparison.Report, error) {
	from := opposite{base: u.base}
	before, after, err := from.sides(u.cmd, u.in.Again(), nil)
	if err != nil {
		return comparison.Report{}, err
	}
	return compareSides(u.cmd, u.with, &before, &after)
}

// printed is what a command prints with -o json.
func printed(value any) ([]byte, error) {
	var out bytes.Buffer
	err := output.JSON.Print(&out, value)
	return out.Bytes(), err
}

// Explain is a page.Source.
func (u *pageSource) Explain(_ context.Context, q page.Question) (page.Document, error) {
	method := q.Method
	if method == "" {
		method = http.MethodGet
	}
	asked, err := answer.Questions([]string{q.URL}, method, q.Headers)
	if err != nil {
		return page.Document{}, err
	}
	if q.Client != "" {
		if asked[0].Request.Source, err = netip.ParseAddr(q.Client); err != nil {
			return page.Document{}, fmt.Errorf("the address of the client: %w", err)
		}
	}
	u.mu.Lock() // a table caches what it is asked
	defer u.mu.Unlock()
	if _, err := u.present(); err != nil {
		return page.Document{}, err
	}
	answers, err := u.compiled.answers(asked)
	if err != nil {
		return page.Document{}, err
	}
	data, err := printed(answers[0])
	return page.Document{Command: "explain", JSON: data}, err
}

// htmlFlag adds the file in which a command writes what it prints as a page.
func htmlFlag(cmd *cobra.Command) {
	cmd.Flags().String("html", "", "also write the result to this `FILE`, as a page that needs nothing else: "+
		"to be opened in a browser, or attached")
	flagvalue.Must(cmd.MarkFlagFilename("html", "html"))
}

// writeHTML writes what a command prints with -o json as a page, if --html names a file. The page says what it is about.
func writeHTML(cmd *cobra.Command, command, about string, report any) error {
	file := cmd.Flag("html").Value.String()
	if file == "" {
		return nil
	}
	data, err := printed(report)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	of := about + " Written by Fairlead " + operator.Version() + "."
	if err := page.Write(&out, of, page.Document{Command: command, JSON: data}); err != nil {
		return err
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}
