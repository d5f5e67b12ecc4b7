// Package test holds what is true of the whole tree: the import table, the modules that the binary
// links, and links between documents.
package test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// This file is the shape of the tree, enforced. Values flow right, imports point left:
//
//	diag <- routing <- language <- precedence, settings <- endpoints <- ingress, lb <- lowering, plan <- planner, model, providers <- fake, aws, remote, controllers <- cli <- main
//
// Clouds never see Kubernetes, Kubernetes never sees clouds, and the model calls neither.

const module = "fairlead.dev/fairlead"

// layers lists what each package may import of this module, and reasons has the reason for each
// (deps_reasons_test.go). A package that is not listed fails, so that a new one finds its place here
// first. Tests are free.
var layers = map[string][]string{
	"api/v1alpha1":    {},
	"api/provider/v1": {},

	"model/accesslog": {},
	"model/printable": {},
	"model/check":     {},

	"model/ingress/foreign":  {"model/ingress/spelling"},
	"model/ingress/spelling": {},

	"model/ingress/validate": {"model/diag"},
	"model/secrets":          {"model/routing"},
	"model/memory":           {"model/ingress/foreign", "model/routing", "model/settings", "api/v1alpha1"},

	"model/diag":                {"model/printable"},
	"model/routing":             {"model/diag", "model/printable"},
	"model/routing/language":    {"model/routing"},
	"model/routing/precedence":  {"model/diag", "model/printable", "model/routing", "model/routing/language"},
	"model/ownership":           {"model/diag", "model/routing"},
	"model/plainyaml":           {"model/diag"},
	"model/settings":            {"model/diag", "model/plainyaml", "model/routing", "model/settings/fields", "api/v1alpha1"},
	"model/settings/fields":     {"api/v1alpha1"},
	"model/endpoints":           {"model/diag", "model/routing", "model/settings", "api/v1alpha1"},
	"model/ingress/objects":     {"api/v1alpha1", "model/diag", "model/endpoints", "model/memory", "model/routing", "model/secrets"},
	"model/ingress/classes":     {"api/v1alpha1", "model/diag", "model/ingress/objects", "model/ingress/validate", "model/memory", "model/routing", "model/settings", "model/settings/fields"},
	"model/ingress/annotations": {"api/v1alpha1", "model/diag", "model/ingress/classes", "model/ingress/foreign", "model/ingress/objects", "model/ingress/spelling", "model/settings"},
	"model/ingress/members":     {"api/v1alpha1", "model/diag", "model/ingress/classes", "model/ingress/objects", "model/printable", "model/routing", "model/routing/language", "model/settings"},
	"model/ingress/hostrules":   {"model/diag", "model/ingress/classes", "model/ingress/members", "model/ingress/objects", "model/routing"},
	"model/ingress/snapshots":   {"api/v1alpha1", "model/diag", "model/ingress/annotations", "model/ingress/classes", "model/ingress/foreign", "model/ingress/hostrules", "model/ingress/members", "model/ingress/objects", "model/memory", "model/ownership", "model/routing", "model/settings"},
	"model/ingress/policies":    {"api/v1alpha1", "model/diag", "model/ingress/annotations", "model/ingress/classes", "model/ingress/foreign", "model/ingress/members", "model/ingress/objects", "model/ingress/snapshots", "model/routing", "model/settings"},
	"model/ingress/placement":   {"model/diag", "model/ingress/annotations", "model/ingress/classes", "model/ingress/members", "model/ingress/objects", "model/ingress/snapshots", "model/ingress/validate", "model/memory", "model/routing", "model/secrets", "model/settings"},
	"model/ingress/listeners":   {"api/v1alpha1", "model/diag", "model/ingress/classes", "model/ingress/hostrules", "model/ingress/members", "model/ingress/objects", "model/ingress/snapshots", "model/memory", "model/ownership", "model/routing", "model/settings"},
	"model/ingress/backends":    {"api/v1alpha1", "model/diag", "model/endpoints", "model/ingress/classes", "model/ingress/hostrules", "model/ingress/members", "model/ingress/objects", "model/ingress/validate", "model/routing", "model/secrets", "model/settings", "model/settings/fields"},
	"model/ingress":             {"model/diag", "model/ingress/backends", "model/ingress/classes", "model/ingress/hostrules", "model/ingress/listeners", "model/ingress/members", "model/ingress/objects", "model/ingress/snapshots", "model/routing", "model/routing/language"},
	"model/requests":            {"model/routing", "model/routing/language"},
	"model/compare":             {"model/lb", "model/printable", "model/requests", "model/routing", "model/routing/precedence"},
	"model/replay":              {"model/accesslog", "model/compare", "model/lb", "model/replay/urls", "model/routing", "model/routing/precedence"},
	"model/replay/urls":         {},
	"model/expect":              {"model/compare", "model/diag", "model/plainyaml", "model/printable", "model/requests", "model/routing", "model/routing/precedence"},
	"model/lb":                  {"model/diag", "model/printable", "model/routing", "model/routing/language"},
	"model/lowering":            {"model/diag", "model/lb", "model/routing", "model/routing/language", "model/routing/precedence"},
	"model/plan/values":         {"model/lb", "model/routing"},
	"model/plan":                {"model/diag", "model/printable", "model/routing", "model/lb", "model/plan/values"},
	"model/proof":               {"model/diag", "model/lb", "model/plan", "model/proof/course", "model/routing", "model/routing/language", "model/witness"},
	"model/proof/course":        {"model/lb", "model/plan", "model/routing"},
	"model/witness":             {"model/lb", "model/routing", "model/routing/language"},
	"model/planner":             {"model/diag", "model/lb", "model/plan", "model/planner/rulelist", "model/planner/schedule", "model/routing"},
	"model/planner/rulelist":    {"model/lb", "model/plan"},
	"model/planner/schedule":    {"model/diag", "model/lb", "model/plan"},
	"model":                     {"model/diag", "model/ingress", "model/ingress/listeners", "model/ingress/members", "model/ingress/objects", "model/ingress/policies", "model/ingress/snapshots", "model/lb", "model/lowering", "model/memory", "model/routing", "model/routing/language", "model/routing/precedence", "model/settings"},

	"providers":                   {"model/diag", "model/lb", "model/plan"},
	"providers/selfsigned":        {"model/lb", "model/routing"},
	"providers/providertest":      {"model/check", "model/planner", "model/routing", "model/lb", "model/plan", "model/plan/values", "providers", "providers/selfsigned", "providers/wire"},
	"providers/prove":             {"model/check", "model/lb", "model/plan", "model/planner", "model/routing", "providers", "providers/selfsigned"},
	"providers/clouds":            {"model/check", "model/lb", "providers", "providers/prove"},
	"providers/fake/statefile":    {},
	"providers/fake/certificates": {"model/lb", "providers/fake/statefile"},
	"providers/fake/targetgroup":  {"model/lb", "model/routing"},
	"providers/fake/frontend":     {"model/lb", "model/routing", "providers/fake/certificates", "providers/fake/targetgroup"},
	"providers/fake":              {"model/check", "model/routing", "model/lb", "model/plan", "providers", "providers/clouds", "providers/fake/certificates", "providers/fake/frontend", "providers/fake/statefile", "providers/fake/targetgroup"},
	"providers/wire":              {"api/provider/v1", "model/lb", "model/plan", "model/routing", "providers"},
	"providers/remote":            {"api/provider/v1", "model/lb", "model/plan", "providers", "providers/wire"},
	"providers/serve":             {"api/provider/v1", "model/lb", "model/plan", "providers", "providers/wire"},
	"providers/probe":             {"api/provider/v1", "model/check", "providers/selfsigned"},

	"providers/aws":              {"model/check", "model/lb", "model/plan", "providers", "providers/aws/access", "providers/aws/account", "providers/aws/attributes", "providers/aws/awserr", "providers/aws/balancers", "providers/aws/certificates", "providers/aws/clients", "providers/aws/listeners", "providers/aws/look", "providers/aws/network", "providers/aws/preflight", "providers/aws/proof", "providers/aws/protection", "providers/aws/recent", "providers/aws/releases", "providers/aws/resource", "providers/aws/targets", "providers/aws/throttle", "providers/clouds", "providers/prove"},
	"providers/aws/access":       {"providers", "providers/aws/awserr", "providers/aws/throttle"},
	"providers/aws/account":      {"model/lb", "providers", "providers/aws/awserr", "providers/aws/cache", "providers/aws/convert", "providers/aws/errorcode", "providers/aws/recent", "providers/aws/resource", "providers/aws/retry"},
	"providers/aws/attributes":   {"model/lb", "providers", "providers/aws/awserr", "providers/aws/convert", "providers/aws/look", "providers/aws/resource", "providers/aws/throttle"},
	"providers/aws/awserr":       {"providers", "providers/aws/errorcode"},
	"providers/aws/balancers":    {"model/lb", "model/plan", "model/routing", "providers", "providers/aws/account", "providers/aws/attributes", "providers/aws/awserr", "providers/aws/look", "providers/aws/network", "providers/aws/protection", "providers/aws/resource", "providers/aws/retry"},
	"providers/aws/cache":        {},
	"providers/aws/certificates": {"model/lb", "model/plan", "model/routing", "providers", "providers/aws/awserr", "providers/aws/cache", "providers/aws/errorcode", "providers/aws/resource", "providers/aws/throttle"},
	"providers/aws/clients":      {"providers/aws/resource"},
	"providers/aws/convert":      {"model/lb", "model/routing"},
	"providers/aws/errorcode":    {},
	"providers/aws/grants":       {},
	"providers/aws/listeners":    {"model/lb", "model/plan", "model/routing", "providers", "providers/aws/account", "providers/aws/attributes", "providers/aws/awserr", "providers/aws/certificates", "providers/aws/convert", "providers/aws/errorcode", "providers/aws/grants", "providers/aws/look", "providers/aws/network", "providers/aws/releases", "providers/aws/resource", "providers/aws/retry"},
	"providers/aws/look":         {"model/lb", "providers/aws/grants", "providers/aws/resource"},
	"providers/aws/network":      {"model/lb", "model/routing", "providers", "providers/aws/awserr", "providers/aws/cache", "providers/aws/convert", "providers/aws/grants", "providers/aws/look", "providers/aws/recent", "providers/aws/resource"},
	"providers/aws/preflight":    {"model/check", "model/lb", "providers", "providers/aws/access", "providers/aws/account", "providers/aws/awserr", "providers/aws/clients", "providers/aws/errorcode", "providers/aws/grants", "providers/aws/network", "providers/aws/recent", "providers/aws/resource", "providers/aws/throttle"},
	"providers/aws/proof":        {"model/check", "model/lb", "providers/aws/account", "providers/aws/awserr", "providers/aws/clients", "providers/aws/convert", "providers/aws/errorcode", "providers/aws/listeners", "providers/aws/network", "providers/aws/resource", "providers/aws/retry", "providers/prove"},
	"providers/aws/protection":   {"model/lb", "providers", "providers/aws/awserr", "providers/aws/cache", "providers/aws/look", "providers/aws/resource", "providers/aws/retry"},
	"providers/aws/recent":       {"providers/aws/awserr", "providers/aws/convert", "providers/aws/errorcode"},
	"providers/aws/releases":     {"model/lb", "model/plan", "providers", "providers/aws/awserr", "providers/aws/retry"},
	"providers/aws/resource":     {"model/lb", "providers", "providers/aws/awserr"},
	"providers/aws/retry":        {},
	"providers/aws/targets":      {"model/lb", "model/plan", "model/routing", "providers", "providers/aws/account", "providers/aws/attributes", "providers/aws/awserr", "providers/aws/convert", "providers/aws/look", "providers/aws/network", "providers/aws/resource", "providers/aws/retry", "providers/aws/throttle"},
	"providers/aws/throttle":     {"providers", "providers/aws/errorcode"},

	"controllers/cluster":        {"api/v1alpha1", "controllers/multimap", "controllers/podcache", "model/endpoints", "model/ingress/annotations", "model/lb", "model/printable", "model/secrets", "model/settings"},
	"controllers/controllertest": {"api/v1alpha1", "controllers/cluster", "controllers/expectations", "controllers/gather", "controllers/records", "controllers/scheme", "model/ingress/classes", "model/lb", "model/plan", "providers/fake"},
	"controllers/managedclass":   {"api/v1alpha1", "controllers/cluster", "controllers/queue", "controllers/records", "model/diag", "model/ingress/classes"},
	"controllers/disputes":       {"model/lb"},
	"controllers/events":         {"api/v1alpha1", "controllers/cluster", "model/diag", "model/lb", "model/printable"},
	"controllers/proofs":         {"api/v1alpha1", "model/compare", "model/diag", "model/lb", "model/plan", "model/printable", "model/proof", "model/routing"},
	"controllers/expectations":   {"api/v1alpha1", "controllers/cluster", "model", "model/compare", "model/diag", "model/expect", "model/ingress/members", "model/ingress/snapshots", "model/lb", "model/plan", "model/planner", "model/printable", "model/requests", "model/routing/precedence"},
	"controllers/gather":         {"api/v1alpha1", "controllers/cluster", "controllers/expectations", "controllers/records", "model", "model/diag", "model/ingress/classes", "model/ingress/members", "model/ingress/objects", "model/ingress/placement", "model/ingress/snapshots", "model/lb", "model/memory", "model/printable", "model/secrets", "model/settings"},
	"controllers/gauges":         {"api/v1alpha1", "controllers/cluster", "controllers/gather", "controllers/ingresses", "controllers/metrics", "controllers/queue", "controllers/records", "controllers/waits", "model/diag", "model/ingress/classes", "model/ingress/objects", "model/lb", "model/memory"},
	"controllers/ingresses":      {"api/v1alpha1", "controllers/cluster", "controllers/queue"},
	"controllers/loadbalancer":   {"api/v1alpha1", "controllers/cluster", "controllers/disputes", "controllers/events", "controllers/expectations", "controllers/gather", "controllers/ingresses", "controllers/metrics", "controllers/outcome", "controllers/proofs", "controllers/queue", "controllers/records", "controllers/targets", "controllers/waits", "model", "model/endpoints", "model/ingress/snapshots", "model/lb", "model/plan", "model/planner", "model/printable", "providers"},
	"controllers/metrics":        {"controllers/queue", "providers"},
	"controllers/multimap":       {},
	"controllers/podcache":       {"model/endpoints"},
	"controllers/orphans":        {"api/v1alpha1", "controllers/cluster", "controllers/gather", "model/ingress/classes", "model/lb", "providers"},
	"controllers/outcome":        {"api/v1alpha1", "controllers/cluster", "controllers/disputes", "controllers/expectations", "controllers/gather", "controllers/proofs", "controllers/queue", "controllers/records", "model", "model/diag", "model/ingress/members", "model/ingress/snapshots", "model/lb", "model/memory", "model/plan", "model/planner", "model/printable", "model/routing", "model/routing/precedence", "providers"},
	"controllers/queue":          {"controllers/cluster", "providers"},
	"controllers/readiness":      {"api/v1alpha1", "controllers/cluster", "controllers/events", "controllers/gather", "controllers/podcache", "controllers/queue", "controllers/targets", "model/endpoints", "model/lb", "model/printable", "providers"},
	"controllers/records":        {"api/v1alpha1", "controllers/multimap", "model/diag", "model/lb", "model/memory", "model/routing"},
	"controllers/scheme":         {"api/v1alpha1"},
	"controllers/targets":        {"api/v1alpha1", "controllers/cluster", "controllers/disputes", "controllers/multimap", "controllers/podcache", "controllers/queue", "controllers/waits", "model/endpoints", "model/ingress/backends", "model/lb", "model/routing", "providers"},
	"controllers/unassigned":     {"api/v1alpha1", "controllers/cluster", "controllers/events", "controllers/gather", "controllers/ingresses", "controllers/queue", "model/diag"},
	"controllers/waits":          {"api/v1alpha1", "controllers/queue", "model/lb", "providers"},
	"controllers":                {"api/v1alpha1", "controllers/cluster", "controllers/managedclass", "controllers/disputes", "controllers/events", "controllers/expectations", "controllers/gather", "controllers/gauges", "controllers/ingresses", "controllers/loadbalancer", "controllers/metrics", "controllers/orphans", "controllers/queue", "controllers/readiness", "controllers/records", "controllers/targets", "controllers/unassigned", "controllers/waits", "model/ingress/classes", "model/lb", "providers"},
	"cli/flagvalue":              {},
	"cli/version":                {},
	"cli/reload":                 {},
	"cli/manifests":              {"api/v1alpha1", "model/endpoints", "model/ingress/objects", "model/ingress/spelling", "model/ingress/validate"},
	"cli/cluster":                {"api/v1alpha1", "model/check", "model/ingress/classes"},
	"cli/output":                 {"cli/flagvalue", "model/check", "model/diag", "model/printable"},
	"cli/configuration":          {"cli/flagvalue", "cli/manifests"},
	"cli/access":                 {"controllers/scheme", "model/endpoints", "providers/clouds"},
	"cli/saved":                  {"cli/manifests", "model/diag", "model/routing", "model/routing/precedence"},
	"cli/selection":              {"cli/flagvalue", "model/lb", "providers", "providers/clouds", "providers/remote"},
	"cli/revision":               {},
	"cli/placeholder":            {"model/ingress/objects", "model/secrets", "providers/selfsigned"},
	"cli/comparison":             {"cli/manifests", "cli/output", "model/compare", "model/printable"},
	"cli/verification":           {"cli/manifests", "cli/output", "model/compare", "model/expect", "model/printable", "model/requests", "model/routing/precedence"},
	"cli/traffic":                {"cli/output", "model/accesslog", "model/compare", "model/lb", "model/printable", "model/replay", "model/routing/precedence"},
	"cli/source":                 {"api/v1alpha1", "cli/access", "cli/flagvalue", "cli/manifests", "cli/revision", "cli/saved", "cli/selection", "controllers/records", "model/ingress/classes", "model/ingress/objects", "model/ingress/placement", "model/lb", "model/plan/values", "providers"},
	"cli/program":                {"api/v1alpha1", "cli/manifests", "cli/output", "cli/saved", "model", "model/diag", "model/ingress/classes", "model/ingress/objects", "model/ingress/placement", "model/ingress/snapshots", "model/lb", "model/plan", "model/plan/values", "model/planner", "model/proof", "model/routing", "providers/clouds"},
	"cli/answer":                 {"cli/output", "cli/program", "model/diag", "model/lb", "model/printable", "model/routing", "model/routing/precedence"},
	"cli/demo":                   {"cli/answer", "cli/manifests", "cli/output", "cli/placeholder", "cli/program", "cli/source", "model/ingress/objects", "model/lb", "model/plan", "model/plan/values", "model/planner", "model/printable", "model/routing", "model/routing/precedence", "providers", "providers/clouds", "providers/wire"},
	"cli/operator":               {"api/v1alpha1", "cli/access", "cli/flagvalue", "cli/selection", "cli/version", "controllers", "controllers/cluster", "controllers/metrics", "controllers/scheme", "model/ingress/classes", "model/printable", "providers", "providers/clouds"},
	"cli":                        {"cli/access", "cli/answer", "cli/cluster", "cli/comparison", "cli/configuration", "cli/demo", "cli/flagvalue", "cli/manifests", "cli/operator", "cli/output", "cli/placeholder", "cli/program", "cli/reload", "cli/revision", "cli/saved", "cli/selection", "cli/source", "cli/traffic", "cli/verification", "cli/version", "controllers/scheme", "model/check", "model/compare", "model/diag", "model/ingress/classes", "model/ingress/objects", "model/lb", "model/plan", "model/printable", "model/proof", "model/requests", "model/routing", "model/routing/precedence", "providers", "providers/clouds", "providers/probe", "providers/prove", "providers/providertest", "providers/remote", "providers/serve"},

	".": {"cli", "providers/clouds", "providers/fake", "providers/aws"},

	"examples/caddy": {"api/provider/v1"}, // a provider that knows of Fairlead what is published
}

