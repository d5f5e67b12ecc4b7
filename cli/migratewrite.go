package cli

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/comparison"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/saved"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	of "fairlead.dev/fairlead/model/settings"
)

// This file writes Ingresses that migrate in the words of Fairlead. Nothing is written before it is
// compiled and compared with what the dialect makes of the originals.

// An attestation says that manifests were compared with their originals, and that every request is
// answered the same.
type attestation struct {
	Version   string `json:"version"`   // of Fairlead
	Originals string `json:"originals"` // the digest of what the dialect makes of them
	Written   string `json:"written"`   // that of the written manifests
	// Classes counts routes, for each host on each port.
	Classes int `json:"classes"`
	// Renamed has the names of classes that were written under a name of their own: the original ones.
	Renamed classNames `json:"renamed,omitempty"`
	// Routing has the tables of the dialect, as diff reads those of a plan.
	Routing *saved.State `json:"routing"`
	// Settings are those that the originals have, of each load balancer.
	Settings map[lb.Key]settingTexts `json:"settings"`
}

// settingTexts are the settings of a load balancer and its parts, by the name of each.
type settingTexts map[string]string

// String returns the attestation in one line.
func (a attestation) String() string {
	return fmt.Sprintf("compared %s of requests, and all are answered the same; originals %s, written %s",
		map[bool]string{true: "1 class", false: fmt.Sprintf("%d classes", a.Classes)}[a.Classes == 1],
		a.Originals, a.Written)
}

// classNames are the original names of classes, by the name under which they are written. The Ingresses that are refused stay in
// the original class, and so with the other controller.
type classNames map[string]string

// restored returns objects with the original names of classes, in place of what is left in these.
func (n classNames) restored(o ingress.Objects) ingress.Objects {
	stays := func(class string) bool {
		return slices.Contains(slices.Collect(maps.Values(n)), class)
	}
	o.IngressClasses = slices.DeleteFunc(slices.Clone(o.IngressClasses), func(c *networkingv1.IngressClass) bool { return stays(c.Name) })
	o.Ingresses = slices.DeleteFunc(slices.Clone(o.Ingresses), func(i *networkingv1.Ingress) bool { return stays(ingress.ClassName(i)) })
	for i, c := range o.IngressClasses {
		if name, is := n[c.Name]; is {
			o.IngressClasses[i] = c.DeepCopy()
			o.IngressClasses[i].Name = name
		}
	}
	for i, ing := range o.Ingresses {
		if name, is := n[ingress.ClassName(ing)]; is {
			o.Ingresses[i] = inClass(ing, name)
		}
	}
	return o
}

// inClass returns an Ingress in another class.
func inClass(ing *networkingv1.Ingress, class string) *networkingv1.Ingress {
	out := ing.DeepCopy()
	delete(out.Annotations, of.IngressClass)
	out.Spec.IngressClassName = &class
	return out
}

func nameOf(ing *networkingv1.Ingress) ingress.Name {
	return ingress.Name{Namespace: ing.Namespace, Name: ing.Name}
}

// A manifest is a file that is written.
type manifest struct {
	name string
	text []byte
}

// writeTo writes the Ingresses that are served, their class and their Services into a directory, after
// the comparison.
func (m *migrating) writeTo(cmd *cobra.Command, with access.Clouds, from side, places manifests.Places) (*attestation, error) {
	if len(from.problems) > 0 {
		return nil, errors.New("--write: not everything was read, so nothing is written")
	}
	if there, err := os.ReadDir(m.write); len(there) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, fmt.Errorf("--write: %s is not an empty directory", m.write))
	}
	files, renamed, err := from.ownManifests(places)
	if err != nil {
		return nil, fmt.Errorf("--write: %w", err)
	}
	if len(files) == 0 {
		return nil, errors.New("--write: no Ingress is served, so there is nothing to write")
	}
	attested, err := from.attest(cmd, with, files, renamed)
	if err != nil {
		return nil, fmt.Errorf("--write: nothing is written: %w", err)
	}
	if err := writeAll(m.write, files); err != nil {
		return nil, fmt.Errorf("--write: nothing is written: %w", err)
	}
	return attested, nil
}

