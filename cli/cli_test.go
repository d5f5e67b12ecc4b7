package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/fake"
)

// sampleFiles are the samples, seen from this directory.
const sampleFiles = "../" + samples

// providers for tests are those of the binary; the fake's data plane is in a hurry.
func testProviders() Providers {
	quick := fake.Plug()
	settings := pflag.NewFlagSet("", pflag.ContinueOnError)
	add := quick.Flags
	quick.Flags = func(flags *pflag.FlagSet) {
		add(flags)
		settings = flags
	}
	quick.Live = func(context.Context, clouds.Environment) (clouds.Live, error) {
		cloud, err := servingTo(settings.Lookup("fake-state").Value.String())
		return clouds.SharedLocal{Local: cloud}, err
	}
	quick.Local = func() (clouds.Local, error) { return servingTo("") }
	return Providers{Clouds: map[string]clouds.Cloud{"aws": aws.Plug(), "fake": quick}}
}

// with is these providers with a change of the fake cloud.
func (p Providers) with(change func(*clouds.Cloud)) Providers {
	c := p.Clouds["fake"]
	change(&c)
	p.Clouds["fake"] = c
	return p
}

// servingTo is a cloud with a data plane that keeps its state in a file, if one is named.
func servingTo(state string) (clouds.Local, error) {
	return fake.New(fake.Options{Serve: true, CheckEvery: 20 * time.Millisecond, State: state})
}

// said is what a command printed and how it ended.
type said struct {
	out, err string
	code     int
}

// fairlead runs a command line.
func fairlead(t *testing.T, args ...string) said {
	t.Helper()
	return runWith(t, testProviders(), args...)
}

func runWith(t *testing.T, with Providers, args ...string) said {
	t.Helper()
	var out, err bytes.Buffer
	code := Run(t.Context(), args, with, Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	return said{out.String(), err.String(), code}
}

// directory writes files by name and returns where they are.
func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ingressYAML is an Ingress with one path, which goes to Service web.
func ingressYAML(name, host, path string) string {
	return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: ` + name + `, namespace: shop}
spec:
  ingressClassName: fairlead
  rules:
  - host: "` + host + `"
    http:
      paths:
      - path: "` + path + `"
        pathType: Prefix
        backend: {service: {name: web, port: {number: 80}}}
`
}

const serviceYAML = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  ports: [{port: 80}]
`

// until waits for something that another goroutine does.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not happen", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestEveryCommandShowsAnExample(t *testing.T) {
	for _, cmd := range newRoot(testProviders()).Commands() {
		if cmd.Example == "" {
			t.Errorf("fairlead %s has no example in its help", cmd.Name())
		}
	}
}

func TestWrongUseIsSaidInOneLine(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"a command that is not there":  {[]string{"plann"}, `error: unknown command "plann" for "fairlead"; did you mean plan?`},
		"a command that is like none":  {[]string{"deploy-it"}, `error: unknown command "deploy-it" for "fairlead"`},
		"help about no command":        {[]string{"help", "pln"}, `error: unknown command "pln" for "fairlead"; did you mean plan?`},
		"help about none below one":    {[]string{"help", "provider", "chek"}, `error: unknown command "chek" for "fairlead provider"; did you mean check?`},
		"completion of another shell":  {[]string{"completion", "tcsh"}, `error: unknown command "tcsh" for "fairlead completion"; did you mean bash?`},
		"no command below another":     {[]string{"provider", "chek"}, `error: unknown command "chek" for "fairlead provider"; did you mean check?`},
		"a flag that is not there":     {[]string{"plan", "--filenam=x"}, "error: --filenam: there is no such flag; did you mean --filename?"},
		"a flag like help":             {[]string{"plan", "--help-me"}, "error: --help-me: there is no such flag; did you mean --help?"},
		"a plan of nothing":            {[]string{"plan"}, "error: no Ingresses are given: name files with --filename, or read the cluster with --live"},
		"an answer about nothing":      {[]string{"explain", "http://a.example/"}, "error: no Ingresses are given: name files with --filename, or read the cluster with --live"},
		"an answer without a question": {[]string{"explain", "--live"}, "error: explain takes one or more URLs, or --all"},
		"a value that a flag cannot be": {[]string{"plan", "-f", "x", "-o", "xml"},
			`error: --output: "xml": it can be text, json or yaml`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := fairlead(t, c.args...); got.code != exitFail || got.err != c.want+"\n" {
				t.Errorf("exit code %d, %q; want %q", got.code, got.err, c.want)
			}
		})
	}
}

func TestVersionIsACommandAndAFlag(t *testing.T) {
	command, flag := fairlead(t, "version"), fairlead(t, "--version")
	if command != flag {
		t.Errorf("fairlead version prints %+v, fairlead --version %+v", command, flag)
	}
}

func TestVersionNamesTheToolchain(t *testing.T) {
	if got := fairlead(t, "version"); got.code != 0 || !strings.HasPrefix(got.out, "fairlead ") || !strings.Contains(got.out, "go1.") || !strings.Contains(got.out, ", for Kubernetes 1.") {
		t.Errorf("version: %+v", got)
	}
}

func TestCompletionDescribesFlags(t *testing.T) {
	for _, of := range [][]string{{"plan", "--filen"}, {"provider", "check", "--target"}} {
		got := fairlead(t, append([]string{"__complete"}, of...)...)
		if strings.Contains(got.out, "`") || !strings.HasPrefix(got.out, of[len(of)-1]) || !strings.Contains(got.out, "\t") {
			t.Errorf("completing %q prints %s", of, got.out)
		}
	}
}

func TestCompletionKnowsProviders(t *testing.T) {
	got := fairlead(t, "__complete", "plan", "--provider", "")
	for _, name := range []string{"aws", "fake"} {
		if !strings.Contains(got.out, name) {
			t.Errorf("completing --provider does not offer %s:\n%s", name, got.out)
		}
	}
}
