package v1_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/test/page"
)

// This file writes docs/reference/openapi.yaml from the types and comments of the package, and
// checks that the committed document is the same. test/openapi holds real requests and answers to
// it.

//go:generate go test . -run ^TestOpenAPI$ -update

func TestOpenAPI(t *testing.T) {
	d := document{source: parsed(t), schemas: object{}}
	root := object{
		{"openapi", "3.1.0"},
		{"info", object{
			{"title", "Fairlead's provider protocol"},
			{"version", strconv.Itoa(v1.Version)},
			{"description", "What a schema cannot say is in protocol.md. Generated from api/provider/v1 by \"make generate\".\n\n" +
				"Schemas of requests are closed: a provider refuses a field or a value that it does not know. Those of answers are open: an operator\n" +
				"ignores a field that it does not know. A type that is in both has two schemas, and the name of the one of answers begins with Reported.\n" +
				"Which fields of a step go with which op, and the values that a rule can have, stand in protocol.md.\n"},
			{"license", object{{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}},
		}},
		{"servers", []any{object{{"url", "http://127.0.0.1:8090"}, {"description", "the provider's URL, which an administrator gives"}}}},
		{"security", []any{object{}, object{{"token", []any{}}}, object{{"clientCertificate", []any{}}}}},
		{"paths", d.paths()},
		{"components", object{
			{"securitySchemes", object{
				{"token", object{{"type", "http"}, {"scheme", "bearer"}}},
				{"clientCertificate", object{{"type", "mutualTLS"}}},
			}},
			{"parameters", parameters},
			{"responses", object{
				{"Unchanged", object{{"description", "The answer is the one that the operator has."}}},
				{"Problem", object{
					{"description", "Why the call failed."},
					{"content", object{{v1.ProblemMediaType, object{{"schema", d.reported(v1.Problem{})}}}}},
				}},
			}},
			{"schemas", &d.schemas},
		}},
	}
	slices.SortFunc(d.schemas, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	to := yaml.NewEncoder(&out)
	to.SetIndent(2)
	if err := to.Encode(node(root)); err != nil {
		t.Fatal(err)
	}
	page.Check(t, "../../../docs/reference/openapi.yaml", out.String())
}

// An object of the document, whose entries stay in order.
type object []entry

type entry struct {
	name  string
	value any
}

// node is a value as YAML.
func node(value any) *yaml.Node {
	switch value := value.(type) {
	case *object:
		return node(*value)
	case object:
		out := &yaml.Node{Kind: yaml.MappingNode}
		for _, e := range value {
			out.Content = append(out.Content, node(e.name), node(e.value))
		}
		return out
	case []any:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, v := range value {
			out.Content = append(out.Content, node(v))
		}
		return out
	}
	out := &yaml.Node{}
	if err := out.Encode(value); err != nil {
		panic(err)
	}
	return out
}

// list is a list of texts.
func list(texts []string) []any {
	out := []any{}
	for _, text := range texts {
		out = append(out, text)
	}
	return out
}

// A document is the schemas that were written so far, and what they are written from.
type document struct {
	source  source
	schemas object
}

var text = object{{"type", "string"}}

// parameters are those of calls. The first ones are of all calls.
var parameters = object{
	{v1.HeaderTimeout, parameter(v1.HeaderTimeout, "header", false, "How many milliseconds the operator waits for this attempt.", text)},
	{v1.HeaderRequestID, parameter(v1.HeaderRequestID, "header", false, "The operator's name for the call.", text)},
	{"Priority", parameter("Priority", "header", false, "u=1 of steps that restrict or repair what is served (RFC 9218).", text)},
	{"traceparent", parameter("traceparent", "header", false, "W3C trace context.", text)},
	{key, parameter(key, "query", true, "The key of the load balancer.", object{{"type", "string"}, {"minLength", 1}})},
	{group, parameter(group, "query", true, "The ID of the target group.", object{{"type", "string"}, {"minLength", 1}})},
	{deep, parameter(deep, "query", false, "Reads the cloud, even if there is a cached answer.", object{{"type", "boolean"}})},
	{known, parameter(known, "header", false, "The ETag of an answer that the operator has.", text)},
}

const (
	ofAll = 4 // parameters

	key, group, deep, known = "key", "group", "deep", "If-None-Match"
)

// paths are the calls.
func (d *document) paths() object {
	return object{
		{v1.PathCapabilities, object{{"get", d.call("capabilities", "What load balancers can express", nil, d.reported(v1.Capabilities{}), "", known)}}},
		{v1.PathLookup, object{{"post", d.call("lookup", "Questions before rules are made", d.asked(v1.Questions{}), d.reported(v1.Facts{}), "")}}},
		{v1.PathLoadBalancers, object{{"get", d.call("list", "The keys of all load balancers", nil, d.reported(v1.LoadBalancerList{}), "")}}},
		{v1.PathLoadBalancer, object{{"get", d.call("observe", "What there is", nil, d.reported(v1.Observed{}), "", key, deep)}}},
		{v1.PathActive, object{{"get", d.call("active", "Whether it answers by now", nil, d.reported(v1.Activity{}), "", key)}}},
		{v1.PathSteps, object{{"post", d.call("apply", "Carry out steps", d.asked(v1.Apply{}), d.reported(v1.Applied{}), "", key)}}},
		{v1.PathTargets, object{
			{"get", d.call("targets", "Members and their health", nil, d.reported(v1.TargetList{}), "", key, group)},
			{"put", d.call("setTargets", "Replace the members", d.asked(v1.TargetList{}), nil, "The members are as they are to be.", key, group)},
		}},
	}
}

func parameter(name, in string, required bool, says string, schema object) any {
	return object{{"name", name}, {"in", in}, {"required", required}, {"description", says}, {"schema", schema}}
}

// call is a call. Says describes an answer without a message.
func (d *document) call(name, summary string, request, answer any, says string, own ...string) object {
	for _, p := range parameters[:ofAll] {
		own = append(own, p.name)
	}
	var references []any
	for _, name := range own {
		references = append(references, object{{"$ref", "#/components/parameters/" + name}})
	}
	out := object{{"operationId", name}, {"summary", summary}, {"parameters", references}}
	if request != nil {
		out = append(out, entry{"requestBody", object{{"required", true}, {"content", object{{v1.MediaType, object{{"schema", request}}}}}}})
	}
	responses := object{}
	if answer != nil {
		responses = append(responses, entry{"200", object{{"description", "The answer."}, {"content", object{{v1.MediaType, object{{"schema", answer}}}}}}})
	} else {
		responses = append(responses, entry{"204", object{{"description", says}}})
	}
	if slices.Contains(own, known) {
		responses = append(responses, entry{"304", object{{"$ref", "#/components/responses/Unchanged"}}})
	}
	return append(out, entry{"responses", append(responses, entry{"default", object{{"$ref", "#/components/responses/Problem"}}})})
}

// asked and reported are schemas of messages.
func (d *document) asked(message any) any    { return d.schema(reflect.TypeOf(message), asked) }
func (d *document) reported(message any) any { return d.schema(reflect.TypeOf(message), reported) }

// A place is where in messages a type stands.
type place string

const (
	asked    place = ""         // in a request: closed, with the values that there are
	reported place = "Reported" // in an answer: open, with any values, since others can have made what is reported
)

// inRequests are the types that requests are made of.
var inRequests = reached(map[reflect.Type]bool{}, reflect.TypeFor[v1.Apply](), reflect.TypeFor[v1.Questions](), reflect.TypeFor[v1.TargetList]())

// inRules are the types that rules are made of.
var inRules = reached(map[reflect.Type]bool{}, reflect.TypeFor[v1.Rule]())

func reached(seen map[reflect.Type]bool, types ...reflect.Type) map[reflect.Type]bool {
	for _, t := range types {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			reached(seen, t.Elem())
		case reflect.Struct:
			if !seen[t] {
				seen[t] = true
				for i := range t.NumField() {
					reached(seen, t.Field(i).Type)
				}
			}
		default:
		}
	}
	return seen
}

// schema is that of a type.
func (d *document) schema(t reflect.Type, at place) object {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return object{}
	case t == reflect.TypeFor[v1.Op]():
		return object{{"description", "The section Ops of protocol.md says what each does."}, {"type", "string"}, {"enum", list(d.source.constants["Op"])}}
	case t == reflect.TypeFor[v1.ProblemType]():
		return object{{"type", "string"}, {"examples", list(d.source.constants["ProblemType"])}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem(), at)
	case reflect.Slice:
		return object{{"type", "array"}, {"items", d.schema(t.Elem(), at)}}
	case reflect.Map:
		return object{{"type", "object"}, {"additionalProperties", d.schema(t.Elem(), at)}}
	case reflect.Struct:
		return d.named(t, at)
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Int32:
		return object{{"type", "integer"}, {"format", "int32"}}
	case reflect.Int, reflect.Int64:
		return object{{"type", "integer"}, {"format", "int64"}}
	case reflect.String:
		return object{{"type", "string"}}
	default:
		panic("no schema of " + t.String())
	}
}

