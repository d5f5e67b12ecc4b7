package probe_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers/probe"
)

// wellTook is how long a run takes in which all is well: a pause, and the time until a step is late.
const wellTook = time.Millisecond + 600*time.Millisecond

// said are the details that findings have in a run in which all is well.
var said = map[string]string{}

func TestEachTrialMakesItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, to := direct(t)
		began := time.Now()
		findings := probe.Run(t.Context(), to)
		if diff := cmp.Diff(said, unusual(findings)); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
		calls := 0
		for i, trial := range trials {
			if findings[i].ID != "provider/"+trial.id {
				t.Errorf("trial %d is %s, want %s", i, findings[i].ID, trial.id)
			}
			calls += trial.calls
		}
		if took := time.Since(began); took != wellTook || len(p.calls) != calls || len(findings) != len(trials) {
			t.Errorf("%d trials made %d calls in %s", len(findings), len(p.calls), took)
		}
	})
}

// A call without an answer is reported as the fault of the trial that made it.
func TestACallWithoutAnAnswer(t *testing.T) {
	n := 0
	for _, trial := range trials {
		for range trial.calls {
			n++
			synctest.Test(t, func(t *testing.T) {
				p, to := direct(t)
				p.before = func(c *call) error {
					if c.n == n {
						return errors.New("a fault")
					}
					return nil
				}
				findings := probe.Run(t.Context(), to)
				got := unusual(findings)[trial.id]
				want := "wrong: "
				if n == 1+callsBefore(t, trial.id) {
					switch trial.id {
					case "cut-off": // it may end so
						if got != "" {
							t.Errorf("call %d, of cut-off: %s", n, got)
						}
						return
					case "timeout":
						want = "ok: the request was cut off: "
					case "deleted":
						want = "wrong: of fairlead-check/X may be left: "
					}
				}
				if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "a fault") {
					t.Errorf("call %d, of %s: %q", n, trial.id, got)
				}
				if trial.id == "capabilities" && len(findings) != 1 {
					t.Errorf("it goes on without capabilities: %v", findings)
				}
				if keys, err := p.cloud.List(t.Context()); err != nil || len(keys) > 0 && !strings.Contains(got, "may be left") {
					t.Errorf("call %d, of %s: left is %v, error %v", n, trial.id, keys, err)
				}
			})
		}
	}
}

// firewall adds a firewall to what there is, until a step deletes it.
func firewall() func(int, *call) {
	deleted := false
	return func(i int, c *call) {
		deleted = deleted || strings.Contains(c.sent, `"deleteFirewall"`)
		if !deleted {
			observed(func(o *v1.Observed) { o.Firewall = "x" })(i, c)
		}
	}
}

// stepsPerApply takes as many steps in a call, and says so.
func stepsPerApply(n int) func(int, *call) {
	said := regexp.MustCompile(`"stepsPerApply":[0-9]+`)
	return func(i int, c *call) {
		c.told = said.ReplaceAllString(c.told, fmt.Sprintf(`"stepsPerApply":%d`, n))
		if strings.Count(c.sent, `"op"`) > n {
			c.asProblem(http.StatusRequestEntityTooLarge, v1.Problem{Type: v1.ProblemTooLarge})
		}
	}
}

var pending = v1.Problem{Type: v1.ProblemPending, Detail: "not yet", RetryAfterSeconds: 7}

func capabilitiesTrial(p v1.Problem) func(*v1.Applied) {
	return func(a *v1.Applied) { a.Results = []v1.Result{{ID: a.Results[0].ID, Problem: &p}} }
}

// found are findings that differ from those of a run in which all is well; "" is one that says
// nothing, or that is missing.
type found = map[string]string

