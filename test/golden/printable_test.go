package golden

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/nightly"
)

// This file holds everything that the commands print to one promise: text of objects does not get
// to a terminal as it is. Each field of each object of the stories is replaced by hostile text, one
// at a time.

// hostile is a text that moves a terminal's cursor, changes its title, breaks lines, reads from
// right to left and has characters of no width.
const hostile = "/h\x1b[2J\x1b]0;title\a\r\nforged line\vx\f\u009b2J\u0085\u202etxt\u2066\u200b\ufeff\u2028\t\x00\x7f\U000e0041"

// TestTextOfObjectsIsPrintedEscaped runs the commands over the objects of all stories.
func TestTextOfObjectsIsPrintedEscaped(t *testing.T) {
	type hostileStory struct {
		name      string
		documents []map[string]any
	}
	done := map[string]bool{}
	var all []func() hostileStory
	for _, s := range stories(t) {
		documents := documentsOf(t, s)
		for i, document := range documents {
			kind, _ := document["kind"].(string)
			for _, field := range fieldsOf(document, kind) {
				if done[field.name] {
					continue
				}
				done[field.name] = true
				for _, text := range []string{hostile, field.value + hostile} {
					all = append(all, func() hostileStory {
						changed := slices.Clone(documents)
						changed[i] = field.replaced(text).(map[string]any)
						return hostileStory{s.file + ": " + field.name, changed}
					})
				}
			}
		}
	}
	escaped, tried := 0, nightly.Some(t, nightly.Times(len(all)/3), all)
	for _, made := range tried {
		story := made()
		escaped += printsHostile(t, story.name, story.documents)
	}
	// Escapes in the output show that hostile text gets there.
	if len(done) < 100 || escaped < len(tried)/2 {
		t.Errorf("%d fields were replaced, and %d outputs have their text: the test tries too little", len(done), escaped)
	}
}

// printsHostile runs the commands over objects, and returns how many of them printed hostile text.
func printsHostile(t *testing.T, what string, documents []map[string]any) int {
	t.Helper()
	var manifest []byte
	for _, d := range documents {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		manifest = append(append(manifest, text...), '\n')
	}
	shown := 0
	for _, command := range [][]string{
		{"plan", "-f", "-"},
		{"plan", "-f", "-", "--provider", "aws"},
		{"plan", "-f", "-", "-o", "json"},
		{"explain", "--all", "-f", "-"},
		{"explain", "--all", "-f", "-", "-o", "json"},
		{"explain", "http://a.com/h", "https://a.com/", "-f", "-"},
		{"explain", "http://a.com/h", "-f", "-", "-o", "json", "--provider", "aws"},
	} {
		out := run(t.Context(), manifest, command...)
		checkPrintable(t, fmt.Sprintf("%s: fairlead %s", what, strings.Join(command, " ")), out)
		if strings.Contains(out, "forged") {
			shown++
		}
	}
	return shown
}

// run is what a command line prints.
func run(ctx context.Context, stdin []byte, args ...string) string {
	var out bytes.Buffer
	cli.Run(ctx, args, cli.Providers{Clouds: map[string]clouds.Cloud{"aws": aws.Plug(), "fake": fake.Plug()}}, cli.Streams{In: bytes.NewReader(stdin), Out: &out, Err: &out})
	return out.String()
}

// checkPrintable checks that text has no character that does not show as itself, and no line that
// hostile text began.
func checkPrintable(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if printable.Line(line) != line {
			t.Errorf("%s prints %q", what, line)
		}
		if strings.HasPrefix(strings.TrimSpace(line), "forged") {
			t.Errorf("%s prints a line that an object forged: %q", what, line)
		}
	}
}

// documentsOf are the objects of a story, with those that its options ask for.
func documentsOf(t *testing.T, s *story) []map[string]any {
	t.Helper()
	var out []map[string]any
	add := func(document []byte) {
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		if object != nil {
			out = append(out, object)
		}
	}
	for document := range strings.SplitSeq(s.section("ingress.yaml"), "\n---\n") {
		add([]byte(document))
	}
	var made ingress.Objects
	for i, service := range s.options.Services {
		if err := addService(&made, service, i); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.options.Secrets)) {
		if err := addSecret(&made, name, s.options.Secrets[name]); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range made.Services {
		object.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
		add(marshalled(t, object))
	}
	for _, object := range made.EndpointSlices {
		object.TypeMeta = metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}
		add(marshalled(t, object))
	}
	for _, object := range made.Secrets {
		object.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
		add(marshalled(t, object))
	}
	return out
}

func marshalled(t *testing.T, object any) []byte {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A textField is a string in an object, or the key of an entry.
type textField struct {
	name, value string
	replaced    func(text string) any // the whole with another text in its place
}

// fieldsOf are all strings in a value, and the keys of its maps.
func fieldsOf(value any, name string) []textField {
	var out []textField
	within := func(name string, inner any, put func(any) any) {
		for _, f := range fieldsOf(inner, name) {
			replaced := f.replaced
			out = append(out, textField{f.name, f.value, func(text string) any { return put(replaced(text)) }})
		}
	}
	switch value := value.(type) {
	case string:
		encode := func(text string) any { return text }
		if strings.HasPrefix(name, "Secret.data.") {
			encode = func(text string) any { return base64.StdEncoding.EncodeToString([]byte(text)) }
		}
		out = append(out, textField{name, value, encode})
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			within(name+"."+key, value[key], func(v any) any {
				changed := maps.Clone(value)
				changed[key] = v
				return changed
			})
			out = append(out, textField{name + "." + key + " (key)", key, func(text string) any {
				changed := maps.Clone(value)
				delete(changed, key)
				changed[text] = value[key]
				return changed
			}})
		}
	case []any:
		for i := range value {
			within(name+"[]", value[i], func(v any) any {
				changed := slices.Clone(value)
				changed[i] = v
				return changed
			})
		}
	}
	return out
}

