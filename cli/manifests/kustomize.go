package manifests

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// This file builds kustomizations, with the command that the machine has for it: kubectl or
// kustomize. Both print the manifests that `kubectl apply -k` applies
// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/kustomization/).
//
// A kustomization can name files and git repositories of other machines. The author of a change
// could so have a pipeline send requests into its own network. They are refused, twice: by a search
// before the build, which knows the line, and by an environment in which neither git nor HTTP
// reaches another machine.

// builders are the commands that build a kustomization, in the order in which they are tried.
var builders = [][]string{{"kubectl", "kustomize"}, {"kustomize", "build"}}

// build returns the manifests of a kustomization.
func (f Files) build(ctx context.Context, dir string) ([]byte, error) {
	about, err := os.Stat(dir)
	// A URL on the command line asks for another machine itself.
	closed := !f.Remote && err == nil && about.IsDir()
	if closed {
		if err := (remotes{f, map[string]bool{}}).directory(dir, false); err != nil {
			return nil, err
		}
	}
	for _, builder := range builders {
		program, err := exec.LookPath(builder[0])
		if err != nil {
			continue
		}
		var out, problem bytes.Buffer
		cmd := exec.CommandContext(ctx, program, builder[1], "--", dir) //nolint:gosec // one of builders
		cmd.Stdout, cmd.Stderr = &out, &problem
		if closed {
			cmd.Env = append(os.Environ(), offline...)
		}
		if err := cmd.Run(); err != nil {
			said := strings.ReplaceAll(OneLine(problem.String()), dir, f.shown(dir))
			if closed && (strings.Contains(said, "' not allowed") || strings.Contains(said, nowhere)) {
				said += "; --kustomize-remote permits it to fetch from other machines"
			}
			return nil, fmt.Errorf("running %s %s: %w: %s", builder[0], builder[1], err, said)
		}
		return limited(&out, maxManifest)
	}
	return nil, errors.New("building a kustomization " +
		"needs kubectl or kustomize, and neither is in PATH")
}

// notBuilt records a problem for a kustomization that the files have and that no -k names: what it
// makes of the manifests is not read.
func (l *loader) notBuilt(f Files, file string) {
	dir := filepath.Dir(file)
	if slices.ContainsFunc(f.Kustomizations, func(built string) bool { return sameFile(built, dir) }) {
		return
	}
	l.problem(Problem{Place: Place{File: f.shown(file)}, unread: contentsOf(dir),
		Message: "a kustomization, which is not built: -k with its directory builds it, and --exclude " +
			"leaves it out"})
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, wrong := os.Stat(b)
	return err == nil && wrong == nil && os.SameFile(one, other)
}

// contentsOf returns what decides about a kustomization: the files below its directory. It is empty
// if files elsewhere may decide, too, or if there is too much to compare.
func contentsOf(dir string) string {
	const mostFiles = 10_000
	root := dir + string(filepath.Separator) // which follows a link
	sum, files, size := sha256.New(), 0, 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := ReadFile(path, maxManifest)
		files, size = files+1, size+len(text)
		if err != nil || !entry.Type().IsRegular() || files > mostFiles || size > maxManifest ||
			bytes.Contains(text, []byte("../")) {
			return errElsewhere
		}
		inside, err := filepath.Rel(root, path)
		fmt.Fprintf(sum, "%q %q\n", inside, text)
		return err
	})
	if err != nil {
		return ""
	}
	return fmt.Sprintf("a kustomization of the files %x", sum.Sum(nil))
}

// errElsewhere ends a walk.
var errElsewhere = errors.New("files elsewhere may decide")

// nowhere is an address to which no connection is made.
const nowhere = "127.0.0.1:0"

// offline keeps git and HTTP from other machines: git takes none of its protocols for allowed
// (https://git-scm.com/docs/git#Documentation/git.txt-codeGITALLOWPROTOCOLcode), and a proxy gets
// all requests (https://pkg.go.dev/net/http#ProxyFromEnvironment).
var offline = []string{
	"GIT_ALLOW_PROTOCOL=none", "NO_PROXY=", "no_proxy=", "HTTP_PROXY=http://" + nowhere,
	"HTTPS_PROXY=http://" + nowhere, "http_proxy=http://" + nowhere, "https_proxy=http://" + nowhere,
}

// A remotes searches kustomizations for URLs, those in their bases and components, too.
type remotes struct {
	Files
	seen map[string]bool
}

// A visit is a value that was searched.
type visit struct {
	node   *yaml.Node
	plugin bool
}

// inert are the fields of kustomizations whose texts name no files
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/).
var inert = []string{"commonAnnotations", "commonLabels", "helmCharts", "helmGlobals", "images",
	"labels", "literals", "metadata", "options", "patch", "vars"}

// plugins are the fields with files that kustomize reads as kustomizations of their own.
var plugins = []string{"generators", "transformers", "validators"}

// directory searches the kustomization of a directory. In one of plugins, resources are searched,
// too.
func (r remotes) directory(dir string, plugin bool) error {
	for _, name := range kustomizations {
		file := filepath.Join(dir, name)
		if _, err := os.Stat(file); err == nil {
			if err := r.file(file, plugin); err != nil {
				return err
			}
		}
	}
	return nil
}

// file searches a kustomization, or the file of a plugin.
func (r remotes) file(file string, plugin bool) error {
	key := fmt.Sprint(filepath.Clean(file), plugin)
	if r.seen[key] {
		return nil
	}
	r.seen[key] = true
	text, err := ReadFile(file, maxManifest)
	if err != nil {
		return fmt.Errorf("%s: %w", r.shown(file), err)
	}
	known := map[visit]bool{}
	for _, p := range split(text, 1) {
		var document yaml.Node
		if err := yaml.Unmarshal(p.text, &document); err != nil {
			return unreadable(r.shown(file), p, err)
		}
		if err := r.node(p.source(file), &document, plugin, known); err != nil {
			return err
		}
	}
	return nil
}

// node searches a value of a kustomization.
func (r remotes) node(in source, n *yaml.Node, plugin bool, known map[visit]bool) error {
	if known[visit{n, plugin}] {
		return nil
	}
	known[visit{n, plugin}] = true
	if n.Kind == yaml.AliasNode {
		return r.node(in, n.Alias, plugin, known)
	}
	if n.Kind == yaml.ScalarNode {
		return r.text(in, n, plugin)
	}
	for i, child := range n.Content {
		isPlugin := plugin
		if n.Kind == yaml.MappingNode {
			name := n.Content[i-i%2].Value
			if i%2 == 0 || slices.Contains(inert, name) {
				continue
			}
			isPlugin = plugin || slices.Contains(plugins, name)
		}
		if err := r.node(in, child, isPlugin, known); err != nil {
			return err
		}
	}
	return nil
}

// text refuses a text that is a URL, and searches the kustomization that it names.
func (r remotes) text(in source, n *yaml.Node, plugin bool) error {
	switch {
	case n.Value == "" || strings.Contains(n.Value, "\n"): // a patch, which is no path
		return nil
	case strings.Contains(n.Value, "://"):
		return Problem{Place: Place{r.shown(in.file), in.first + n.Line - 1}, Message: fmt.Sprintf(
			"%s is on another machine; --kustomize-remote permits it to be fetched", n.Value)}
	}
	path := filepath.Join(filepath.Dir(in.file), n.Value)
	about, err := os.Stat(path)
	switch {
	case err != nil:
		return nil //nolint:nilerr // it is no path, or kustomize says so
	case about.IsDir():
		return r.directory(path, plugin)
	case plugin:
		return r.file(path, plugin)
	}
	return nil
}