// answers are changed answers, and what is found then.
var answers = map[string]struct {
	trial  string
	change func(i int, c *call)
	want   found
	took   time.Duration // more than a run in which all is well
}{
	"another version":  {"capabilities", func(_ int, c *call) { c.told = strings.Replace(c.told, `"versions":[1]`, `"versions":[2]`, 1) }, found{"client-secret": "", "capabilities": "wrong: it speaks the versions [2] of the protocol; this program speaks 1"}, -wellTook},
	"no name":          {"capabilities", func(_ int, c *call) { c.told = strings.Replace(c.told, `"name":"`, `"name":"","x":"`, 1) }, found{"client-secret": "", "capabilities": "wrong: the name is empty"}, -wellTook},
	"another type":     {"capabilities", header("Content-Type", "application/json"), found{"client-secret": "", "capabilities": `wrong: the Content-Type of the answer is "application/json"; it has to be application/vnd.fairlead.provider+json; version=1`}, -wellTook},
	"no type":          {"capabilities", header("Content-Type", v1.MediaType+"; ="), found{"client-secret": "", "capabilities": `wrong: the Content-Type of the answer is "application/vnd.fairlead.provider+json; version=1; ="; it has to be application/vnd.fairlead.provider+json; version=1`}, -wellTook},
	"no JSON":          {"capabilities", func(_ int, c *call) { c.told = "{" }, found{"client-secret": "", "capabilities": "wrong: reading the answer: unexpected end of JSON input"}, -wellTook},
	"no entity tag":    {"capabilities-etag", at(0, header("ETag", "")), found{"capabilities-etag": "wrong: the answer has no ETag"}, 0},
	"a second 200":     {"capabilities-etag", at(1, status(200)), found{"capabilities-etag": "wrong: it answered with the status 200, not 304 without a body"}, 0},
	"304 with a body":  {"capabilities-etag", at(1, func(_ int, c *call) { c.told = "x" }), found{"capabilities-etag": "wrong: it answered with the status 304, not 304 without a body"}, 0},
	"another request":  {"request-id", header("Request-Id", "x"), found{"request-id": `wrong: the request had "X", the answer has "x"`}, 0},
	"no facts":         {"lookup", at(0, status(500)), found{"lookup": "wrong: it answered with the status 500, not 200"}, 0},
	"a problem":        {"lookup", at(0, problem(503, v1.Problem{Type: v1.ProblemPending, Detail: "not now"})), found{"lookup": "wrong: it answered with the status 503, not 200: not now"}, 0},
	"it is there":      {"missing", at(0, observed(func(o *v1.Observed) { o.Exists = true })), found{"missing": `wrong: asked for "fairlead-check/X", the answer is about "fairlead-check/X", exists: true`}, 0},
	"another key":      {"missing", at(0, observed(func(o *v1.Observed) { o.Key = "x" })), found{"missing": `wrong: asked for "fairlead-check/X", the answer is about "x", exists: false`}, 0},
	"a shorter key":    {"reserved-key", at(0, observed(func(o *v1.Observed) { o.Key = "x" })), found{"reserved-key": `wrong: asked for "fairlead-check/X/a b&c=d?e#f%2Fg+é", the answer is about "x", exists: false`}, 0},
	"all keys":         {"no-key", at(0, status(200)), found{"no-key": "wrong: it answered with the status 200, not 400 or 422"}, 0},
	"400 as text":      {"no-key", at(0, status(400)), found{"no-key": `wrong: the answer has the status 400 and the Content-Type "text/plain"; a problem has application/problem+json`}, 0},
	"a parameter":      {"no-key", at(0, header("Content-Type", v1.ProblemMediaType+"; =")), found{"no-key": `wrong: the answer has the status 400 and the Content-Type "application/problem+json; ="; a problem has application/problem+json`}, 0},
	"no problem":       {"no-key", at(0, header("Content-Type", "application/json")), found{"no-key": `wrong: the answer has the status 400 and the Content-Type "application/json"; a problem has application/problem+json`}, 0},
	"broken problem":   {"no-key", at(0, func(_ int, c *call) { c.told = "{" }), found{"no-key": "wrong: reading a problem: unexpected end of JSON input"}, 0},
	"400 for 404":      {"unknown-call", at(0, problem(400, v1.Problem{Type: v1.ProblemMalformed})), found{"unknown-call": `wrong: it answered with the status 400, not 404: the provider answered with a problem of type "urn:fairlead:problem:malformed"`}, 0},
	"field not named":  {"unknown-field", at(0, problem(422, v1.Problem{Type: v1.ProblemUnknown})), found{"unknown-field": "wrong: the problem does not name the field fairleadCheck"}, 0},
	"field ignored":    {"unknown-field", at(0, status(200)), found{"unknown-field": "wrong: it answered with the status 200, not 422"}, 0},
	"accepted":         {"accept", at(0, status(200)), found{"accept": "wrong: it answered with the status 200, not 406"}, 0},
	"no versions":      {"accept", at(0, problem(406, v1.Problem{Type: v1.ProblemVersion, Versions: []int{2}})), found{"accept": "wrong: the problem has the versions [2]; it has to have those that the provider speaks"}, 0},
	"no 415":           {"content-version", at(0, status(400)), found{"content-version": "wrong: it answered with the status 400, not 415"}, 0},
	"an op is taken":   {"unknown-op", at(0, func(_ int, c *call) { c.asJSON(v1.Applied{Results: []v1.Result{{ID: idIn(c)}}}) }), found{"unknown-op": `wrong: the step succeeded; it has to have a problem of the type "urn:fairlead:problem:unknown"`}, 0},
	"an op is pending": {"unknown-op", at(0, func(_ int, c *call) { c.asJSON(v1.Applied{Results: []v1.Result{{ID: idIn(c), Problem: &pending}}}) }), found{"unknown-op": `wrong: the step has a problem of the type "urn:fairlead:problem:pending", not "urn:fairlead:problem:unknown"`}, 0},
	"an op is unknown": {"unknown-op", at(0, func(_ int, c *call) {
		c.asJSON(v1.Applied{Results: []v1.Result{{ID: idIn(c), Problem: &v1.Problem{Type: v1.ProblemUnknown}}}})
	}), nil, 0},
	"no results":   {"unknown-op", at(0, func(_ int, c *call) { c.asJSON(v1.Applied{}) }), found{"unknown-op": "wrong: one step was sent, and the answer has not one result with its ID, but 0 results"}, 0},
	"cut, taken":   {"cut-off", at(0, status(200)), found{"cut-off": "wrong: it answered a request that was cut off with the status 200"}, -1 * time.Millisecond},
	"cut, refused": {"cut-off", at(0, status(500)), nil, 0},
	"cut, done":    {"cut-off", at(1, observed(func(o *v1.Observed) { o.TargetGroups = make([]v1.ObservedTargetGroup, 1) })), found{"cut-off": "wrong: the target group is there"}, 0},
	"cut, another": {"cut-off", at(1, observed(func(o *v1.Observed) { o.Key, o.TargetGroups = "x", make([]v1.ObservedTargetGroup, 1) })), found{"cut-off": `wrong: asked for the key "fairlead-check/X", the answer is about "x"`}, 0},
	"once differs": {"twice-at-once", at(3, results(func(a *v1.Applied) { a.Results[0].Handle = "x" })), found{"client-secret": "", "secrets": "unknown: skipped: no certificate was sent", "twice-at-once": `wrong: the results differ: {"id":"X","handle":"X","address":{"hostname":"lb-X.fake.fairlead.localhost","ips":["127X"]},"active":true} and {"id":"X","handle":"X","address":{"hostname":"lb-X.fake.fairlead.localhost","ips":["127X"]},"active":true}`}, -600 * time.Millisecond},
	"once is denied": {"twice-at-once", func(i int, c *call) {
		if i < 4 {
			results(capabilitiesTrial(v1.Problem{Type: v1.ProblemDenied}))(i, c)
		}
	}, found{"client-secret": "", "secrets": "unknown: skipped: no certificate was sent", "twice-at-once": `wrong: the step createLoadBalancer failed: the provider answered with a problem of type "urn:fairlead:problem:denied"`}, -600 * time.Millisecond},
	"once is pending": {"twice-at-once", func(i int, c *call) {
		if i < 4 {
			results(capabilitiesTrial(pending))(i, c)
		}
	}, nil, 7 * time.Second},
	"once throttled": {"twice-at-once", func(i int, c *call) {
		if i < 4 {
			results(capabilitiesTrial(v1.Problem{Type: v1.ProblemThrottled}))(i, c)
		}
	}, nil, time.Millisecond},
	"other ID":       {"other-step", at(0, results(func(a *v1.Applied) { a.Results[0].ID = "x" })), found{"other-step": "wrong: one step was sent, and the answer has not one result with its ID, but 1 results"}, 0},
	"two results":    {"other-step", at(0, results(func(a *v1.Applied) { a.Results = append(a.Results, a.Results[0]) })), found{"other-step": "wrong: one step was sent, and the answer has not one result with its ID, but 2 results"}, 0},
	"one fails":      {"other-step", at(0, results(capabilitiesTrial(v1.Problem{Type: v1.ProblemDenied, Detail: "no"}))), found{"other-step": "wrong: the step createLoadBalancer failed: no"}, 0},
	"other is taken": {"other-step", at(1, func(_ int, c *call) { c.asJSON(v1.Applied{Results: []v1.Result{{ID: idIn(c)}}}) }), found{"other-step": `wrong: the step succeeded; it has to have a problem of the type "urn:fairlead:problem:malformed"`}, 0},
	"step pending":   {"true-already", at(0, results(capabilitiesTrial(pending))), nil, 7 * time.Second},
	"step throttled": {"true-already", at(0, results(capabilitiesTrial(v1.Problem{Type: v1.ProblemThrottled, RetryAfterSeconds: 99}))), nil, 30 * time.Second},
	"step denied":    {"true-already", at(0, results(capabilitiesTrial(v1.Problem{Type: v1.ProblemDenied, Detail: "no"}))), found{"client-secret": "wrong: the step createRule failed: no target group fairlead-check", "targets": "wrong: it answered with the status 500, not 204: no target group fairlead-check of fairlead-check/X", "true-already": "wrong: the step createLoadBalancer failed: no"}, 0},
	"not there":      {"true-already", at(2, observed(func(o *v1.Observed) { o.Exists = false })), found{"true-already": "wrong: the load balancer that was made does not exist"}, 0},
	"no groups":      {"true-already", at(2, observed(func(o *v1.Observed) { o.TargetGroups = nil })), found{"true-already": "wrong: it has 0 target groups; one was made, fairlead-check"}, 0},
	"another group":  {"true-already", at(2, observed(func(o *v1.Observed) { o.TargetGroups[0].ID = "x" })), found{"true-already": "wrong: it has 1 target groups; one was made, fairlead-check"}, 0},
	"two groups":     {"true-already", at(2, observed(func(o *v1.Observed) { o.TargetGroups = append(o.TargetGroups, o.TargetGroups[0]) })), found{"true-already": "wrong: it has 2 target groups; one was made, fairlead-check"}, 0},
	"no settings":    {"true-already", at(2, observed(func(o *v1.Observed) { o.Settings, o.Digest = nil, "" })), found{"true-already": "wrong: it tells neither the settings nor the digest that came with them"}, 0},
	"none of groups": {"true-already", at(2, observed(func(o *v1.Observed) { o.TargetGroups[0].Settings, o.TargetGroups[0].Digest = nil, "" })), found{"true-already": "wrong: it tells neither the settings nor the digest that came with them"}, 0},
	"settings only": {"true-already", at(2, observed(func(o *v1.Observed) {
		o.Settings, o.Digest, o.TargetGroups[0].Settings, o.TargetGroups[0].Digest = &v1.Settings{}, "", &v1.GroupSettings{}, ""
	})), nil, 0},
	"digests only": {"true-already", at(2, observed(func(o *v1.Observed) {
		o.Settings, o.Digest, o.TargetGroups[0].Settings, o.TargetGroups[0].Digest = nil, "x", nil, "x"
	})), nil, 0},
	"other handle":    {"true-already", at(5, observed(func(o *v1.Observed) { o.Handle = "x" })), found{"true-already": `wrong: the handles were "fake-1" and "fake-2", and are "x" and "fake-2"`}, 0},
	"group's handle":  {"true-already", at(5, observed(func(o *v1.Observed) { o.TargetGroups[0].Handle = "x" })), found{"true-already": `wrong: the handles were "fake-1" and "fake-2", and are "fake-1" and "x"`}, 0},
	"not listed":      {"listed", at(0, func(_ int, c *call) { c.asJSON(v1.LoadBalancerList{}) }), found{"listed": `wrong: "fairlead-check/X" is listed: false`}, 0},
	"member rejected": {"targets", at(0, problem(422, v1.Problem{Type: v1.ProblemRejected, Detail: "no such address"})), found{"targets": "unknown: skipped: it takes no member 192.0.2.1: no such address"}, 0},
	"member denied":   {"targets", at(0, problem(403, v1.Problem{Type: v1.ProblemDenied, Detail: "no right"})), found{"targets": "wrong: it answered with the status 403, not 204: no right"}, 0},
	"member 200":      {"targets", at(0, status(200)), found{"targets": "wrong: it answered with the status 200, not 204"}, 0},
	"member drains": {"targets", at(5, func(_ int, c *call) {
		c.asJSON(v1.TargetList{Targets: []v1.TargetHealth{{Address: "192.0.2.1", Port: 8080, State: "draining"}}})
	}), nil, 0},
	"member stays": {"targets", at(5, func(_ int, c *call) {
		c.asJSON(v1.TargetList{Targets: []v1.TargetHealth{{Address: "192.0.2.1", Port: 8080, State: "healthy"}}})
	}), found{"targets": "wrong: the members that were put are [], those that are reported are [{192.0.2.1 8080 healthy}]"}, 0},
	"member's address": {"targets", at(1, func(_ int, c *call) {
		c.asJSON(v1.TargetList{Targets: []v1.TargetHealth{{Address: "192.0.2.2", Port: 8080}}})
	}), found{"targets": "wrong: the members that were put are [{192.0.2.1 8080 }], those that are reported are [{192.0.2.2 8080 }]"}, 0},
	"member's port": {"targets", at(3, func(_ int, c *call) {
		c.asJSON(v1.TargetList{Targets: []v1.TargetHealth{{Address: "192.0.2.1", Port: 80}}})
	}), found{"targets": "wrong: the members that were put are [{192.0.2.1 8080 }], those that are reported are [{192.0.2.1 80 }]"}, 0},
	"no certificate":      {"certificate", at(2, observed(func(o *v1.Observed) { o.Certificates = nil })), found{"certificate": "wrong: it tells the certificates []; one was imported, fairlead-check of fairlead-check.example.com"}, 0},
	"certificate twice":   {"certificate", at(2, observed(func(o *v1.Observed) { o.Certificates = append(o.Certificates, o.Certificates[0]) })), found{"certificate": "wrong: it tells the certificates [{fairlead-check [fairlead-check.example.com] ecdsa map[] fairlead-check fake-3} {fairlead-check [fairlead-check.example.com] ecdsa map[] fairlead-check fake-3}]; one was imported, fairlead-check of fairlead-check.example.com"}, 0},
	"another certificate": {"certificate", at(2, observed(func(o *v1.Observed) { o.Certificates[0].ID = "x" })), found{"certificate": "wrong: it tells the certificates [{x [fairlead-check.example.com] ecdsa map[] fairlead-check fake-3}]; one was imported, fairlead-check of fairlead-check.example.com"}, 0},
	"other hosts":         {"certificate", at(2, observed(func(o *v1.Observed) { o.Certificates[0].Hosts = append(o.Certificates[0].Hosts, "x") })), found{"certificate": "wrong: it tells the certificates [{fairlead-check [fairlead-check.example.com x] ecdsa map[] fairlead-check fake-3}]; one was imported, fairlead-check of fairlead-check.example.com"}, 0},
	"malformed taken":     {"certificate", at(1, status(200)), found{"certificate": "wrong: it answered with the status 200, not 400"}, 0},
	"listener no room":    {"client-secret", at(0, results(capabilitiesTrial(v1.Problem{Type: v1.ProblemNoRoom, Detail: "full"}))), found{"client-secret": "ok: the step createListener failed: full"}, 0},
	"rule is denied":      {"client-secret", at(1, results(capabilitiesTrial(v1.Problem{Type: v1.ProblemDenied, Detail: "no"}))), found{"client-secret": "wrong: the step createRule failed: no"}, 0},
	"rule is rejected":    {"client-secret", at(1, results(capabilitiesTrial(v1.Problem{Type: v1.ProblemRejected, Detail: "no OIDC"}))), found{"client-secret": "ok: the step createRule failed: no OIDC"}, 0},
	"rule is taken":       {"client-secret", at(1, func(_ int, c *call) { c.asJSON(v1.Applied{Results: []v1.Result{{ID: idIn(c)}}}) }), found{"client-secret": ""}, 0},
	"batch too short":     {"batch", at(0, results(func(a *v1.Applied) { a.Results = a.Results[:2] })), found{"batch": "wrong: 3 steps were sent, and the answer has 2 results, of 2 IDs"}, 0},
	"batch twice":         {"batch", at(0, results(func(a *v1.Applied) { a.Results[2] = a.Results[1] })), found{"batch": "wrong: 3 steps were sent, and the answer has 3 results, of 2 IDs"}, 0},
	"batch too long":      {"batch", at(0, results(func(a *v1.Applied) { a.Results = append(a.Results, a.Results[2]) })), found{"batch": "wrong: 3 steps were sent, and the answer has 4 results, of 3 IDs"}, 0},
	"batch other ID":      {"batch", at(0, results(func(a *v1.Applied) { a.Results[2].ID = "x" })), found{"batch": "wrong: a step has no result with its ID"}, 0},
	"batch first ID":      {"batch", at(0, results(func(a *v1.Applied) { a.Results[0].ID = "x" })), found{"batch": "wrong: a step that modifies a target group that is not there has no problem"}, 0},
	"batch no fault":      {"batch", at(0, results(func(a *v1.Applied) { a.Results[0].Problem = nil })), found{"batch": "wrong: a step that modifies a target group that is not there has no problem"}, 0},
	"batch fails":         {"batch", at(0, results(func(a *v1.Applied) { a.Results[1].Problem = &v1.Problem{Type: v1.ProblemDenied, Detail: "no"} })), found{"batch": "wrong: a step beside one that fails failed, too: no"}, 0},
	"batch pending":       {"batch", at(0, results(func(a *v1.Applied) { a.Results[1].Problem = &pending })), nil, 0},
	"batch throttled":     {"batch", at(0, results(func(a *v1.Applied) { a.Results[2].Problem = &v1.Problem{Type: v1.ProblemThrottled} })), nil, 0},
	"batch, then denied": {"batch", func(i int, c *call) {
		switch i {
		case 0:
			results(func(a *v1.Applied) { a.Results[1].Problem = &pending })(i, c)
		case 1:
			results(capabilitiesTrial(v1.Problem{Type: v1.ProblemDenied, Detail: "no"}))(i, c)
		}
	}, found{"batch": "wrong: the step createTargetGroup failed: no"}, 0},
	"batch not there": {"batch", at(1, observed(func(o *v1.Observed) {
		o.TargetGroups = slices.DeleteFunc(o.TargetGroups, func(g v1.ObservedTargetGroup) bool { return g.ID == "fairlead-check-batch-1" })
	})), found{"batch": "wrong: the target group fairlead-check-batch-1 has a result and is not there"}, 0},
	"late is done": {"timeout", at(1, observed(func(o *v1.Observed) { o.TargetGroups[0].ID += "-late" })), found{"timeout": "wrong: a step whose request said 200ms was carried out, though it arrived after 600ms"}, 0},
	"once is denied later": {"twice-at-once", func(i int, c *call) {
		switch {
		case i < 4:
			results(capabilitiesTrial(pending))(i, c)
		case i < 8:
			results(capabilitiesTrial(v1.Problem{Type: v1.ProblemDenied, Detail: "no"}))(i, c)
		}
	}, found{"client-secret": "", "secrets": "unknown: skipped: no certificate was sent", "twice-at-once": "wrong: the step createLoadBalancer failed: no"}, 7*time.Second - 600*time.Millisecond},
	"not known whether it is left": {"deleted", at(11, observed(func(o *v1.Observed) { o.Key = "x" })), found{
		"deleted": `wrong: of fairlead-check/X may be left: asked for the key "fairlead-check/X", the answer is about "x"`,
	}, 0},
	"a firewall":          {"deleted", firewall(), nil, 0},
	"one step in a call":  {"capabilities", stepsPerApply(1), found{"batch": "ok: its capabilities say that it takes one step in a call"}, 0},
	"two steps in a call": {"capabilities", stepsPerApply(2), nil, 0},
	"the longest answer":  {"capabilities", at(0, func(_ int, c *call) { c.told += strings.Repeat(" ", v1.MaxAnswer-len(c.told)) }), nil, 0},
	"longer than that":    {"capabilities", at(0, func(_ int, c *call) { c.told += strings.Repeat(" ", v1.MaxAnswer+1-len(c.told)) }), found{"client-secret": "", "capabilities": "wrong: GET /capabilities: the answer is longer than 33554432 bytes"}, -wellTook},
	"deletion denied":     {"deleted", at(1, results(capabilitiesTrial(v1.Problem{Type: v1.ProblemDenied, Detail: "no"}))), found{"deleted": "wrong: the step deleteLoadBalancer failed: no"}, 0},
	"it is left":          {"deleted", at(11, observed(func(o *v1.Observed) { o.Exists = true })), found{"deleted": `wrong: of fairlead-check/X there are left: load balancer true, target groups 0, certificates 0, firewall ""`}, 0},
	"group is left":       {"deleted", at(11, observed(func(o *v1.Observed) { o.TargetGroups = make([]v1.ObservedTargetGroup, 1) })), found{"deleted": `wrong: of fairlead-check/X there are left: load balancer false, target groups 1, certificates 0, firewall ""`}, 0},
	"certificate is left": {"deleted", at(11, observed(func(o *v1.Observed) { o.Certificates = make([]v1.ObservedCertificate, 2) })), found{"deleted": `wrong: of fairlead-check/X there are left: load balancer false, target groups 0, certificates 2, firewall ""`}, 0},
	"firewall is left":    {"deleted", at(11, observed(func(o *v1.Observed) { o.Firewall = "x" })), found{"deleted": `wrong: of fairlead-check/X there are left: load balancer false, target groups 0, certificates 0, firewall "x"`}, 0},
	"still listed":        {"deleted", at(12, func(_ int, c *call) { c.asJSON(v1.LoadBalancerList{Keys: []string{c.key}}) }), found{"deleted": `wrong: "fairlead-check/X" is listed: true`}, 0},
}