// writeAll writes files into a directory: all of them, or none.
func writeAll(dir string, files []manifest) (err error) {
	const permissions, ofFiles = 0o777, 0o666 // without those that the umask takes
	_, missing := os.Stat(dir)
	if err := os.MkdirAll(dir, permissions); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for i, f := range files {
		if err := root.WriteFile(f.name, f.text, ofFiles); err != nil {
			for _, f := range files[:i+1] {
				_ = root.Remove(f.name) // the error says why
			}
			if missing != nil {
				_ = os.Remove(dir)
			}
			return err
		}
	}
	return nil
}

// A file system takes names of at most 255 bytes, and the names of two objects may have more together.
const longestFileName = 250

// fileName returns the name of a file for an object, which parts of its name make.
func fileName(parts ...string) string {
	name := strings.Join(parts, ".")
	if len(name) > longestFileName-len(".yaml") {
		const kept = 200
		name = fmt.Sprintf("%s-%.12x", name[:kept], sha256.Sum256([]byte(name)))
	}
	return name + ".yaml"
}

// ownManifests returns manifests for the Ingresses of classes with a dialect that are served, and for
// their classes and Services. Those that are in files keep the comments and the order of their authors. A class with Ingresses that
// are refused gets another name.
func (s side) ownManifests(places manifests.Places) ([]manifest, classNames, error) {
	files := map[string]runtime.Object{}
	snapshots, _ := ingress.Place(s.objects, s.options)
	names := s.writtenNames(snapshots)
	for _, snapshot := range snapshots {
		if len(snapshot.Readings) == 0 {
			continue
		}
		for name, reading := range snapshot.Readings {
			own := reading.Ingress.DeepCopy()
			if class := names[snapshot.Class.Name]; class != snapshot.Class.Name {
				own = inClass(own, class)
			}
			own.Status = networkingv1.IngressStatus{}
			files[fileName("ingress", name.Namespace, name.Name)] = own
		}
		for _, service := range snapshot.Services {
			if !slices.Contains(s.objects.Services, service) { // it has annotations of its own now
				files[fileName("service", service.Namespace, service.Name)] = ofService(service)
			}
		}
		s.addClass(files, snapshot.Class.Name, names[snapshot.Class.Name])
	}
	renamed := classNames{}
	for class, name := range names {
		if class != name {
			renamed[name] = class
		}
	}
	var out []manifest
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fields, err := fieldsToWrite(files[name])
		if err != nil {
			return nil, nil, err
		}
		if object, is := files[name].(metav1.Object); is && !s.live && manifests.IsGenerated(object) {
			return nil, nil, fmt.Errorf("%s has a generateName, so a cluster has it under another name, and what is written would be "+
				"a second object: give it a name", objectOf(fields))
		}
		text, kept := places.Rewritten(objectOf(fields), fields)
		if !kept {
			if text, err = yaml.Marshal(fields); err != nil {
				return nil, nil, err
			}
		}
		out = append(out, manifest{name, text})
	}
	return out, renamed, nil
}

// writtenNames returns the names under which classes are written: another one for a class of which an Ingress is refused.
func (s side) writtenNames(snapshots []ingress.Snapshot) map[string]string {
	served, out := map[ingress.Name]bool{}, map[string]string{}
	for _, snapshot := range snapshots {
		for name := range snapshot.Readings {
			served[name], out[snapshot.Class.Name] = true, snapshot.Class.Name
		}
	}
	lookup, _ := ingress.NewClassLookup(s.objects, s.options)
	for name, reading := range ingress.Readings(s.objects, s.options) {
		if class := lookup.Of(reading.Ingress, false).Class.Name; !served[name] && out[class] == class {
			out[class] = unused("fairlead-"+class, func(name string) bool {
				return slices.ContainsFunc(s.objects.IngressClasses, func(c *networkingv1.IngressClass) bool { return c.Name == name })
			})
		}
	}
	return out
}