// named is a reference to the schema of a struct, which is written if it is not yet.
func (d *document) named(t reflect.Type, at place) object {
	name := t.Name()
	if inRequests[t] {
		name = string(at) + name
	}
	reference := object{{"$ref", "#/components/schemas/" + name}}
	if slices.ContainsFunc(d.schemas, func(e entry) bool { return e.name == name }) {
		return reference
	}
	place := len(d.schemas)
	d.schemas = append(d.schemas, entry{name, nil})
	out := object{}
	if says := d.source.types[t.Name()]; says != "" {
		out = append(out, entry{"description", says})
	}
	out = append(out, entry{"type", "object"})
	properties, required := object{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		if t == reflect.TypeFor[v1.TargetHealth]() && f.Name == "State" && at == asked {
			continue // of answers only
		}
		json, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options == "" {
			required = append(required, json)
		}
		properties = append(properties, entry{json, d.field(t, f, at)})
	}
	if len(required) > 0 {
		out = append(out, entry{"required", list(required)})
	}
	out = append(out, entry{"properties", properties})
	if at != reported {
		out = append(out, entry{"additionalProperties", false})
	}
	d.schemas[place].value = out
	return reference
}

// field is the schema of a field.
func (d *document) field(of reflect.Type, f reflect.StructField, at place) object {
	out := d.schema(f.Type, at)
	if values := f.Tag.Get("enum"); values != "" {
		kind := "enum"
		if (at != asked || inRules[of]) && f.Name != "State" {
			kind = "examples" // the rule of deleteRule is what was reported, whatever another hand has made
		}
		out = append(out, entry{kind, list(strings.Split(values, ","))})
	}
	if says := d.source.fields[of.Name()+"."+f.Name]; says != "" {
		out = append(object{{"description", says}}, out...)
	}
	return out
}