func TestAnswersThatAreWrong(t *testing.T) {
	for name, a := range answers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, to := direct(t)
				before := callsBefore(t, a.trial)
				p.after = func(c *call) {
					if i := c.n - 1 - before; i >= 0 {
						a.change(i, c)
					}
				}
				began := time.Now()
				findings := unusual(probe.Run(t.Context(), to))
				took := time.Since(began) - wellTook
				want := maps.Clone(said)
				maps.Copy(want, a.want)
				maps.DeleteFunc(want, func(_, detail string) bool { return detail == "" })
				if diff := cmp.Diff(want, findings); diff != "" {
					t.Errorf("findings (-want +got):\n%s", diff)
				}
				if took != a.took {
					t.Errorf("it took %s more", took)
				}
			})
		})
	}
}

// A run that is interrupted at a call says so, and deletes what it made.
func TestInterruptedAtEachCall(t *testing.T) {
	n := 0
	for _, trial := range trials {
		for range trial.calls {
			n++
			synctest.Test(t, func(t *testing.T) {
				p, to := direct(t)
				ctx, end := context.WithCancel(t.Context())
				defer end()
				p.before = func(c *call) error {
					if c.n == n {
						end()
					}
					return nil
				}
				var got, want []string
				for _, f := range probe.Run(ctx, to) {
					got = append(got, strings.TrimPrefix(f.ID, "provider/"))
				}
				for _, other := range trials {
					before := callsBefore(t, other.id)+other.calls < n
					clears := other.id == "deleted" || other.id == "long-calls" || other.id == "secrets"
					if before || clears && n > callsBefore(t, "unknown-op") {
						want = append(want, other.id)
					}
				}
				if diff := cmp.Diff(append(want, "interrupted"), got); diff != "" {
					t.Errorf("call %d, of %s: findings (-want +got):\n%s", n, trial.id, diff)
				}
				if keys, err := p.cloud.List(t.Context()); err != nil || len(keys) > 0 {
					t.Errorf("call %d, of %s: left is %v, error %v", n, trial.id, keys, err)
				}
			})
		}
	}
}