// addClass adds the IngressClass of a class with a dialect under a name, and its parameters with the defaults of
// the dialect. Parameters that mean something else to another class stay as they are, and the class gets
// its own.
func (s side) addClass(files map[string]runtime.Object, name, written string) {
	at := slices.IndexFunc(s.objects.IngressClasses, func(c *networkingv1.IngressClass) bool { return c.Name == name })
	class := s.objects.IngressClasses[at]
	ref := parametersOf(class)
	spec := ingress.FindClass(s.objects, s.options, name).LoadBalancerClassSpec
	spec.Dialect, spec.NGINX = "", nil
	var object runtime.Object
	metadata := &metav1.ObjectMeta{Name: ref.Name}
	for _, c := range s.objects.LoadBalancerClasses {
		if ref.Kind == v1alpha1.KindLoadBalancerClass && c.Name == ref.Name && c.Namespace == *ref.Namespace {
			own := *c
			spec.ProviderName = c.Spec.ProviderName
			own.Spec = spec
			object, metadata = &own, &own.ObjectMeta
		}
	}
	if object == nil {
		own := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: *metadata}
		for _, c := range s.objects.ClusterLoadBalancerClasses {
			if c.Name == ref.Name {
				own.ObjectMeta, spec.ProviderName = c.ObjectMeta, c.Spec.ProviderName
			}
		}
		own.Spec = spec
		object, metadata = own, &own.ObjectMeta
	}
	if s.meansOther(name, ref, spec) {
		*metadata = metav1.ObjectMeta{Namespace: metadata.Namespace, Name: s.unusedParameters(name)}
		ref = ref.DeepCopy()
		ref.Name = metadata.Name
	}
	class = class.DeepCopy()
	class.Spec.Parameters = ref
	if written != name {
		class.ObjectMeta = metav1.ObjectMeta{Name: written}
	}
	files[fileName("class", written)] = class
	files[fileName("parameters", strings.TrimPrefix(metadata.Namespace+"_", "_")+metadata.Name)] = object
}

// parametersOf returns the reference to the parameters of a class. With an IngressClassParams, they are
// those of the class's name.
func parametersOf(c *networkingv1.IngressClass) *networkingv1.IngressClassParametersReference {
	if c.Spec.Parameters != nil && ingress.IsForeign(c.Spec.Parameters) {
		return &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group),
			Kind: v1alpha1.KindClusterLoadBalancerClass, Name: c.Name, Scope: new("Cluster")}
	}
	return c.Spec.Parameters
}

// meansOther reports whether another class of Fairlead has the same parameters, and would be another one
// with the spec.
func (s side) meansOther(name string, ref *networkingv1.IngressClassParametersReference,
	spec v1alpha1.LoadBalancerClassSpec) bool {
	return slices.ContainsFunc(s.objects.IngressClasses, func(c *networkingv1.IngressClass) bool {
		theirs := parametersOf(c)
		if c.Name == name || c.Spec.Controller != ingress.ControllerName || theirs == nil || theirs.Kind != ref.Kind ||
			theirs.Name != ref.Name || !equality.Semantic.DeepEqual(theirs.Namespace, ref.Namespace) {
			return false
		}
		other := ingress.FindClass(s.objects, s.options, c.Name)
		if other == nil || other.Dialect == "" {
			return true
		}
		theirSpec := other.LoadBalancerClassSpec
		theirSpec.Dialect, theirSpec.NGINX, theirSpec.ProviderName = "", nil, spec.ProviderName
		return !equality.Semantic.DeepEqual(theirSpec, spec)
	})
}

// unusedParameters returns a name for the parameters of a class that no object has.
func (s side) unusedParameters(class string) string {
	return unused(shortened(class)+"-migrated", func(name string) bool {
		return slices.ContainsFunc(s.objects.ClusterLoadBalancerClasses, func(c *v1alpha1.ClusterLoadBalancerClass) bool {
			return c.Name == name
		}) || slices.ContainsFunc(s.objects.LoadBalancerClasses, func(c *v1alpha1.LoadBalancerClass) bool {
			return c.Name == name
		})
	})
}