// TestCertificatesArePrintedEscaped serves certificates whose names are hostile.
func TestCertificatesArePrintedEscaped(t *testing.T) {
	ascii := strings.Map(func(r rune) rune {
		if r > 0x7f {
			return -1
		}
		return r
	}, hostile)
	for name, hosts := range map[string][]string{"a name in it": {"a.com", ascii}, "its first name": {ascii, "a.com"}} {
		var made ingress.Objects
		if err := addSecret(&made, "shop/tls", hosts); err != nil {
			t.Fatal(err)
		}
		made.Secrets[0].TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
		manifest := slices.Concat(marshalled(t, made.Secrets[0]), []byte(`
{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"namespace":"shop","name":"web"},"spec":{"ingressClassName":"fairlead",
"tls":[{"hosts":["a.com"],"secretName":"tls"}],"rules":[{"host":"a.com","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}}`))
		out := run(t.Context(), manifest, "plan", "-f", "-")
		checkPrintable(t, name, out)
		if !strings.Contains(out, "forged") {
			t.Errorf("%s is not printed: %s", name, out)
		}
	}
}

// TestFilesArePrintedEscaped reads files with hostile names and contents.
func TestFilesArePrintedEscaped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\x1b]0;t\a\nforged")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"nothing":                 "",
		"no YAML":                 "\x1b[2J: [\nforged: }",
		"no UTF-8":                "kind: \"\xff\xfe\nforged\"",
		"no object":               "[\"\\nforged\"]",
		"an API version":          `{"apiVersion":"extensions/\nforged\u001b","kind":"Ingress","metadata":{"name":"x"}}`,
		"a value of a wrong type": `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"x\nforged"},"spec":{"rules":{"\nforged\u009b":1}}}`,
		"a time":                  `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"x","creationTimestamp":"\nforged\u001b"}}`,
	} {
		file := filepath.Join(dir, "b\rc\n.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"plan", "-f", dir}, {"plan", "-f", file}, {"explain", "--all", "-f", dir}, {"demo", "--once", "-f", dir},
			{"plan", "-f", file, "--observed", file}, {"plan", "--provider", "\nforged", "-f", file}, {"explain", "http://x/\x1b", "http://\nforged", "-f", file}, {"\nforged"}, {"plan", "--\nforged"}} {
			checkPrintable(t, fmt.Sprintf("%s: %q", what, args), run(t.Context(), nil, args...))
		}
	}
}

// TestTheDemoPrintsEscaped serves paths that are hostile.
func TestTheDemoPrintsEscaped(t *testing.T) {
	manifest := marshalled(t, map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": map[string]any{"namespace": "shop", "name": "web"},
		"spec": map[string]any{"ingressClassName": "fairlead", "rules": []any{map[string]any{"http": map[string]any{"paths": []any{
			map[string]any{"path": hostile, "pathType": "Exact", "backend": map[string]any{"service": map[string]any{"name": "web", "port": map[string]any{"number": 80}}}},
			map[string]any{"path": "/$(id)';id &", "pathType": "Prefix", "backend": map[string]any{"service": map[string]any{"name": "web", "port": map[string]any{"number": 80}}}},
		}}}}},
	})
	out := run(t.Context(), manifest, "demo", "--once", "-f", "-")
	checkPrintable(t, "demo", out)
	if !strings.Contains(out, "is answered by") {
		t.Errorf("the demo requests nothing:\n%s", out)
	}
}

// TestStepsArePrintedEscaped prints every kind of step with hostile text in every field.
func TestStepsArePrintedEscaped(t *testing.T) {
	steps := []plan.Step{
		&plan.CreateLoadBalancer{}, &plan.ModifyLoadBalancer{}, &plan.DeleteLoadBalancer{}, &plan.SetWebACL{}, &plan.ShieldLoadBalancer{},
		&plan.DeleteFirewall{}, &plan.ImportCertificate{}, &plan.ReplaceCertificate{}, &plan.ModifyCertificate{}, &plan.DeleteCertificate{},
		&plan.CreateTargetGroup{}, &plan.ModifyTargetGroup{}, &plan.RegisterTargets{}, &plan.AwaitTargets{}, &plan.DeleteTargetGroup{},
		&plan.CreateListener{}, &plan.ModifyListener{}, &plan.AttachCertificate{}, &plan.DetachCertificate{}, &plan.DeleteListener{},
		&plan.CreateRule{}, &plan.ModifyRule{}, &plan.DeleteRule{}, &plan.RespaceRules{},
	}
	p := plan.Plan{Key: lb.Key(hostile)}
	for _, s := range steps {
		fill(reflect.ValueOf(s).Elem())
		p.Steps = append(p.Steps, plan.Planned{Step: s})
	}
	var out bytes.Buffer
	if err := p.Text(&out, plan.Form{}); err != nil {
		t.Fatal(err)
	}
	checkPrintable(t, "a plan", out.String())
	const setting = "\n      "
	if n := strings.Count(out.String(), "\n") - strings.Count(out.String(), setting); n != len(steps)+1 {
		t.Errorf("%d steps are %d lines:\n%s", len(steps), n, out.String())
	}
}

// fill puts hostile text into every string that a value holds.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	default: // numbers and truth values
	}
}