// A source is what the files of the package say besides the types.
type source struct {
	types, fields map[string]string   // the comments, of "Rule" and of "Rule.Action"
	constants     map[string][]string // the values of those of a type
	fieldsOf      map[string][]string // of an op, which stand in the comment behind it
}

func parsed(t *testing.T) source {
	t.Helper()
	out := source{types: map[string]string{}, fields: map[string]string{}, constants: map[string][]string{}, fieldsOf: map[string][]string{}}
	packages, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, parser.ParseComments) //nolint:staticcheck // there are no build tags here
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"step.go", "problem.go"} { // whose constants are in order
		for _, declared := range packages["v1"].Files[name].Decls {
			out.addConstants(declared)
		}
	}
	for _, file := range packages["v1"].Files {
		for _, declared := range file.Decls {
			out.addTypes(declared)
		}
	}
	return out
}

func (s *source) addConstants(declared ast.Decl) {
	group, ok := declared.(*ast.GenDecl)
	if !ok || group.Tok != token.CONST {
		return
	}
	for _, spec := range group.Specs {
		constant := spec.(*ast.ValueSpec)
		of, ok := constant.Type.(*ast.Ident)
		if !ok {
			continue
		}
		value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			panic(err)
		}
		s.constants[of.Name] = append(s.constants[of.Name], value)
		fields, _, _ := strings.Cut(constant.Comment.Text(), ":")
		for field := range strings.SplitSeq(fields, ",") {
			if field = strings.TrimSpace(field); isFieldOfStep(field) {
				s.fieldsOf[value] = append(s.fieldsOf[value], field)
			}
		}
	}
}

