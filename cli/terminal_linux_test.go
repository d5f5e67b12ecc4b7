package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/clouds"
)

// terminal returns a terminal of so many columns, and what is written to it until it is closed.
func terminal(t *testing.T, columns uint16) (*os.File, func() string) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan string)
	go func() {
		text, _ := io.ReadAll(screen) // it ends with an error when no program has the terminal open
		written <- strings.ReplaceAll(string(text), "\r\n", "\n")
	}()
	return program, func() string {
		program.Close()
		return <-written
	}
}

// helpOf returns the help of a command on a terminal of so many columns; 0 is no terminal.
func helpOf(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	args = append(args, "--help")
	if columns == 0 {
		return fairlead(t, args...).out
	}
	out, text := terminal(t, columns)
	if code := Run(t.Context(), args, testProviders(), Streams{In: strings.NewReader(""), Out: out, Err: out}); code != exitDone {
		t.Errorf("%v: exit code %d", args, code)
	}
	return text()
}

func TestHelpFitsTheTerminal(t *testing.T) {
	var all [][]string
	var walk func(*cobra.Command, []string)
	walk = func(cmd *cobra.Command, path []string) {
		all = append(all, path)
		for _, below := range cmd.Commands() {
			walk(below, append(path[:len(path):len(path)], below.Name()))
		}
	}
	walk(newRoot(testProviders()), nil)
	for _, size := range []struct {
		columns     uint16
		most, least int
	}{{0, 80, 76}, {80, 80, 76}, {90, 90, 86}, {200, 100, 96}} {
		longest := 0
		for _, path := range all {
			for line := range strings.Lines(helpOf(t, size.columns, path...)) {
				n := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
				if longest = max(longest, n); n > size.most {
					t.Errorf("%d columns: fairlead %s --help has a line of %d characters: %s", size.columns, strings.Join(path, " "), n, line)
				}
			}
		}
		if longest < size.least {
			t.Errorf("%d columns: no line has more than %d characters", size.columns, longest)
		}
	}
}

// TestHelpSaysTheSameInEachWidth has the words of narrow help be those of the texts, and the commands in it be
// those of the examples for a shell, which takes a backslash at the end of a line for none.
func TestHelpSaysTheSameInEachWidth(t *testing.T) {
	for _, cmd := range newRoot(testProviders()).Commands() {
		help := helpOf(t, 60, cmd.Name())
		words := strings.Join(strings.Fields(help), " ")
		if long := strings.Join(strings.Fields(cmd.Long), " "); !strings.Contains(words, long) {
			t.Errorf("fairlead %s --help lacks words of\n%s\nin\n%s", cmd.Name(), long, help)
		}
		joined := strings.Join(strings.Fields(strings.ReplaceAll(strings.ReplaceAll(help, "\\\n", " "), "\n  #", "")), " ")
		for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", " ")) {
			if line = strings.Join(strings.Fields(strings.TrimLeft(line, " #")), " "); !strings.Contains(joined, line) {
				t.Errorf("fairlead %s --help lacks the example %q in\n%s", cmd.Name(), line, help)
			}
		}
	}
}

// TestDiagnosticsFitTheTerminal has a diagnostic with many annotations: it has the words that a file would have, and
// each annotation begins a line.
func TestDiagnosticsFitTheTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "1") //nolint:misspell // it is spelt this way everywhere
	foreign := strings.Replace(ingressYAML("web", "a.example.com", "/"), "namespace: shop}",
		"namespace: shop, annotations: {nginx.ingress.kubernetes.io/affinity: cookie, nginx.ingress.kubernetes.io/proxy-read-timeout: '60', "+
			"nginx.ingress.kubernetes.io/rewrite-target: /, nginx.ingress.kubernetes.io/proxy-body-size: 8m}}", 1)
	file := filepath.Join(directory(t, map[string]string{"a.yaml": foreign}), "a.yaml")
	t.Chdir(filepath.Dir(file))
	for _, command := range []string{"plan", "validate"} {
		plain := fairlead(t, command, "a.yaml").out
		out, text := terminal(t, 72)
		Run(t.Context(), []string{command, "a.yaml"}, testProviders(), Streams{In: strings.NewReader(""), Out: out, Err: out})
		shown := text()
		if strings.Join(strings.Fields(shown), " ") != strings.Join(strings.Fields(plain), " ") || strings.Count(plain, "AnnotationForeign") != 1 {
			t.Errorf("%s prints\n%s\non a terminal, and otherwise\n%s", command, shown, plain)
		}
		for line := range strings.Lines(shown) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 72 && strings.Contains(line, "nginx") {
				t.Errorf("%s prints a line of %d characters: %s", command, n, line)
			}
		}
		for _, begins := range []string{"\n      proxy-read-timeout (instead: ", "\n      rewrite-target (instead: "} {
			if !strings.Contains(shown, begins) {
				t.Errorf("%s lacks %q in\n%s", command, begins, shown)
			}
		}
	}
}

// patient is a cloud that takes its time to answer questions.
type patient struct{ clouds.Offline }

func (p patient) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	time.Sleep(1100 * time.Millisecond)
	return p.Offline.Lookup(ctx, q)
}

// TestLongWorkIsToldOnATerminalAlone: in one line, which is gone before the result is printed.
func TestLongWorkIsToldOnATerminalAlone(t *testing.T) {
	file := filepath.Join(directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/")}), "a.yaml")
	slow := testProviders().with(func(c *clouds.Cloud) {
		open := c.Offline
		c.Offline = func() (clouds.Offline, error) {
			cloud, err := open()
			return patient{cloud}, err
		}
	})
	screen, text := terminal(t, 80)
	var out bytes.Buffer
	if code := Run(t.Context(), []string{"validate", file}, slow, Streams{In: strings.NewReader(""), Out: &out, Err: screen}); code != exitDone {
		t.Errorf("exit code %d: %s", code, out.String())
	}
	if got := text(); got != "\r\x1b[Kcompiling … 1 s\r\x1b[K" {
		t.Errorf("the terminal shows %q", got)
	}
	var err bytes.Buffer
	Run(t.Context(), []string{"validate", file}, slow, Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	if err.Len() > 0 {
		t.Errorf("a pipe gets %q", err.String())
	}
	quick, text := terminal(t, 80)
	Run(t.Context(), []string{"validate", file}, testProviders(), Streams{In: strings.NewReader(""), Out: &out, Err: quick})
	if got := text(); got != "" {
		t.Errorf("of quick work, the terminal shows %q", got)
	}
}