// shortened returns a name with room for an ending.
func shortened(name string) string {
	const longest = 240 // of 253
	return strings.TrimRight(name[:min(len(name), longest)], "-.")
}

// unused returns a name that is not taken, with a number if need be.
func unused(name string, taken func(string) bool) string {
	out := shortened(name)
	for i := 2; taken(out); i++ {
		out = fmt.Sprint(shortened(name), "-", i)
	}
	return out
}

// ofService returns a Service without what the cluster has given to it.
func ofService(s *corev1.Service) *corev1.Service {
	out := s.DeepCopy()
	out.Status = corev1.ServiceStatus{}
	if out.Spec.ClusterIP != corev1.ClusterIPNone {
		out.Spec.ClusterIP, out.Spec.ClusterIPs = "", nil
	}
	return out
}

// objectOf returns the name of an object as messages have it.
func objectOf(fields map[string]any) string {
	o := unstructured.Unstructured{Object: fields}
	return diag.Source{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}.String()
}

// fieldsToWrite returns the fields of an object that its author would write.
func fieldsToWrite(o runtime.Object) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	version := v1alpha1.GroupVersion.String()
	var kind string
	switch o.(type) {
	case *networkingv1.Ingress:
		version, kind = networkingv1.SchemeGroupVersion.String(), "Ingress"
	case *networkingv1.IngressClass:
		version, kind = networkingv1.SchemeGroupVersion.String(), "IngressClass"
	case *corev1.Service:
		version, kind = corev1.SchemeGroupVersion.String(), "Service"
	case *v1alpha1.ClusterLoadBalancerClass:
		kind = v1alpha1.KindClusterLoadBalancerClass
	case *v1alpha1.LoadBalancerClass:
		kind = v1alpha1.KindLoadBalancerClass
	}
	fields["apiVersion"], fields["kind"] = version, kind
	delete(fields, "status")
	metadata := map[string]any{}
	all, _ := fields["metadata"].(map[string]any)
	for _, key := range []string{"namespace", "name", "labels", "annotations"} {
		if value, is := all[key]; is {
			metadata[key] = value
		}
	}
	if annotations, is := metadata["annotations"].(map[string]any); is {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	fields["metadata"] = metadata
	return fields, nil
}

// attest compiles what there is once the manifests are applied to their originals, and compares both. An
// error says what differs.
func (s side) attest(cmd *cobra.Command, with access.Clouds, files []manifest, renamed classNames) (*attestation, error) {
	var text bytes.Buffer
	for _, f := range files {
		text.WriteString("---\n")
		text.Write(f.text)
	}
	own, err := manifests.Load([]string{manifests.StandardInput}, &text)
	if err != nil {
		return nil, err
	}
	after := s
	after.objects = source.Applied(s.objects, own)
	after.objects = renamed.restored(after.objects)
	if len(renamed) > 0 { // what is refused stays in its class
		written := map[ingress.Name]bool{}
		for _, ing := range own.Ingresses {
			written[nameOf(ing)] = true
		}
		read := ingress.Readings(s.objects, s.options)
		after.objects.Ingresses = slices.DeleteFunc(after.objects.Ingresses, func(ing *networkingv1.Ingress) bool {
			return read[nameOf(ing)] != nil && !written[nameOf(ing)]
		})
	}
	after.objects.Dialects = maps.Clone(s.objects.Dialects)
	for _, c := range own.IngressClasses {
		delete(after.objects.Dialects, cmp.Or(renamed[c.Name], c.Name))
	}
	bare, bareAfter := s, after // without the Secrets that are assumed
	quiet := &cobra.Command{}
	quiet.SetContext(cmd.Context())
	quiet.SetErr(io.Discard) // the report has what is not served
	old, now, _, err := bothTables(quiet, with, &s, &after)
	if err != nil {
		return nil, err
	}
	settings, err := s.settings(cmd, with)
	if err != nil {
		return nil, err
	}
	settingsAfter, err := after.settings(cmd, with)
	if err != nil {
		return nil, err
	}
	found := compareTables(cmd, old, now)
	found.Exposures = append(found.Exposures, otherSettings(settings, settingsAfter)...)
	if err := differing(found); err != nil {
		return nil, err
	}
	before, err := bare.saved(cmd, with)
	if err != nil {
		return nil, err
	}
	written, err := bareAfter.saved(cmd, with)
	if err != nil {
		return nil, err
	}
	before.Secrets = written.Secrets // the same, in annotations that saved states know
	return &attestation{Version: operator.Version(), Originals: digestOf(before.Tables, settings),
		Written: digestOf(written.Tables, settingsAfter), Classes: found.Classes, Renamed: renamed, Routing: &before,
		Settings: settings}, nil
}

