package hostile

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/test/objects"
)

// This file reads a case.

// A hostile case is a sequence of stages.
type hostile struct {
	name    string
	options options
	stages  []stage
}

// A stage is one section: objects that come, objects that go, or what has to hold.
type stage struct {
	name    string
	applied []client.Object
	deleted []string // "Ingress alice/a"
	holds   []expectation
}

// options are what a case needs besides its objects.
type options struct {
	// Services are ready-made: "alice/web:80" is a Service with that port and one pod.
	Services []string `json:"services"`
	// Secrets are ready-made TLS Secrets with a certificate for the hosts.
	Secrets map[string][]string `json:"secrets"`
	// Class is the class that the command line takes to exist: by default fairlead.
	Class string `json:"class"`
	// WithoutClass has Ingresses served that name no class, as if they named Class.
	WithoutClass bool `json:"withoutClass"`
	// Provider is aws unless it is set.
	Provider string `json:"provider"`
	// Stage is operator for a case about a running system.
	Stage string `json:"stage"`
	// Flags are more flags of the operator.
	Flags []string `json:"flags"`
	// Guard is why the case holds at 9fc117e too; empty for one that fails there.
	Guard string `json:"guard"`
}

const operatorStage = "operator"

// cases reads every case of a stage, "" for those of the compiler and the command line.
func cases(t *testing.T, of string) []*hostile {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding cases: %v, found %d", err, len(files))
	}
	var all []*hostile
	for _, file := range files {
		c, err := read(file)
		if err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		if c.options.Stage == of {
			all = append(all, c)
		}
	}
	return all
}

func read(file string) (*hostile, error) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	c := &hostile{name: strings.TrimSuffix(filepath.Base(file), ".txtar")}
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		return nil, fmt.Errorf("it does not say what the attacker gains")
	}
	for _, f := range archive.Files {
		if f.Name == "options" {
			if err := yaml.UnmarshalStrict(f.Data, &c.options); err != nil {
				return nil, fmt.Errorf("options: %w", err)
			}
			continue
		}
		s, err := readStage(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		c.stages = append(c.stages, s)
	}
	made, err := c.options.objects()
	if err != nil {
		return nil, err
	}
	c.stages = slices.Insert(c.stages, 0, stage{name: "options", applied: made})
	if last := c.stages[len(c.stages)-1]; len(last.holds) == 0 {
		return nil, fmt.Errorf("nothing has to hold at its end")
	}
	return c, nil
}

func readStage(f txtar.File) (stage, error) {
	s := stage{name: f.Name}
	var err error
	switch {
	case strings.HasSuffix(f.Name, ".yaml"):
		s.applied, err = decodeAll(f.Data)
	case f.Name == "generated":
		s.applied, err = generated(lines(f.Data))
	case f.Name == "deleted":
		s.deleted = lines(f.Data)
	case f.Name == "holds":
		for _, line := range lines(f.Data) {
			e, err := parse(line)
			if err != nil {
				return s, fmt.Errorf("%q: %w", line, err)
			}
			s.holds = append(s.holds, e)
		}
	default:
		err = fmt.Errorf("a case has no such section")
	}
	return s, err
}

// lines are those of a section, without comments.
func lines(text []byte) []string {
	var all []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

var decoder = serializer.NewCodecFactory(cluster.NewScheme(), serializer.EnableStrict).UniversalDeserializer()

func decodeAll(text []byte) ([]client.Object, error) {
	var all []client.Object
	for i, document := range bytes.Split(text, []byte("\n---\n")) {
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		o, err := decode(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		all = append(all, o)
	}
	return all, nil
}

func decode(document []byte) (client.Object, error) {
	made, kind, err := decoder.Decode(document, nil, nil)
	if err != nil {
		return nil, err
	}
	o, ok := made.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is no object", kind)
	}
	o.GetObjectKind().SetGroupVersionKind(*kind)
	return o, nil
}

// objects are those that are taken for granted.
func (o options) objects() ([]client.Object, error) {
	var all []client.Object
	for i, service := range slices.Sorted(slices.Values(o.Services)) {
		made, err := objects.Service(service, i)
		if err != nil {
			return nil, err
		}
		all = append(all, made.Pod, made.Service, made.Endpoints)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Secrets)) {
		made, err := objects.Secret(name, o.Secrets[name])
		if err != nil {
			return nil, err
		}
		all = append(all, made)
	}
	return all, nil
}

func (o options) class() string {
	if o.Class == "" {
		return "fairlead"
	}
	return o.Class
}

func (o options) provider() string {
	if o.Provider == "" {
		return "aws"
	}
	return o.Provider
}

// named is "Ingress alice/a", or "IngressClass fairlead".
func named(o runtime.Object) string {
	of := o.(client.Object)
	name := of.GetName()
	if of.GetNamespace() != "" {
		name = of.GetNamespace() + "/" + name
	}
	return o.GetObjectKind().GroupVersionKind().Kind + " " + name
}

// contents are the objects of a cluster at some point of a case.
type contents []client.Object

// after has the contents once a stage is over.
func (c contents) after(s stage) contents {
	goes := slices.Clone(s.deleted)
	for _, o := range s.applied {
		goes = append(goes, named(o))
	}
	left := slices.DeleteFunc(slices.Clone(c), func(o client.Object) bool { return slices.Contains(goes, named(o)) })
	return append(left, s.applied...)
}