// forbidden lists imports from elsewhere that only some packages may have. A package stands for
// itself and everything below it.
var forbidden = []struct {
	imports []string
	in      []string // empty: everywhere
	except  []string
	why     string
}{
	{
		imports: []string{"github.com/aws"},
		except:  []string{"providers/aws"},
		why:     "AWS is one provider among others",
	},
	{
		imports: []string{"sigs.k8s.io/controller-runtime"},
		except:  []string{"controllers", "cli"},
		why:     "only the imperative shell talks to an API server",
	},
	{
		imports: []string{"k8s.io/client-go"},
		except:  []string{"controllers", "cli"},
		why:     "only the imperative shell talks to an API server",
	},
	{
		imports: []string{"k8s.io", "sigs.k8s.io"},
		in:      []string{"model/diag", "model/routing", "model/lb", "model/lowering", "model/plan", "model/planner", "providers"},
		why:     "clouds never see Kubernetes",
	},
	{
		imports: []string{"context", "log", "math/rand", "net", "net/http", "os", "sync"},
		in:      []string{"model"},
		why:     "the model is pure: no clients, contexts, goroutines or logs",
	},
	{
		imports: []string{"github.com/stretchr/testify", "github.com/onsi"},
		why:     "tests use the standard library and go-cmp",
	},
}

