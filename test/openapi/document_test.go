package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file reads the document, and holds messages to it.

const file = "../../docs/reference/openapi.yaml"

// A document is the OpenAPI document.
type document struct {
	schemas *jsonschema.Compiler
	paths   map[string]map[string]operation
}

// An operation is a call, as far as it matters here.
type operation struct {
	ID          string                    `json:"operationId"`
	RequestBody *content                  `json:"requestBody"`
	Responses   map[string]map[string]any `json:"responses"`
}

type content struct {
	Content map[string]any `json:"content"`
}

func load(t testing.TB) *document {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var top struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal(plain, &top); err != nil {
		t.Fatal(err)
	}
	resource, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{schemas: jsonschema.NewCompiler(), paths: top.Paths}
	d.schemas.DefaultDraft(jsonschema.Draft2020)
	if err := d.schemas.AddResource("openapi.json", resource); err != nil {
		t.Fatal(err)
	}
	return d
}

// holds holds a message to the schema at a place of the document.
func (d *document) holds(message []byte, place ...string) error {
	pointer := ""
	for _, part := range place {
		pointer += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	schema, err := d.schemas.Compile("openapi.json#" + pointer)
	if err != nil {
		return fmt.Errorf("reading the schema at %s: %w", pointer, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
	if err != nil {
		return fmt.Errorf("reading the message: %w", err)
	}
	return schema.Validate(value)
}

// schema holds a message to a schema by its name.
func (d *document) schema(message []byte, name string) error {
	return d.holds(message, "components", "schemas", name)
}

// traffic holds a request and its answer to the document.
func (d *document) traffic(r *http.Request, sent []byte, status int, header http.Header, answered []byte) error {
	at, method := r.URL.Path, strings.ToLower(r.Method)
	called, known := d.paths[at][method]
	if !known {
		return fmt.Errorf("%s %s is no operation", method, at)
	}
	if (called.RequestBody != nil) != (len(sent) > 0) {
		return fmt.Errorf("%s %s has a body of %d bytes", method, at, len(sent))
	}
	if called.RequestBody != nil {
		if err := d.holds(sent, "paths", at, method, "requestBody", "content", r.Header.Get("Content-Type"), "schema"); err != nil {
			return fmt.Errorf("the request: %w", err)
		}
	}
	return d.answer(called, at, method, status, header, answered)
}

func (d *document) answer(called operation, at, method string, status int, header http.Header, answered []byte) error {
	name := strconv.Itoa(status)
	if status >= http.StatusBadRequest {
		if kind := header.Get("Content-Type"); kind != v1.ProblemMediaType {
			return fmt.Errorf("a problem is of type %q", kind)
		}
		return d.holds(answered, "components", "responses", "Problem", "content", v1.ProblemMediaType, "schema")
	}
	response, known := called.Responses[name]
	switch {
	case !known:
		return fmt.Errorf("%s %s is not answered with %d", method, at, status)
	case response["content"] == nil && len(answered) > 0:
		return fmt.Errorf("%s %s: %d has no body, and %q was sent", method, at, status, answered)
	case response["content"] == nil:
		return nil
	}
	return d.holds(answered, "paths", at, method, "responses", name, "content", header.Get("Content-Type"), "schema")
}

func TestTheDocumentIsOpenAPI(t *testing.T) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	read, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	if version := read.GetVersion(); version != "3.1.0" {
		t.Errorf("it is of version %s", version)
	}
	holds, errs := validator.NewValidator(read)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if ok, wrong := holds.ValidateDocument(); !ok {
		for _, w := range wrong {
			t.Errorf("%s: %s %v", w.Message, w.Reason, w.SchemaValidationErrors)
		}
	}
}
