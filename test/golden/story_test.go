package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads a story: a txtar archive whose opening text says why the story is told, with
// what goes in and what is expected to come out.
//
//	ingress.yaml   the objects
//	before.yaml    the objects as they were when the cloud was last up to date, or
//	observed.json  what the cloud has, by key, as `fairlead plan --observed` reads it
//	options        what the story needs besides; see the type
//	requests       what becomes of requests, written by hand from the specification
//	requests.NAME  the same for one capability set, where it cannot say everything
//	routes, rules, plan, diagnostics
//	               what the compiler prints, written by -update
//
// Lines between "# repeat 100 times:" and "# end of repeat" are written out that often, with 1 to
// 100 for $N.
type story struct {
	file    string
	archive *txtar.Archive
	options options

	objects  ingress.Objects
	before   *ingress.Objects
	observed map[lb.Key]*lb.Observed
}

// options are what a story needs besides its objects.
type options struct {
	// Capabilities are the capability sets under which the story is told: by default every one.
	Capabilities []string `json:"capabilities"`
	// Services are ready-made: "shop/web:80" is a Service with that port, called http, and one
	// endpoint.
	Services []string `json:"services"`
	// Pods says which there are. Made, unless it says otherwise, are those that its EndpointSlices
	// name; Given are those of the story, and there are no others; Unknown are all.
	Pods string `json:"pods"`
	// Secrets are ready-made TLS Secrets with a certificate for the hosts.
	Secrets map[string][]string `json:"secrets"`
	// SecretsBefore are those that were there, and good, when the cloud was last up to date.
	SecretsBefore map[string][]string `json:"secretsBefore"`
	// Copies are Secrets that hold what another one of Secrets does, by namespace/name.
	Copies map[string]string `json:"copies"`
	// Certificates are those that the cloud holds already, by host.
	Certificates map[string][]lb.CertificateID `json:"certificates"`
	// Names are the names in certificates that the cloud holds, by their IDs.
	Names map[lb.CertificateID][]string `json:"names"`
	// WebACLs are those that the cloud has, by what they are asked for as.
	WebACLs map[string]string `json:"webACLs"`
	// Unshielded is why the cloud has no shield.
	Unshielded string `json:"unshielded"`
	// NamesTaken are what has the names that load balancers are to have.
	NamesTaken map[string]string `json:"namesTaken"`
	// SettingsRefused are settings that the provider does not take, and why not.
	SettingsRefused map[string]string `json:"settingsRefused"`
	// Providers are the names of the operator's providers.
	Providers []string `json:"providers"`
	// WithoutClass is the class of Ingresses that name none, and Literal what the annotation may say
	// without an IngressClass.
	WithoutClass string `json:"withoutClass"`
	Literal      string `json:"literal"`
	// NoClassAssumed says that the classes are those among the objects. Else "fairlead" is one of
	// ours, unless it is among them.
	NoClassAssumed bool `json:"noClassAssumed"`
	// Remembered says that the operator remembers what it accepted of the objects before, and Departed
	// how long ago it saw that Ingresses were not its own any more, by namespace/name.
	Remembered bool                       `json:"remembered"`
	Departed   map[string]metav1.Duration `json:"departed"`
	// Rules and ValuesPerCondition lower the limits of the capability sets.
	Rules              int `json:"rules"`
	ValuesPerCondition int `json:"valuesPerCondition"`
}

// generated are the sections that -update writes, in their order.
var generated = []string{"routes", "rules", "plan", "diagnostics"}

// stories reads every story.
func stories(t *testing.T) []*story {
	t.Helper()
	files := storyFiles(t)
	all := make([]*story, len(files))
	for i, file := range files {
		all[i] = mustRead(t, file)
	}
	return all
}

// storyFiles returns the name of the file of every story.
func storyFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding stories: %v, found %d", err, len(files))
	}
	return files
}

// mustRead reads a story, or ends the test.
func mustRead(t *testing.T, file string) *story {
	t.Helper()
	s, err := read(file)
	if err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	return s
}

func read(file string) (*story, error) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	s := &story{file: file, archive: archive}
	if strings.TrimSpace(string(archive.Comment)) == "" {
		return nil, fmt.Errorf("it does not say why it is told")
	}
	if err := yaml.UnmarshalStrict([]byte(s.section("options")), &s.options); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	if s.options.Capabilities == nil {
		s.options.Capabilities = []string{"literal", "alb", "alb-glob"}
	}
	if s.objects, err = s.read("ingress.yaml", s.options.Secrets); err != nil {
		return nil, err
	}
	if s.has("before.yaml") {
		secrets := map[string][]string{}
		maps.Copy(secrets, s.options.Secrets)
		maps.Copy(secrets, s.options.SecretsBefore)
		before, err := s.read("before.yaml", secrets)
		if err != nil {
			return nil, err
		}
		s.before = &before
	}
	if s.has("observed.json") {
		if err := json.Unmarshal([]byte(s.section("observed.json")), &s.observed); err != nil {
			return nil, fmt.Errorf("observed.json: %w", err)
		}
	}
	return s, nil
}

// classes are the settings that decide which Ingresses are ours.
func (s *story) classes() ingress.ClassOptions {
	out := ingress.ClassOptions{WithoutClass: s.options.WithoutClass, Literal: s.options.Literal, AssumeClasses: []string{ingress.DefaultClass}, Providers: s.options.Providers}
	if s.options.NoClassAssumed {
		out.AssumeClasses = nil
	}
	return out
}

