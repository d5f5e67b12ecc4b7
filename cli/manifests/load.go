// Package manifests reads Kubernetes objects from files.
package manifests

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsjson "sigs.k8s.io/json"

	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/ingress/validate"
)

// This file reads the objects in files. It refuses what an API server would refuse, with one line a
// problem.

// Load reads every object from files, from directories (without subdirectories) and, for the path
// "-", from standard input. If only some objects or files cannot be read, it returns the others,
// and the error is of type Problems.
func Load(paths []string, stdin io.Reader) (ingress.Objects, error) {
	objects, _, err := Files{Paths: paths, Stdin: stdin}.Load(context.Background())
	return objects, err
}

// Load reads every object, as the function Load does.
func (f Files) Load(ctx context.Context) (ingress.Objects, Places, error) {
	l := loader{places: Places{}, namespace: cmp.Or(f.Namespace, metav1.NamespaceDefault),
		budget: cmp.Or(f.Budget, new(Budget)), counts: map[string]int{}, generated: map[string]int{}}
	files, err := f.list(&l)
	if err != nil {
		return ingress.Objects{}, nil, err
	}
	for _, file := range files {
		text, err := f.text(ctx, file)
		if l.file(f.shown(file), text, err) {
			l.notBuilt(f, file)
		}
	}
	for _, dir := range f.Kustomizations {
		text, err := f.build(ctx, dir)
		if _, placed := errors.AsType[Problem](err); placed {
			return ingress.Objects{}, nil, err
		}
		if err != nil {
			return ingress.Objects{}, nil, fmt.Errorf("%s: %w", f.shown(dir), err)
		}
		l.file(f.shown(dir), text, nil)
	}
	if f.Namespace != "" {
		l.objects.Ingresses = slices.DeleteFunc(l.objects.Ingresses,
			func(ing *networkingv1.Ingress) bool { return ing.Namespace != f.Namespace })
		l.objects.TargetGroupBindings = slices.DeleteFunc(l.objects.TargetGroupBindings,
			func(b *alb.TargetGroupBinding) bool { return b.Namespace != f.Namespace })
	}
	l.objects.PodsKnown = endpoints.HaveAddresses(l.objects.Pods)
	if l.kustomization != "" && l.kustomizations == len(files) && len(f.Kustomizations) == 0 {
		return ingress.Objects{}, nil, onlyKustomization(l.kustomization)
	}
	paths := append(slices.Clone(f.Paths), f.Kustomizations...)
	for i, path := range paths {
		paths[i] = f.shown(path)
	}
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
	objects   ingress.Objects
	places    Places
	problems  Problems
	namespace string // of objects that name none
	budget    *Budget
	counts    map[string]int // problems of each file
	generated map[string]int // objects with each generateName
	// kustomizations counts the files that were kustomizations alone; one of their directories.
	kustomizations int
	kustomization  string
}

// mostListed is how many problems of one file are listed.
const mostListed = 100

// problem records a problem of an object, of a document, or of a file.
func (l *loader) problem(p Problem) {
	switch n := l.counts[p.File]; {
	case n < mostListed:
		l.problems = append(l.problems, p)
	case n == mostListed:
		l.problems = append(l.problems, Problem{Place: p.Place,
			Message: "from here on there are more problems, which are left out"})
	}
	l.counts[p.File]++
}

// about records a problem of an object in a document, at the line of the field that the error
// names.
func (l *loader) about(doc document, object string, err error) {
	place := Place{doc.file, doc.line}
	if l.counts[doc.file] <= mostListed {
		place = doc.place(fieldOf(err))
	}
	l.problem(Problem{Place: place, Object: object, Message: OneLine(err.Error())})
}

// quotedField is a field in an error of the strict decoder.
var quotedField = regexp.MustCompile(`^(?:unknown|duplicate) field "(.*)"$`)

// fieldOf returns the field that an error is about; empty if it is about the whole object.
func fieldOf(err error) string {
	if e, ok := errors.AsType[fieldError](err); ok {
		return e.field
	}
	if found := quotedField.FindStringSubmatch(err.Error()); found != nil {
		return found[1]
	}
	return ""
}

// file reads all documents of a file. A document that cannot be read costs itself. It reports
// whether one of them is a kustomization.
func (l *loader) file(file string, text []byte, err error) bool {
	if err != nil {
		l.problem(Problem{Place: Place{File: file}, Message: err.Error()})
		return false
	}
	docs := l.documents(file, text)
	skipped := 0
	for _, doc := range docs {
		if isKustomization(file, doc) {
			skipped++
			continue
		}
		l.document(doc, identity{})
	}
	if skipped > 0 && skipped == len(docs) {
		l.kustomizations++
		l.kustomization = filepath.Dir(file)
	}
	return skipped > 0
}

// kustomizations are the names of the file that makes a directory a kustomization
// (https://kubectl.docs.kubernetes.io/references/kustomize/glossary/#kustomization).
var kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// isKustomization reports whether a document of a file is for kustomize, which does not ask for
// apiVersion and kind. kubectl makes no object of a document without them.
func isKustomization(file string, doc document) bool {
	var fields map[string]json.RawMessage
	if sigsjson.UnmarshalCaseSensitivePreserveInts(doc.json, &fields) != nil ||
		!slices.Contains(kustomizations, filepath.Base(file)) {
		return false
	}
	id, err := identityOf(fields)
	group, _, _ := strings.Cut(id.APIVersion, "/")
	return err == nil && (id == identity{Metadata: id.Metadata} ||
		group == "kustomize.config.k8s.io" && fields["items"] == nil)
}