// differing returns an error that says what differs; nil if it is certain that nothing does.
func differing(found compare.Report) error {
	var out []error
	for _, e := range found.Exposures {
		out = append(out, fmt.Errorf("%s of %s would be %s, and is %s", e.Setting, e.LoadBalancer, e.After, e.Before))
	}
	for _, c := range found.Changes {
		out = append(out, fmt.Errorf("%s would get %s, and gets %s", c.Curl, c.After.Action, c.Before.Action))
	}
	for _, u := range found.Undecided {
		out = append(out, fmt.Errorf("not decided: %s", undecided(u)))
	}
	if more := len(out) - mostShown; more > 0 {
		out = append(out[:mostShown], fmt.Errorf("there are %s more", output.Number(more, "difference")))
	}
	return errors.Join(out...)
}

// settings returns the settings of load balancers that are not compared by requests: attributes, health
// checks and tags. Certificates are compared with the requests.
func (s side) settings(cmd *cobra.Command, with access.Clouds) (map[lb.Key]settingTexts, error) {
	programs, _, err := s.programs(cmd, with)
	out := map[lb.Key]settingTexts{}
	for _, p := range programs {
		all := settingTexts{}
		out[p.LoadBalancer.Key] = all
		add := func(part string, values map[string]string) {
			all[part] = "made"
			for name, value := range values {
				if name != "certificates" {
					all[part+": "+name] = value
				}
			}
		}
		known := plan.SettingsOfWanted(p.LoadBalancer)
		add("load balancer", known.LoadBalancer)
		for port, values := range known.Listeners {
			add(fmt.Sprintf("port %d", port), values)
		}
		for group, values := range known.TargetGroups {
			add(fmt.Sprintf("target group %v", group), values)
		}
	}
	return out, err
}

// otherSettings returns the settings that differ.
func otherSettings(before, after map[lb.Key]settingTexts) (out []compare.Exposure) {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		names := maps.Clone(before[key])
		maps.Copy(names, after[key])
		for _, name := range slices.Sorted(maps.Keys(names)) {
			part, _, _ := strings.Cut(name, ": ")
			both := before[key][part] != "" && after[key][part] != "" // otherwise requests show it
			if old, now := before[key][name], after[key][name]; both && old != now {
				out = append(out, compare.Exposure{LoadBalancer: key, Setting: name,
					Before: cmp.Or(old, "unset"), After: cmp.Or(now, "unset"), Protection: compare.Same})
			}
		}
	}
	return out
}

// digestOf returns the SHA-256 of tables and settings.
func digestOf(tables []saved.Table, settings map[lb.Key]settingTexts) string {
	text, err := json.Marshal([]any{tables, settings})
	if err != nil {
		panic(err) // they were made by this process
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text))
}