// A step that arrives after the run was interrupted, and all was deleted, makes nothing.
func TestInterruptedWhileAStepIsUnderWay(t *testing.T) {
	for _, trial := range []string{"twice-at-once", "other-step", "true-already", "certificate", "batch"} {
		synctest.Test(t, func(t *testing.T) {
			p, to := direct(t)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			p.travels = func(c *call) time.Duration {
				if c.n != 1+callsBefore(t, trial) {
					return 0
				}
				time.AfterFunc(time.Second/2, end)
				return time.Second
			}
			findings := probe.Run(ctx, to)
			time.Sleep(time.Minute) // until it has arrived
			keys, err := p.cloud.List(t.Context())
			if last := findings[len(findings)-1]; last.ID != "provider/interrupted" || err != nil || len(keys) > 0 {
				t.Errorf("%s: the last finding is %v, left is %v, error %v", trial, last, keys, err)
			}
		})
	}
}

// A run waits for a second, and for five minutes until all is deleted, and says where it is not.
func TestTimesThatAreNotSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, to := direct(t)
		to.Pause = 0
		p.before = func(c *call) error {
			if c.n > callsBefore(t, "deleted") {
				<-c.r.Context().Done()
				return c.r.Context().Err()
			}
			return nil
		}
		began := time.Now()
		findings := unusual(probe.Run(t.Context(), to))
		const want = "wrong: of fairlead-check/X may be left: GET /load-balancer: context deadline exceeded"
		if took := time.Since(began); took != time.Second+600*time.Millisecond+5*time.Minute || findings["deleted"] != want {
			t.Errorf("it took %s, and it says %q", took, findings["deleted"])
		}
	})
}