func TestImports(t *testing.T) {
	for pkg, files := range sources(t) {
		allowed, known := layers[pkg]
		if !known {
			t.Errorf("package %s has no place in the import table; give it one in test/deps_test.go", pkg)
		}
		for file, imports := range files {
			for _, imported := range imports {
				target, ours := within(imported, module)
				switch {
				case !ours:
					for _, why := range refusals(pkg, imported) {
						t.Errorf("%s imports %s: %s", file, imported, why)
					}
				case known && !slices.Contains(allowed, target):
					t.Errorf("%s imports %s: package %s may import only %v of this module", file, imported, pkg, allowed)
				}
			}
		}
	}
}

// TestImportTableKnowsRefusals keeps the table honest: what it is there to forbid, it forbids.
func TestImportTableKnowsRefusals(t *testing.T) {
	cases := map[string]struct {
		pkg, imports string
		refused      bool
	}{
		"a controller may not call AWS":            {"controllers", "github.com/aws/aws-sdk-go-v2/config", true},
		"the AWS provider may":                     {"providers/aws", "github.com/aws/aws-sdk-go-v2/config", false},
		"a provider may not see Kubernetes":        {"providers/fake", "k8s.io/api/core/v1", true},
		"reading Ingresses needs their types":      {"model/ingress", "k8s.io/api/networking/v1", false},
		"reading Ingresses needs no client":        {"model/ingress", "k8s.io/client-go/kubernetes", true},
		"the compiler has no context":              {"model", "context", true},
		"an address is a value, not a connection":  {"model/routing", "net/netip", false},
		"a URL is a value, not a connection":       {"model/ingress", "net/url", false},
		"the fake cloud serves real HTTP":          {"providers/fake", "net/http", false},
		"a name that only begins like a forbidden": {"model/lb", "logic", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := refusals(c.pkg, c.imports); (len(got) > 0) != c.refused {
				t.Errorf("%s importing %s: refused for %q; want refused: %v", c.pkg, c.imports, got, c.refused)
			}
		})
	}
}