// attested compares files with what migrate --write attested of their originals.
func (v verified) attested(cmd *cobra.Command, with access.Clouds, format output.Format) error {
	if err := v.RequireFiles(v.live); err != nil {
		return err
	}
	before, made, err := readAttestation(v.attestation)
	if err != nil {
		return fmt.Errorf("--attestation %s: %w", v.attestation, err)
	}
	after, places, err := v.read(cmd)
	if err != nil {
		return err
	}
	after.places = places
	after.objects = made.Renamed.restored(after.objects)
	assumed := before.state.Assumed
	before.assumeAll(&after)
	if err := before.giveAges(&after); err != nil {
		return err
	}
	old, now, notes, err := bothTables(cmd, with, &before, &after)
	if err != nil {
		return err
	}
	saved.MakeAlike(assumed, old, now)
	found := compareTables(cmd, old, now)
	others, err := after.settings(cmd, with)
	if err != nil {
		return err
	}
	found.Exposures = append(found.Exposures, otherSettings(made.Settings, others)...)
	report := comparison.ReportOf(found, len(old)+len(now), comparison.ProblemsOf(nil, after.problems))
	if !v.live {
		report.NotCompared = notServed(&v.Input, len(now), notes, "")
	}
	if err := after.print(cmd, report, format); err != nil {
		return err
	}
	switch {
	case len(report.NotCompared) > 0:
		return errNotServed(report.NotCompared)
	case len(after.problems) > 0:
		return leftOut(after.problems)
	case report.Differs():
		return errToDo
	}
	return nil
}

// assumeAll has the other side have the Secrets that a state assumes, and the state count them as existing.
func (s *side) assumeAll(other *side) {
	if len(s.state.Assumed) == 0 {
		return
	}
	state, assumed := *s.state, s.state.Assumed
	state.Secrets = slices.Sorted(slices.Values(slices.Concat(state.Secrets, state.Assumed)))
	state.Assumed, state.TablesWithoutAssumed = []string{}, nil
	s.state = &state
	source.AddToBoth(&other.objects, &ingress.Objects{}, assumed)
}

// giveAges gives Ingresses without an age that of a state: what is applied in place of an Ingress keeps it.
func (s *side) giveAges(to *side) error {
	tables, err := s.state.Read()
	if err != nil {
		return err
	}
	ages := map[ingress.Name]time.Time{}
	for _, t := range tables {
		for _, n := range t.Names {
			ages[ingress.Name{Namespace: n.Owner.Namespace, Name: n.Owner.Name}] = n.Owner.Created
		}
		for _, r := range t.Routes {
			ages[ingress.Name{Namespace: r.Owner.Namespace, Name: r.Owner.Name}] = r.Owner.Created
		}
	}
	to.objects.Ingresses = slices.Clone(to.objects.Ingresses)
	for i, ing := range to.objects.Ingresses {
		if age := ages[nameOf(ing)]; ing.CreationTimestamp.IsZero() && !age.IsZero() {
			to.objects.Ingresses[i] = ing.DeepCopy()
			to.objects.Ingresses[i].CreationTimestamp = metav1.NewTime(age)
		}
	}
	return nil
}

// readAttestation reads an attestation in what migrate -o json has printed.
func readAttestation(file string) (side, *attestation, error) {
	text, err := manifests.ReadFile(file, saved.MostBytes)
	if err != nil {
		return side{}, nil, err
	}
	if text, err = manifests.ToJSON(text); err != nil {
		return side{}, nil, err
	}
	var report struct {
		Attestation *attestation `json:"attestation"`
	}
	switch err := json.Unmarshal(text, &report); {
	case err != nil:
		return side{}, nil, err
	case report.Attestation == nil || report.Attestation.Routing == nil:
		return side{}, nil, errors.New("it has no attestation, which `fairlead migrate --write` prints with -o json")
	}
	a := report.Attestation
	if made := digestOf(a.Routing.Tables, a.Settings); made != a.Originals {
		return side{}, nil, fmt.Errorf("it was changed since, or printed by another version (%s): its "+
			"digest is %s, and what it is of has %s", a.Version, a.Originals, made)
	}
	return side{state: a.Routing}, a, nil
}