func (s *story) has(name string) bool {
	return slices.ContainsFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == name })
}

func (s *story) section(name string) string {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return repeated(string(f.Data))
		}
	}
	return ""
}

// repetition are lines that stand for many: each line between them, with $N in place of the number.
var repetition = regexp.MustCompile(`(?ms)^# repeat (\d+) times:\n(.*?)^# end of repeat\n`)

// repeated is a text with its repetitions written out.
func repeated(text string) string {
	return repetition.ReplaceAllStringFunc(text, func(found string) string {
		parts := repetition.FindStringSubmatch(found)
		times, _ := strconv.Atoi(parts[1]) // there are digits
		var b strings.Builder
		for i := range times {
			b.WriteString(strings.ReplaceAll(parts[2], "$N", strconv.Itoa(i+1)))
		}
		return b.String()
	})
}

// write replaces the generated sections, leaving out the empty ones.
func (s *story) write(sections map[string]string) error {
	s.archive.Files = slices.DeleteFunc(s.archive.Files, func(f txtar.File) bool { return slices.Contains(generated, f.Name) })
	for _, name := range generated {
		if text := sections[name]; text != "" {
			s.archive.Files = append(s.archive.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	return os.WriteFile(s.file, txtar.Format(s.archive), 0o644)
}

// capabilities are the sets under which the story is told, with its own limits.
func (s *story) capabilities() ([]lb.Capabilities, error) {
	var all []lb.Capabilities
	for _, name := range s.options.Capabilities {
		c, ok := lb.Named(name)
		if name == "bare" {
			c, ok = bare(), true
		}
		if !ok {
			return nil, fmt.Errorf("there is no capability set %q", name)
		}
		if s.options.Rules > 0 {
			c.Rules = s.options.Rules
		}
		if s.options.ValuesPerCondition > 0 {
			c.ValuesPerCondition = s.options.ValuesPerCondition
		}
		all = append(all, c)
	}
	return all, nil
}

// bare are the capabilities of load balancers that speak plain HTTP to Pods, and have no attributes.
func bare() lb.Capabilities {
	c := lb.Literal()
	c.Name, c.NoHTTPS, c.RedirectStatuses = "bare", true, []int{301, 308}
	c.TargetTypesRefused = []string{lb.InstanceTarget}
	c.VersionsRefused = []routing.Version{routing.VersionHTTP2, routing.VersionGRPC}
	c.BalancerAttributes, c.ListenerAttributes = map[string]lb.Attribute{}, map[string]lb.Attribute{}
	return c
}

// read decodes one section of objects and adds what the options ask for.
func (s *story) read(section string, secrets map[string][]string) (ingress.Objects, error) {
	var o ingress.Objects
	for i, document := range strings.Split(s.section(section), "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		if err := decode([]byte(document), &o); err != nil {
			return o, fmt.Errorf("%s, document %d: %w", section, i+1, err)
		}
	}
	switch s.options.Pods {
	case "", "Made":
		addPods(&o, o.EndpointSlices)
		o.PodsKnown = true
	case "Given":
		o.PodsKnown = true
	case "Unknown":
	default:
		return o, fmt.Errorf("pods are Made, Given or Unknown, not %q", s.options.Pods)
	}
	for i, service := range slices.Sorted(slices.Values(s.options.Services)) {
		if err := addService(&o, service, i); err != nil {
			return o, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if err := addSecret(&o, name, secrets[name]); err != nil {
			return o, fmt.Errorf("making Secret %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.options.Copies)) {
		if err := copySecret(&o, name, s.options.Copies[name]); err != nil {
			return o, err
		}
	}
	return o, nil
}

// decode adds one document to the objects of its kind.
func decode(document []byte, o *ingress.Objects) error {
	var kind struct {
		metav1.TypeMeta
		Metadata struct{ Annotations map[string]any }
	}
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	for name, value := range kind.Metadata.Annotations {
		if _, is := value.(string); !is {
			return fmt.Errorf("annotation %s is %v: an API server takes strings only, so quote it", name, value)
		}
	}
	switch kind.Kind {
	case "Ingress":
		return add(document, &o.Ingresses)
	case "IngressClass":
		return add(document, &o.IngressClasses)
	case "LoadBalancerClass":
		return add(document, &o.LoadBalancerClasses)
	case "ClusterLoadBalancerClass":
		return add(document, &o.ClusterLoadBalancerClasses)
	case "IngressClassParams":
		return add(document, &o.IngressClassParams)
	case "Backend":
		return add(document, &o.Backends)
	case "Service":
		return add(document, &o.Services)
	case "EndpointSlice":
		return add(document, &o.EndpointSlices)
	case "Secret":
		return add(document, &o.Secrets)
	case "Namespace":
		return add(document, &o.Namespaces)
	case "Node":
		return add(document, &o.Nodes)
	case "Pod":
		return add(document, &o.Pods)
	}
	return fmt.Errorf("stories know no kind %q", kind.Kind)
}

func add[T any](document []byte, to *[]*T) error {
	object := new(T)
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		return err
	}
	*to = append(*to, object)
	return nil
}
