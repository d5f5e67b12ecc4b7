package client

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
)

// This file looks through the SDK's models for what AWS may answer to the calls of the provider:
// each error has a class, or a reason for none.

// modelled are the services whose models name errors, by the name of the client in lower case. EC2 and STS
// name none in theirs; EC2's are listed at
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html.
var modelled = map[string]string{
	"elb": "elasticloadbalancingv2", "acm": "acm", "waf": "wafv2", "shield": "shield", "shields": "shield", "tagging": "resourcegroupstaggingapi",
}

var (
	called        = regexp.MustCompile(`\.((?i:elb|acm|waf|shields?|tagging))\.([A-Z]\w+)\(`)
	paged         = regexp.MustCompile(`(elbapi|acm|resourcegroupstaggingapi)\.New(\w+)Paginator\(`)
	errorsOf      = regexp.MustCompile(`(?s)\nfunc aws\w+_deserializeOpError(\w+)\(.*?\n}\n`)
	codeCompared  = regexp.MustCompile(`EqualFold\("(\w+)", errorCode\)`)
	codeOfAnError = regexp.MustCompile(`ErrorCodeOverride == nil \{\s+return "(\w+)"`)
)

// operations are the calls that the provider makes, by service.
func operations(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, below...)
	out := map[string][]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range called.FindAllStringSubmatch(string(text), -1) {
			service := modelled[strings.ToLower(m[1])]
			out[service] = append(out[service], m[2])
		}
		for _, m := range paged.FindAllStringSubmatch(string(text), -1) {
			service := m[1]
			if service == "elbapi" {
				service = "elasticloadbalancingv2"
			}
			out[service] = append(out[service], m[2])
		}
	}
	for service := range out {
		slices.Sort(out[service])
		out[service] = slices.Compact(out[service])
	}
	return out
}

// refusals are the codes that a service may answer to calls, each with one of the calls. Where its
// model in the SDK does not say which call answers with which, these are all that it has.
func refusals(t *testing.T, service string, operations []string) map[string]string {
	t.Helper()
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-sdk-go-v2/service/"+service).Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(module))
	out := map[string]string{}
	text, err := os.ReadFile(filepath.Join(dir, "deserializers.go"))
	if os.IsNotExist(err) {
		if text, err = os.ReadFile(filepath.Join(dir, "types", "errors.go")); err != nil {
			t.Fatal(err)
		}
		for _, m := range codeOfAnError.FindAllStringSubmatch(string(text), -1) {
			out[m[1]] = "any call"
		}
		return out
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range errorsOf.FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(operations, m[1]) {
			continue
		}
		for _, code := range codeCompared.FindAllStringSubmatch(m[0], -1) {
			out[code[1]] = m[1]
		}
	}
	return out
}

// unclassed are the errors that have no class, by service, with why: the step fails, and what there
// Is is looked at anew before the next try.
var unclassed = map[string]map[string]string{
	"elasticloadbalancingv2": {
		"ALPNPolicyNotFound":        "policies of TLS listeners, which Network Load Balancers have",
		"AllocationIdNotFound":      "addresses of Network Load Balancers",
		"DuplicateListener":         "create changes the one that is there",
		"DuplicateLoadBalancerName": "create changes the one that is there",
		"DuplicateTargetGroupName":  "create changes the one that is there",
		"ListenerNotFound":          "it is gone, unless it was made a moment ago: the next look finds out",
		"LoadBalancerNotFound":      "it is gone, unless it was made a moment ago: the next look finds out",
		"PriorityInUse":             "createRule looks whether the rule is there; another owner's is found by the next look",
		"RuleNotFound":              "it is gone, unless it was made a moment ago: the next look finds out",
		"TargetGroupNotFound":       "it is gone, unless it was made a moment ago: the next look finds out",
	},
	// Which call of Certificate Manager answers with which error is in its API reference:
	// https://docs.aws.amazon.com/acm/latest/APIReference/API_Operations.html
	"acm": {
		"InternalServer":                 "AWS fails, and the next try may succeed",
		"InvalidDomainValidationOptions": "RequestCertificate answers so, which is not called",
		"InvalidState":                   "RequestCertificate and others answer so, which are not called",
		"ResourceNotFound":               "it is gone, unless it was made a moment ago: the next look finds out",
	},
	"wafv2": {
		"WAFInternalError": "AWS fails, and the next try may succeed",
	},
	"shield": {
		"InternalError":         "AWS fails, and the next try may succeed",
		"ResourceAlreadyExists": "set takes the protection that is there",
		"ResourceNotFound":      "there is no protection, or it is gone",
	},
	"resourcegroupstaggingapi": {
		"ConstraintViolation":    "calls about tag policies answer so, which are not made",
		"InternalService":        "AWS fails, and the next try may succeed",
		"PaginationTokenExpired": "the next try begins with the first page",
	},
}

func TestEachErrorOfTheModelsHasAClass(t *testing.T) {
	calls := operations(t)
	for _, service := range modelled {
		found := refusals(t, service, calls[service])
		if len(calls[service]) == 0 || len(found) < 5 {
			t.Errorf("%s: the calls are %v, and their errors %v", service, calls[service], found)
		}
		met := map[string]bool{}
		for code, call := range found {
			err := &smithy.GenericAPIError{Code: code}
			_, class := classify(ErrorCode(err), err, nil)
			met[ErrorCode(err)] = true
			switch why := unclassed[service][ErrorCode(err)]; {
			case class == nil && why == "":
				t.Errorf("%s may answer %s to %s, which has no class", service, code, call)
			case class != nil && why != "":
				t.Errorf("%s of %s is %v, and listed as one without a class", code, service, class)
			}
		}
		for code := range unclassed[service] {
			if !met[code] {
				t.Errorf("%s answers %s to none of the calls", service, code)
			}
		}
	}
}