// document reads one object, or the items of a list. An item without kind and apiVersion inherits
// them from its list. The decoder distinguishes capitals, as kubectl's does.
func (l *loader) document(doc document, inherited identity) {
	var fields map[string]json.RawMessage
	strict, err := sigsjson.UnmarshalStrict(doc.json, &fields)
	if err != nil || fields == nil {
		l.problem(Problem{Place: doc.place(""), Message: "not a Kubernetes object", unread: doc.whole()})
		return
	}
	id, err := identityOf(fields)
	if err == nil && id.APIVersion == "" && id.Kind == "" {
		id.APIVersion, id.Kind = inherited.APIVersion, inherited.Kind
	}
	for _, err := range append(strict, err) {
		if err != nil {
			l.about(doc, id.Kind, err)
		}
	}
	switch _, hasItems := fields["items"]; {
	case len(strict) > 0 || err != nil:
	case id.APIVersion == "" || id.Kind == "":
		l.problem(notAnObject(doc, fields))
	case hasItems:
		l.list(doc, fields, id)
	default:
		l.kind(doc, id)
	}
}

// notAnObject returns the problem of a document without apiVersion or kind.
func notAnObject(doc document, fields map[string]json.RawMessage) Problem {
	p := Problem{Place: doc.place(""),
		Message: "not a Kubernetes object: apiVersion and kind are required; --exclude leaves files out"}
	switch {
	case fields["loadBalancers"] != nil && fields["steps"] != nil:
		p.Message = "the output of plan, which is no manifest: a flag names it, such as --old-state"
	case fields["apiVersion"] == nil && fields["kind"] == nil:
		p.unread = doc.whole()
	}
	return p
}

// whole returns the text of a document; empty for an item of a list, which is a part of one.
func (d document) whole() string {
	if d.inside != "" {
		return ""
	}
	return string(d.text)
}

// kind reads an object, if the compiler reads its kind.
func (l *loader) kind(doc document, id identity) {
	k, ok, err := id.kind()
	if err != nil {
		l.about(doc, id.String(), err)
	}
	if ok {
		l.object(doc, k, id)
	}
}

// list reads the items of a list. Whatever the kind is, kubectl takes an object with items for a
// list, and reads nothing else of it
// (https://github.com/kubernetes/kubernetes/blob/v1.37.0/staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/helpers.go).
func (l *loader) list(doc document, fields map[string]json.RawMessage, id identity) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "items"}, name) {
			l.about(doc, id.Kind, fieldError{name, "a list has no such field"})
		}
	}
	item, isList := strings.CutSuffix(id.Kind, "List")
	if !isList {
		l.about(doc, id.String(), fieldError{"items", "kubectl takes an object with items for a list, " +
			"and nothing else of it is read"})
	}
	var items []json.RawMessage
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(fields["items"], &items); err != nil {
		l.about(doc, id.Kind, fieldError{"items", "not a list"})
		return
	}
	inherited := identity{APIVersion: id.APIVersion, Kind: item}
	if item == "" || doc.inside != "" { // a plain List, or a list in a list
		inherited = identity{}
	}
	for i, data := range items {
		inside := strings.TrimPrefix(fmt.Sprintf("%s.items[%d]", doc.inside, i), ".")
		l.document(document{data, doc.source, inside}, inherited)
	}
}

// mostBytes is the limit for an object: an API server takes no larger request (MaxRequestBodyBytes
// in
// https://github.com/kubernetes/kubernetes/blob/v1.37.0/staging/src/k8s.io/apiserver/pkg/server/config.go).
const mostBytes = 3 << 20

// object reads an object.
func (l *loader) object(doc document, k Kind, id identity) {
	if len(doc.json) > mostBytes {
		l.about(doc, id.String(), fmt.Errorf("larger than %d MiB, too large for an API server",
			mostBytes>>20))
		return
	}
	object, problems := k.decode(doc.json, l.namespace)
	if object != nil {
		l.name(object, k)
		id.Metadata = metadata{object.GetNamespace(), object.GetName()}
		problems = l.refuse(doc, object, id)
	}
	for _, err := range problems {
		l.about(doc, id.String(), err)
	}
	if len(problems) == 0 {
		k.Add(&l.objects, object)
	}
}

// name gives an object with a generateName a name of the length that an API server would give it
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values).
func (l *loader) name(object metav1.Object, k Kind) {
	if object.GetName() != "" || object.GetGenerateName() == "" {
		return
	}
	prefix := object.GetGenerateName()
	same := k.Name + " " + object.GetNamespace() + "/" + prefix
	ending := "xxxxx" // which IsGenerated knows
	if n := l.generated[same]; n > 0 {
		ending = fmt.Sprintf("x%04d", n)
	}
	l.generated[same]++
	object.SetName(prefix + ending)
}

// generatedName matches the ending of a name that was made here.
var generatedName = regexp.MustCompile("^x(xxxx|[0-9]{4,})$")

// IsGenerated reports whether an object of a file has no name but a generateName, so that its name was made
// here.
func IsGenerated(object metav1.Object) bool {
	ending, cut := strings.CutPrefix(object.GetName(), object.GetGenerateName())
	return cut && object.GetGenerateName() != "" && generatedName.MatchString(ending)
}

// refuse returns why an object is refused although it decodes.
func (l *loader) refuse(doc document, object metav1.Object, id identity) []error {
	if object.GetName() == "" {
		return []error{fieldError{"metadata.name", "required"}}
	}
	if first, taken := l.places[id.String()]; taken {
		return []error{fieldError{"metadata.name", "a second object with this name; the first is in " +
			first.place("").String()}}
	}
	l.places[id.String()] = doc
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
		problems = append(problems, fieldError{e.Field, OneLine(validate.Message(e))})
	}
	return problems
}