// refusals are the reasons why a package may not import something from elsewhere.
func refusals(pkg, imported string) []string {
	var whys []string
	for _, f := range forbidden {
		switch {
		case !slices.ContainsFunc(f.imports, func(root string) bool { return forbids(root, imported) }):
		case len(f.in) > 0 && !slices.ContainsFunc(f.in, func(root string) bool { return inside(pkg, root) }):
		case slices.ContainsFunc(f.except, func(root string) bool { return inside(pkg, root) }):
		default:
			whys = append(whys, f.why)
		}
	}
	return whys
}

// forbids reports whether forbidding root forbids an import. A module's packages go with it; those
// of the standard library stand alone, for net/netip is not net.
func forbids(root, imported string) bool {
	if strings.Contains(root, ".") {
		return inside(imported, root)
	}
	return imported == root
}

func inside(pkg, root string) bool {
	_, ok := within(pkg, root)
	return ok
}

// within is the path of a package below a root.
func within(pkg, root string) (string, bool) {
	if pkg == root {
		return ".", true
	}
	return strings.CutPrefix(pkg, root+"/")
}

// sources are the imports of every file that is not a test, by package and file.
func sources(t *testing.T) map[string]map[string][]string {
	t.Helper()
	found := map[string]map[string][]string{}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if strings.HasPrefix(name, ".") && name != ".." || name == "testdata" || name == "tools" || name == "test" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := path.Clean(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../"))
		if pkg == ".." {
			pkg = "."
		}
		if found[pkg] == nil {
			found[pkg] = map[string][]string{}
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found[pkg][file] = append(found[pkg][file], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