// isFieldOfStep reports whether a word names a field of a step.
func isFieldOfStep(word string) bool {
	step := reflect.TypeFor[v1.Step]()
	for i := range step.NumField() {
		if name, _, _ := strings.Cut(step.Field(i).Tag.Get("json"), ","); name == word && name != "op" {
			return true
		}
	}
	return false
}

func (s *source) addTypes(declared ast.Decl) {
	group, ok := declared.(*ast.GenDecl)
	if !ok || group.Tok != token.TYPE {
		return
	}
	for _, spec := range group.Specs {
		named := spec.(*ast.TypeSpec)
		s.types[named.Name.Name] = said(named.Doc, group.Doc)
		fields, ok := named.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				s.fields[named.Name.Name+"."+name.Name] = said(f.Doc, f.Comment)
			}
		}
	}
}

// said is what comments say, in one line.
func said(comments ...*ast.CommentGroup) string {
	var all []string
	for _, c := range comments {
		if text := strings.Join(strings.Fields(c.Text()), " "); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

// TestEachOpHasItsFields compares what Check asks for with the comment behind each op.
func TestEachOpHasItsFields(t *testing.T) {
	s := parsed(t)
	for _, op := range s.constants["Op"] {
		full, step := v1.Step{Op: v1.Op(op)}, reflect.TypeFor[v1.Step]()
		fields := reflect.ValueOf(&full).Elem()
		for i := range step.NumField() {
			if slices.Contains(s.fieldsOf[op], v1.FieldName(step.Field(i))) {
				fill(fields.Field(i))
			}
		}
		if p := full.Check(); p != nil {
			t.Errorf("%s with %v: %v", op, s.fieldsOf[op], p)
		}
		for i := 1; i < step.NumField(); i++ { // each other field is refused, and a missing one that is needed
			f, had := fields.Field(i), reflect.New(step.Field(i).Type).Elem()
			had.Set(f)
			name, mayBeEmpty := v1.FieldName(step.Field(i)), []string{"webACL", "shield", "targets"}
			has := slices.Contains(s.fieldsOf[op], name)
			if has {
				f.SetZero()
			} else {
				fill(f)
			}
			if refused := full.Check() != nil; refused == (has && slices.Contains(mayBeEmpty, name)) {
				t.Errorf("%s, %s there: %v, refused: %v", op, name, !has, refused)
			}
			f.Set(had)
		}
	}
	if len(s.constants["Op"]) != 24 {
		t.Errorf("%d ops", len(s.constants["Op"]))
	}
}

// fill sets a field of a step to something.
func fill(f reflect.Value) {
	switch f.Kind() {
	case reflect.Pointer:
		f.Set(reflect.New(f.Type().Elem()))
	case reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
	case reflect.String:
		f.SetString("a")
	default:
		f.SetInt(1)
	}
}

// TestEachOpIsDescribed has a row of protocol.md for each op, in order.
func TestEachOpIsDescribed(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Ops\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| .").FindAllStringSubmatch(table, -1) {
		rows = append(rows, m[1])
	}
	if ops := parsed(t).constants["Op"]; !slices.Equal(rows, ops) {
		t.Errorf("the rows are %q, and the ops %q", rows, ops)
	}
}
