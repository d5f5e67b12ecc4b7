// Package manifests reads Kubernetes objects from files.
package manifests

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/ingress/validate"
)

// This file reads the objects in files. It refuses what an API server would refuse, with one line a
// problem.

// Places are where objects stand, by their names as diagnostics have them.
type Places map[string]Place

// Load reads every object from files, from directories (without subdirectories) and, for the path
// "-", from standard input. If only some objects or files cannot be read, it returns the others,
// and the error is of type Problems.
func Load(paths []string, stdin io.Reader) (objects.Objects, error) {
	objects, _, err := Files{Paths: paths, Stdin: stdin}.Load(context.Background())
	return objects, err
}

// Load reads every object, as the function Load does.
func (f Files) Load(ctx context.Context) (objects.Objects, Places, error) {
	l := loader{places: Places{}, namespace: cmp.Or(f.Namespace, metav1.NamespaceDefault)}
	files, err := f.list()
	if err != nil {
		return objects.Objects{}, nil, err
	}
	for _, file := range files {
		text, err := f.text(ctx, file)
		l.file(file, text, err)
	}
	for _, dir := range f.Kustomizations {
		text, err := build(ctx, dir)
		if err != nil {
			return objects.Objects{}, nil, fmt.Errorf("%s: %w", dir, err)
		}
		l.file(dir, text, nil)
	}
	if f.Namespace != "" {
		l.objects.Ingresses = slices.DeleteFunc(l.objects.Ingresses,
			func(ing *networkingv1.Ingress) bool { return ing.Namespace != f.Namespace })
	}
	l.objects.PodsKnown = endpoints.HaveAddresses(l.objects.Pods)
	paths := append(slices.Clone(f.Paths), f.Kustomizations...)
	return l.objects, l.places, l.verdict(paths, f.Namespace)
}

// verdict returns the problems. Where they leave no Ingress, they are not of type Problems. Only
// the namespace counts, if it is set.
func (l *loader) verdict(paths []string, only string) error {
	switch none := len(l.objects.Ingresses) == 0; {
	case len(l.problems) == 0 && none:
		in := ""
		if only != "" {
			in = " in namespace " + only
		}
		return fmt.Errorf("%s: %w%s", strings.Join(paths, ", "), ErrNoIngress, in)
	case none:
		return noneLeft{l.problems}
	case len(l.problems) > 0:
		return l.problems
	}
	return nil
}

// A loader collects objects and problems.
type loader struct {
	objects   objects.Objects
	places    Places
	problems  Problems
	namespace string // of objects that name none
}

// problem records a problem of an object, or of a whole document.
func (l *loader) problem(file string, line int, object string, err error) {
	l.problems = append(l.problems, Problem{Place{file, line}, object, err.Error()})
}

// file reads all documents of a file. A document that cannot be read costs itself.
func (l *loader) file(file string, text []byte, err error) {
	file = NameOf(file)
	if err != nil {
		l.problem(file, 0, "", err)
		return
	}
	docs, problems := documents(file, text)
	l.problems = append(l.problems, problems...)
	for _, doc := range docs {
		l.document(file, doc, identity{})
	}
}

// document reads one object, or the items of a list. An item inherits kind and apiVersion from its
// list.
func (l *loader) document(file string, doc document, inherited identity) {
	var id identity
	if err := json.Unmarshal(doc.json, &id); err != nil {
		l.problem(file, doc.line, id.Kind, notAnObject(err))
		return
	}
	id.APIVersion = cmp.Or(id.APIVersion, inherited.APIVersion)
	id.Kind = cmp.Or(id.Kind, inherited.Kind)
	if id.APIVersion == "" || id.Kind == "" {
		l.problem(file, doc.line, "",
			errors.New("not a Kubernetes object: apiVersion and kind are required"))
		return
	}
	if item, isList := strings.CutSuffix(id.Kind, "List"); isList {
		l.list(file, doc, identity{APIVersion: id.APIVersion, Kind: item})
		return
	}
	k, ok, err := id.kind()
	if err != nil {
		l.problem(file, doc.line, id.String(), err)
	}
	if ok {
		l.object(file, doc, k, id)
	}
}

// notAnObject returns why a document has no kind.
func notAnObject(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
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
		l.problem(file, doc.line, "", errors.New("items: not a list"))
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
	object, problems := k.decode(doc.json, l.namespace)
	if object != nil {
		id.Metadata.Namespace = object.GetNamespace()
		problems = l.refuse(file, doc, object, id)
	}
	for _, err := range problems {
		l.problem(file, doc.line, id.String(), err)
	}
	if len(problems) == 0 {
		k.Add(&l.objects, object)
	}
}

// refuse returns why an object is refused although it decodes.
func (l *loader) refuse(file string, doc document, object metav1.Object, id identity) []error {
	if object.GetName() == "" {
		return []error{errors.New("metadata.name: required")}
	}
	if first, taken := l.places[id.String()]; taken {
		return []error{fmt.Errorf("metadata.name: a second object with this name; the first is in %s",
			first)}
	}
	l.places[id.String()] = Place{file, doc.line}
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
