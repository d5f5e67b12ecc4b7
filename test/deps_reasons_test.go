package test

import (
	"maps"
	"slices"
	"testing"
)

// This file has the reason for each import of the table in deps_test.go, and keeps that table from
// allowing what no file imports.

// reasons say what a package gives to those that import it, which is why they may.
var reasons = map[string]string{
	"api/v1alpha1":    "the objects of fairlead.dev, as Kubernetes has them",
	"api/provider/v1": "the messages that operator and provider exchange, as they are on the wire",

	"model/printable":           "text of tenants, without the characters that would change a terminal or a log",
	"model/check":               "a finding of `check`, `prove` and the contract, so that all three print alike",
	"model/accesslog":           "lines of access logs in their fields",
	"model/replay":              "which paths answered the lines of logs, and what a change does to them",
	"model/replay/urls":         "which URLs a load balancer may take for the same",
	"model/diag":                "diagnostics: what is said to the author of an object, with its reason and place",
	"model/routing":             "requests, routes, and what Ingresses ask for; every layer below and above speaks of these",
	"model/routing/language":    "paths and expressions as sets of texts that can be compared",
	"model/routing/precedence":  "which route answers a request, by the Ingress specification",
	"model/plainyaml":           "YAML that people write into objects, without what could make a short text long",
	"model/compare":             "what requests get before and after, and which settings of exposure differ",
	"model/expect":              "expectations of requests, and whether load balancers fulfil them",
	"model/ownership":           "which namespace a host belongs to",
	"model/settings":            "values of annotations and class fields, read by the one table",
	"model/settings/fields":     "bounds of fields that are parts of objects and lists",
	"model/endpoints":           "the targets of a Service port",
	"model/secrets":             "certificates and clients of identity providers, as Secrets hold them",
	"model/memory":              "what the compiler is given of its last result",
	"model/ingress":             "translating a snapshot into routes, for the compiler",
	"model/ingress/objects":     "the Kubernetes objects that the compiler reads, found by name, and places in them",
	"model/ingress/classes":     "IngressClasses with their parameters, and which Ingresses they are for",
	"model/ingress/annotations": "annotations read under a class, with those that are unknown or of other controllers",
	"model/ingress/members":     "an Ingress of a load balancer, its bounds, and which of several members decides",
	"model/ingress/hostrules":   "the rules of an Ingress for hosts that its namespace may serve",
	"model/ingress/snapshots":   "all that one load balancer depends on, and its last accepted versions",
	"model/ingress/policies":    "what takes changes back that cannot be served",
	"model/ingress/placement":   "which load balancer each Ingress is on",
	"model/ingress/listeners":   "ports, TLS and certificates of a load balancer",
	"model/ingress/backends":    "the actions of Services and Backends, and their targets",
	"model/ingress/foreign":     "annotations of other controllers, and what they mean",
	"model/ingress/spelling":    "the name that was meant where one is misspelt",
	"model/ingress/validate":    "the refusals of an API server, for objects from files",
	"model/lb":                  "the load balancer: listeners, rules, target groups, and what a cloud can do",
	"model/lowering":            "rules made of a table of routes, and what a cloud cannot say of it",
	"model/plan/values":         "values of settings, for readers of plans",
	"model/requests":            "requests that two lists of entries answer differently",
	"model/plan":                "the steps of a plan, which providers carry out and people read",
	"model/proof":               "the check of plans, made without the planner",
	"model/proof/course":        "what is there from which step of a plan to which",
	"model/witness":             "a request that some rules match and others do not",
	"model/planner":             "the plan from what is there to what is wanted, and rules that others made",
	"model/planner/rulelist":    "two lists of rules as one, with priorities",
	"model/planner/schedule":    "the order of steps under limits",
	"model":                     "the compiler, as one function",

	"providers":                   "the interface of a cloud, its errors, and Run",
	"providers/selfsigned":        "certificates for tests and demos that talk TLS",
	"providers/providertest":      "the contract, for `provider check`",
	"providers/prove":             "the proof on a real account",
	"providers/clouds":            "a kind of cloud by its name: settings, and how it is opened",
	"providers/wire":              "the model in messages, the same for client and server",
	"providers/remote":            "a provider that is another process",
	"providers/serve":             "a provider of this process, for others",
	"providers/probe":             "the behaviour of a provider on the wire, for `provider check`",
	"providers/fake":              "the fake cloud, which main registers, and tests of reconcilers use",
	"providers/fake/statefile":    "the file in which processes share a fake cloud",
	"providers/fake/certificates": "certificates of the fake cloud, by name",
	"providers/fake/targetgroup":  "targets of the fake cloud, requests to them and their health",
	"providers/fake/frontend":     "the ports of a load balancer of the fake cloud",
	"providers/aws":               "the AWS provider, which main registers",
	"providers/aws/access":        "in which region and VPC a process works",
	"providers/aws/account":       "what the account allows, and what AWS supports there",
	"providers/aws/attributes":    "the attributes of a resource, with their defaults",
	"providers/aws/awserr":        "an error of AWS in words, with what to do",
	"providers/aws/balancers":     "load balancers, with a state and a lock of their own",
	"providers/aws/cache":         "a value that is read once for all load balancers",
	"providers/aws/certificates":  "certificates in ACM, with a state and a lock of their own",
	"providers/aws/clients":       "the clients of AWS's services",
	"providers/aws/convert":       "types of the SDK for types of the model, and back",
	"providers/aws/errorcode":     "the code of an error of AWS",
	"providers/aws/grants":        "the sources that may connect to a port",
	"providers/aws/listeners":     "listeners and their rules",
	"providers/aws/look":          "what one observation has read",
	"providers/aws/network":       "subnets and security groups, each with a state and a lock of its own",
	"providers/aws/preflight":     "the findings of `check` about an account",
	"providers/aws/proof":         "the findings of `prove`, and what it leaves",
	"providers/aws/protection":    "web ACLs and Shield Advanced",
	"providers/aws/recent":        "whether AWS may not find a resource yet",
	"providers/aws/releases":      "when a resource can be deleted",
	"providers/aws/resource":      "names and tags of an installation's resources",
	"providers/aws/retry":         "the wait before a refused call is tried again",
	"providers/aws/targets":       "target groups and their members, with a state and a lock of their own",
	"providers/aws/throttle":      "the rate of calls, and their deadline",

	"controllers":              "the operator, for the command that runs it",
	"controllers/cluster":      "reading Kubernetes, with how fresh the answer is",
	"controllers/managedclass": "the reconciler of the managed IngressClass, to be wired",
	"controllers/disputes":     "whether another writer undoes what was written, and until when to wait",
	"controllers/events":       "events, each sent once",
	"controllers/proofs":       "what becomes of a plan that is not proven",
	"controllers/expectations": "expectations of classes, read from ConfigMaps, and which plans they forbid",
	"controllers/gather":       "what a load balancer depends on, read in one go",
	"controllers/gauges":       "what is counted when metrics are scraped, to be wired",
	"controllers/ingresses":    "the writes on Ingresses: finalizer and status",
	"controllers/loadbalancer": "the reconciler of load balancers, to be wired",
	"controllers/metrics":      "counters, and the provider whose calls are timed",
	"controllers/multimap":     "maps of sets, for the indexes",
	"controllers/orphans":      "the collector, to be wired",
	"controllers/outcome":      "conditions, status and record of what came of a reconcile",
	"controllers/podcache":     "Pods in the cache, in a form that takes little memory",
	"controllers/queue":        "watching, retrying, and limits for all reconcilers",
	"controllers/readiness":    "the reconciler of readiness gates, to be wired",
	"controllers/records":      "the record of a load balancer, read and written in one place",
	"controllers/scheme":       "the kinds that clients decode",
	"controllers/targets":      "the reconciler of targets, and which target groups there are",
	"controllers/unassigned":   "the reconciler of Ingresses without a load balancer, to be wired",
	"controllers/waits":        "what a load balancer waits for, for its condition and the metrics",

	"cli":               "the command line, for main",
	"cli/verification":  "the files of --expect, and the report of verify, as text, JSON and Markdown",
	"cli/traffic":       "access logs from files, and the report of replay, as text and JSON",
	"cli/comparison":    "the report of diff, as text, JSON and Markdown",
	"cli/placeholder":   "Secrets in place of those that manifests leave out",
	"cli/revision":      "files as they are at a git revision",
	"cli/access":        "the flags that name a cluster, and clients of it",
	"cli/answer":        "the answer to a request in words, for `explain` and the demo",
	"cli/cluster":       "the checks of a cluster, for `check`",
	"cli/configuration": "flags from files and from the environment",
	"cli/demo":          "the demo, as a command",
	"cli/flagvalue":     "flags that check their values",
	"cli/manifests":     "objects from files",
	"cli/operator":      "the operator, as a command",
	"cli/output":        "printing, the same in all commands",
	"cli/program":       "compiling and planning a set of objects, for all commands that do",
	"cli/reload":        "files that are read again when they change",
	"cli/saved":         "routing tables as plan prints them and diff reads them",
	"cli/selection":     "the provider that --provider names",
	"cli/source":        "the objects that -f or a cluster gives",
	"cli/version":       "the version of this binary",
}

// TestEachImportHasAReason fails where the table has a package that others import for no stated
// reason, a reason that is not needed, or an import that no file has.
func TestEachImportHasAReason(t *testing.T) {
	imported := map[string]bool{}
	found := sources(t)
	for pkg, allowed := range layers {
		used := map[string]bool{}
		for _, imports := range found[pkg] {
			for _, name := range imports {
				if target, ours := within(name, module); ours {
					used[target] = true
				}
			}
		}
		for _, target := range allowed {
			imported[target] = true
			if !used[target] {
				t.Errorf("no file of %s imports %s: take it out of layers", pkg, target)
			}
			if reasons[target] == "" {
				t.Errorf("%s may import %s for no reason: write in reasons what %[2]s gives", pkg, target)
			}
		}
	}
	for _, target := range slices.Sorted(maps.Keys(reasons)) {
		if !imported[target] {
			t.Errorf("no package imports %s: take it out of reasons", target)
		}
	}
}
