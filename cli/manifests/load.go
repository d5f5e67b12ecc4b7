// Package manifests reads Kubernetes objects from files.
package manifests

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/validate"
)

// This file reads files and directories. It refuses what an API server would refuse, with one line
// a problem.

// maxManifest limits the size of a manifest.
const maxManifest = 8 << 20

// standardInput is the path for it.
const standardInput = "-"

// Load reads every object from files, from directories (without subdirectories) and, for the path
// "-", from standard input.
func Load(paths []string, stdin io.Reader) (ingress.Objects, error) {
	var l loader
	files, err := manifestFiles(paths)
	if err != nil {
		return ingress.Objects{}, err
	}
	for _, file := range files {
		text, err := readManifest(file, stdin)
		if err != nil {
			l.problem(file, "", err)
			continue
		}
		l.read(file, text)
	}
	l.objects.PodsKnown = endpoints.HaveAddresses(l.objects.Pods)
	if len(l.problems) == 0 && len(l.objects.Ingresses) == 0 {
		return l.objects, fmt.Errorf("%s: %w", strings.Join(paths, ", "), ErrNoIngress)
	}
	return l.objects, errors.Join(l.problems...)
}

// ErrNoIngress is returned for files without errors and without an Ingress, which is seldom
// intended.
var ErrNoIngress = errors.New("no Ingress there")

// manifestFiles returns the files behind the paths, each once.
func manifestFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		if path == standardInput {
			files = append(files, path)
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, withoutPath(err))
		}
		if !info.IsDir() {
			files = append(files, filepath.Clean(path))
			continue
		}
		inside, err := directoryFiles(path)
		if err != nil {
			return nil, err
		}
		files = append(files, inside...)
	}
	var once []string
	for _, file := range files {
		if !slices.Contains(once, file) {
			once = append(once, file)
		}
	}
	return once, nil
}

// directoryFiles returns the manifests of a directory by name.
func directoryFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, withoutPath(err))
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && IsManifest(entry.Name()) {
			files = append(files, filepath.Join(dir, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no .yaml, .yml or .json file there (directories inside it are not "+
			"searched)", dir)
	}
	return files, nil
}

// IsManifest reports whether a file name is that of a manifest. A kustomization is not one.
func IsManifest(name string) bool {
	ext := filepath.Ext(name)
	return slices.Contains([]string{".yaml", ".yml", ".json"}, ext) &&
		!strings.EqualFold(strings.TrimSuffix(name, ext), "kustomization") &&
		!strings.HasPrefix(name, ".")
}

// readManifest reads a file, up to the limit.
func readManifest(file string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if file != standardInput {
		f, err := os.Open(file)
		if err != nil {
			return nil, withoutPath(err)
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxManifest+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if len(text) > maxManifest {
		return nil, fmt.Errorf("larger than %d MiB, too large for a manifest", maxManifest>>20)
	}
	return text, nil
}

// withoutPath returns a file system's error without the path, which is printed in front of it.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// A loader collects objects and problems.
type loader struct {
	objects  ingress.Objects
	origins  map[string]string // by object, where it is
	problems []error
}

// problem records a problem of an object.
func (l *loader) problem(file, object string, err error) {
	if file == standardInput {
		file = "standard input"
	}
	if object != "" {
		file += ": " + object
	}
	l.problems = append(l.problems, fmt.Errorf("%s: %w", file, err))
}

// read reads all documents of a file.
func (l *loader) read(file string, text []byte) {
	docs, err := documents(text)
	if err != nil {
		l.problem(file, "", err)
		return
	}
	for _, doc := range docs {
		l.document(file, doc, identity{})
	}
}

// document reads one object, or the items of a list. An item inherits kind and apiVersion from its
// list.
func (l *loader) document(file string, doc document, inherited identity) {
	var id identity
	if err := json.Unmarshal(doc.json, &id); err != nil {
		l.problem(file, fmt.Sprintf("%s at line %d", cmp.Or(id.Kind, "document"), doc.line),
			notAnObject(err))
		return
	}
	id.APIVersion = cmp.Or(id.APIVersion, inherited.APIVersion)
	id.Kind = cmp.Or(id.Kind, inherited.Kind)
	if id.APIVersion == "" || id.Kind == "" {
		l.problem(file, fmt.Sprintf("document at line %d", doc.line),
			errors.New("apiVersion and kind are required"))
		return
	}
	if item, isList := strings.CutSuffix(id.Kind, "List"); isList {
		l.list(file, doc, identity{APIVersion: id.APIVersion, Kind: item})
		return
	}
	k, ok, err := id.kind()
	if err != nil {
		l.problem(file, id.String(), err)
	}
	if ok {
		l.object(file, doc, k, id)
	}
}

// notAnObject returns why a document has no kind.
func notAnObject(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("%s: must be of type %s, not %s", wrong.Field, wrong.Type, wrong.Value)
	}
	return errors.New("not a Kubernetes object")
}

// list reads the items of a list. The items of a plain List have kinds of their own.
func (l *loader) list(file string, doc document, item identity) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(doc.json, &list); err != nil {
		l.problem(file, fmt.Sprintf("document at line %d", doc.line), errors.New("items: not a list"))
		return
	}
	if item.Kind == "" {
		item = identity{}
	}
	for _, data := range list.Items {
		l.document(file, document{doc.line, data}, item)
	}
}

// object reads an object.
func (l *loader) object(file string, doc document, k Kind, id identity) {
	object, problems := k.decode(doc.json)
	if object != nil {
		id.Metadata.Namespace = object.GetNamespace()
		problems = l.refuse(file, doc, object, id)
	}
	for _, err := range problems {
		l.problem(file, id.String(), err)
	}
	if len(problems) == 0 {
		k.Add(&l.objects, object)
	}
}

// refuse returns why an object is refused although it decodes.
func (l *loader) refuse(file string, doc document, object metav1.Object, id identity) []error {
	if object.GetName() == "" {
		return []error{fmt.Errorf("metadata.name: required (document at line %d)", doc.line)}
	}
	if first, taken := l.origins[id.String()]; taken {
		return []error{fmt.Errorf("metadata.name: a second object with this name; the first is in %s",
			first)}
	}
	if l.origins == nil {
		l.origins = map[string]string{}
	}
	l.origins[id.String()] = fmt.Sprintf("%s, line %d", file, doc.line)
	if ing, ok := object.(*networkingv1.Ingress); ok {
		return invalidFields(ing)
	}
	return nil
}

// invalidFields returns what the API server would refuse about an Ingress, each with its field.
func invalidFields(ing *networkingv1.Ingress) []error {
	const most = 50 // of one Ingress
	var problems []error
	for i, e := range validate.Ingress(ing) {
		if i == most {
			return append(problems, errors.New("there is more wrong with it, which is left out"))
		}
		problems = append(problems, errors.New(OneLine(e.Field+": "+validate.Message(e))))
	}
	return problems
}
