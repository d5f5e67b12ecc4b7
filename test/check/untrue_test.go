package check

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/trials"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/nightly"
)

// This file runs the trial against endpoints whose answers are not true.

// A request is a call of AWS as it is sent.
type request struct {
	*http.Request
	action string
	form   url.Values
	// honest makes the call of the account, and is its answer.
	honest func() *httptest.ResponseRecorder
}

// untrue answers a request, or reports that it leaves this to the account.
type untrue func(w http.ResponseWriter, r request) bool

// serveUntrue serves an account behind answers that are not true.
func serveUntrue(t *testing.T, sim *albsim.Sim, answer untrue) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			return
		}
		form, _ := url.ParseQuery(string(body)) // it is JSON where it is no form
		r := request{Request: in, action: form.Get("Action"), form: form, honest: func() *httptest.ResponseRecorder {
			out, again := httptest.NewRecorder(), in.Clone(in.Context())
			again.Body = io.NopCloser(bytes.NewReader(body))
			sim.ServeHTTP(out, again)
			return out
		}}
		if target := in.Header.Get("X-Amz-Target"); target != "" {
			_, r.action, _ = strings.Cut(target, ".")
		}
		if !answer(w, r) {
			copied(w, r.honest(), func(s string) string { return s })
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// copied answers as the account does, in other words.
func copied(w http.ResponseWriter, answer *httptest.ResponseRecorder, reword func(string) string) bool {
	for name, values := range answer.Header() {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.Code)
	fmt.Fprint(w, reword(answer.Body.String()))
	return true
}

// nothing is an answer that has nothing in it.
func nothing(w http.ResponseWriter, r request) bool {
	if r.Header.Get("X-Amz-Target") != "" {
		fmt.Fprint(w, "{}")
		return true
	}
	fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult></%[1]sResult></%[1]sResponse>", r.action)
	return true
}

// refused is a refusal.
func refused(w http.ResponseWriter, r request, code, message string) bool {
	w.WriteHeader(http.StatusBadRequest)
	if r.Header.Get("X-Amz-Target") != "" {
		fmt.Fprintf(w, `{"__type":"%sException","message":%q}`, code, message)
		return true
	}
	fmt.Fprintf(w, "<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>", code, message)
	return true
}

// soon are options of a run that gives up soon.
func soon() trials.Options {
	o := quick(func() int { return 0 })
	o.Timeout, o.CleanupTimeout = 5*time.Second, 3*time.Second
	return o
}

// What is there is never said to be deleted, whatever AWS answers to deletes and to lists.
func TestProveSaysWhatIsLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes more than 20 s")
	}
	for name, answer := range map[string]untrue{
		"deletes are answered and not made": func(w http.ResponseWriter, r request) bool {
			return strings.HasPrefix(r.action, "Delete") && nothing(w, r)
		},
		"the delete of a load balancer is answered and not made": func(w http.ResponseWriter, r request) bool {
			return r.action == "DeleteLoadBalancer" && nothing(w, r)
		},
		"deletes are denied": func(w http.ResponseWriter, r request) bool {
			return strings.HasPrefix(r.action, "Delete") && refused(w, r, "AccessDenied", "no")
		},
		"load balancers are found by name only, and not deleted": func(w http.ResponseWriter, r request) bool {
			if r.action == "DescribeLoadBalancers" && r.form.Get("Names.member.1") == "" && r.form.Get("LoadBalancerArns.member.1") == "" {
				return nothing(w, r)
			}
			return r.action == "DeleteLoadBalancer" && refused(w, r, "AccessDenied", "no")
		},
		"the tags of certificates are not told": func(w http.ResponseWriter, r request) bool {
			return (r.action == "ListTagsForCertificate" || r.action == "DeleteCertificate") && refused(w, r, "AccessDenied", "no")
		},
		"the tags of certificates are asked for too often": func(w http.ResponseWriter, r request) bool {
			return (r.action == "ListTagsForCertificate" || r.action == "DeleteCertificate") && refused(w, r, "Throttling", "Rate exceeded")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := albsim.New(albsim.Options{})
			endpoint := serveUntrue(t, sim, answer)
			_, left := trials.Run(t.Context(), at(endpoint, trials.Prefix+"test", func() {}), soon())
			if len(left) == 0 {
				t.Errorf("nothing is said to be left; there is %v", sim.Inventory())
			}
		})
	}
}

// A list that answers late does not have what it leaves out taken for deleted.
func TestProveLooksAgain(t *testing.T) {
	t.Parallel()
	sim := albsim.New(albsim.Options{})
	was := sim.Inventory()
	looks := 0
	endpoint := serveUntrue(t, sim, func(w http.ResponseWriter, r request) bool {
		if r.action != "DescribeTargetGroups" || r.form.Get("Names.member.1") != "" || r.form.Get("LoadBalancerArn") != "" || r.form.Get("TargetGroupArns.member.1") != "" {
			return false
		}
		looks++
		return looks == 1 && nothing(w, r)
	})
	o := soon()
	o.Timeout, o.CleanupTimeout = time.Nanosecond, time.Minute
	cloud := at(endpoint, trials.Prefix+"test", func() {})
	makeGroup(t, cloud)
	if _, left := trials.Run(t.Context(), cloud, o); len(left) > 0 || looks < 3 {
		t.Errorf("%d looks, %v is left", looks, left)
	}
	if diff := cmp.Diff(was, sim.Inventory()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
}

// Told to end, a run ends in the time that was agreed on and that of one call, also where AWS does
// not answer.
func TestProveEndsThoughCallsHang(t *testing.T) {
	for name, hangs := range map[string]func(action string, over bool) bool{
		"a call hangs":                       func(action string, _ bool) bool { return action == "CreateRule" },
		"all calls hang after it is told so": func(_ string, over bool) bool { return over },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			sim := albsim.New(albsim.Options{})
			endpoint := serveUntrue(t, sim, func(_ http.ResponseWriter, r request) bool {
				if r.action == "CreateRule" {
					time.AfterFunc(50*time.Millisecond, stop)
				}
				if hangs(r.action, ctx.Err() != nil) {
					<-r.Context().Done()
					return true
				}
				return false
			})
			options := optionsAt(endpoint, trials.Prefix+"test", func() {})
			options.Deadlines = client.Deadlines{Attempt: 300 * time.Millisecond, Call: 600 * time.Millisecond}
			o := soon()
			o.CleanupTimeout = 2 * time.Second
			began := time.Now()
			findings, left := trials.Run(ctx, aws.New(options), o)
			if took, most := time.Since(began), o.CleanupTimeout+5*time.Second; took > most {
				t.Errorf("it took %s of %s", took, most)
			}
			if last := findings[len(findings)-1]; last.ID != "prove/cut-short" || last.State != check.Wrong {
				t.Errorf("it ends with %+v", last)
			}
			if there := sim.Inventory()["load balancers"] > 0; there != (len(left) > 0) {
				t.Errorf("%v is said to be left; there is %v", left, sim.Inventory())
			}
		})
	}
}

// foundOf is what a run finds about an assumption.
func foundOf(findings []check.Finding, id string) check.Finding {
	at := slices.IndexFunc(findings, func(f check.Finding) bool { return f.ID == "prove/assumption/"+id })
	if at < 0 {
		return check.Finding{}
	}
	return findings[at]
}

// tried reports whether a rule is one that an assumption is tried with.
func tried(form url.Values) bool {
	priority, err := strconv.Atoi(form.Get("Priority"))
	return err == nil && priority > 40000
}

// What AWS says counts for no more than it says: a refusal that names something else, an answer
// that is not what is then described, a change that is answered and not made.
func TestProveCountsWhatItSaw(t *testing.T) {
	refusing := func(code, message string) untrue {
		return func(w http.ResponseWriter, r request) bool {
			return r.action == "CreateRule" && tried(r.form) && refused(w, r, code, message)
		}
	}
	described := func(old, other string) untrue {
		return func(w http.ResponseWriter, r request) bool {
			return r.action == "DescribeRules" && copied(w, r.honest(), func(s string) string { return strings.ReplaceAll(s, old, other) })
		}
	}
	for name, c := range nightly.Cases(t, map[string]struct {
		answer untrue
		want   map[string]check.Finding // by assumption; the detail is part of what it says
	}{
		"there is no room for rules": {refusing("TooManyRules", "The maximum number of rules has been reached"), map[string]check.Finding{
			"source-of-parking": {State: check.Unknown, Detail: "not known: TooManyRules"}, "values-of-a-condition": {State: check.Unknown, Detail: "not known: TooManyRules"},
			"regular-expressions": {State: check.Unknown}, "priorities-at-once": {State: check.Unknown}, "reads-lag": {State: check.Unknown}, "account-limits": {State: check.Unknown},
		}},
		"rules are refused for something else": {refusing("ValidationError", "The status code 410 is not valid"), map[string]check.Finding{
			"source-of-parking": {State: check.Unknown}, "values-of-a-condition": {State: check.Unknown}, "regular-expressions": {State: check.Unknown}, "account-limits": {State: check.Unknown},
		}},
		"rules are refused for their source": {refusing("ValidationError", "Condition value '192.0.2.1/32' is not valid"), map[string]check.Finding{
			"source-of-parking": {State: check.Wrong, Detail: "refused: ValidationError"}, "regular-expressions": {State: check.Unknown},
		}},
		"a source is described otherwise": {described("192.0.2.1/32", "0.0.0.0/0"), map[string]check.Finding{
			"source-of-parking":     {State: check.Wrong, Detail: `"192.0.2.1/32"`},
			"values-of-a-condition": {State: check.OK, Detail: "taken"},
		}},
		"a value is described otherwise": {described("v1.prove.invalid", "other.invalid"), map[string]check.Finding{
			"source-of-parking":     {State: check.OK, Detail: "taken"},
			"values-of-a-condition": {State: check.Wrong, Detail: `and described as host ["other.invalid" "v0.prove.invalid"`},
		}},
		"a name is described in another case": {described("X-Prove", "x-prove"), map[string]check.Finding{
			"read-back": {State: check.OK, Detail: "which says the same"},
		}},
		"a header's value is described otherwise": {described(">Two<", ">Three<"), map[string]check.Finding{
			"read-back": {State: check.Wrong, Detail: `"Three"`}, "source-of-parking": {State: check.OK},
		}},
		"rules are answered and not made": {func(w http.ResponseWriter, r request) bool {
			if r.action != "CreateRule" || !tried(r.form) {
				return false
			}
			fmt.Fprintf(w, "<CreateRuleResponse><CreateRuleResult><Rules><member><RuleArn>arn:aws:elasticloadbalancing:eu-west-1:123456789012:listener-rule/app/x/1/2/%[1]s</RuleArn><Priority>%[1]s</Priority></member></Rules></CreateRuleResult></CreateRuleResponse>", r.form.Get("Priority"))
			return true
		}, map[string]check.Finding{
			"source-of-parking": {State: check.Wrong, Detail: "created, and not found"}, "values-of-a-condition": {State: check.Wrong}, "regular-expressions": {State: check.Wrong},
			"priorities-at-once": {State: check.Unknown}, "create-again": {State: check.Wrong}, "reads-lag": {State: check.Wrong, Detail: "a rule is not seen"}, "account-limits": {State: check.Wrong},
		}},
		"answers have no rule": {func(w http.ResponseWriter, r request) bool {
			return r.action == "CreateRule" && tried(r.form) && nothing(w, r)
		}, map[string]check.Finding{
			"source-of-parking": {State: check.Unknown, Detail: "without a rule"}, "values-of-a-condition": {State: check.Unknown}, "reads-lag": {State: check.Unknown},
			"create-again": {State: check.Unknown},
		}},
		"priorities are answered and not changed": {func(w http.ResponseWriter, r request) bool {
			if r.action != "SetRulePriorities" {
				return false
			}
			fmt.Fprint(w, "<SetRulePrioritiesResponse><SetRulePrioritiesResult><Rules>")
			for n := 1; ; n++ {
				member := fmt.Sprintf("RulePriorities.member.%d.", n)
				if r.form.Get(member+"RuleArn") == "" {
					break
				}
				fmt.Fprintf(w, "<member><RuleArn>%s</RuleArn><Priority>%s</Priority></member>", r.form.Get(member+"RuleArn"), r.form.Get(member+"Priority"))
			}
			fmt.Fprint(w, "</Rules></SetRulePrioritiesResult></SetRulePrioritiesResponse>")
			return true
		}, map[string]check.Finding{
			"priorities-at-once": {State: check.Wrong, Detail: "and described as"}, "source-of-parking": {State: check.OK},
		}},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := albsim.New(albsim.Options{})
			was := sim.Inventory()
			o := soon()
			o.CleanupTimeout = 20 * time.Second
			findings, left := trials.Run(t.Context(), at(serveUntrue(t, sim, c.answer), trials.Prefix+"test", func() {}), o)
			for id, want := range c.want {
				if got := foundOf(findings, id); got.State != want.State || !strings.Contains(got.Detail, want.Detail) {
					t.Errorf("%s: %+v, want %s: %s", id, got, want.State, want.Detail)
				}
			}
			if diff := cmp.Diff(was, sim.Inventory()); diff != "" || len(left) > 0 {
				t.Errorf("%v is left; what there is (-before +after):\n%s", left, diff)
			}
		})
	}
}

// A thing that AWS says to have made and has not, or a page of a proxy in the middle of a trial, is
// no success: a scenario that needed it is said to have failed, and the run ends in its time.
func TestProveBelievesNoThingThatIsNotThere(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes more than 20 s")
	}
	arn := func(kind string) string { return "arn:aws:elasticloadbalancing:eu-west-1:123456789012:" + kind }
	forged := map[string]string{
		"CreateLoadBalancer": "<LoadBalancers><member><LoadBalancerArn>" + arn("loadbalancer/app/x/0123456789abcdef") + "</LoadBalancerArn><DNSName>x.example</DNSName><State><Code>active</Code></State></member></LoadBalancers>",
		"CreateTargetGroup":  "<TargetGroups><member><TargetGroupArn>" + arn("targetgroup/x/0123456789abcdef") + "</TargetGroupArn></member></TargetGroups>",
		"CreateListener":     "<Listeners><member><ListenerArn>" + arn("listener/app/x/0123456789abcdef/0123456789abcdef") + "</ListenerArn></member></Listeners>",
	}
	lies := map[string]untrue{}
	for action, answer := range forged {
		lies[action+" is answered and not made"] = func(w http.ResponseWriter, r request) bool {
			if r.action != action {
				return false
			}
			fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult>%[2]s</%[1]sResult></%[1]sResponse>", action, answer)
			return true
		}
	}
	lies["a certificate is answered and not imported"] = func(w http.ResponseWriter, r request) bool {
		if r.action != "ImportCertificate" {
			return false
		}
		fmt.Fprint(w, `{"CertificateArn":"arn:aws:acm:eu-west-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef"}`)
		return true
	}
	var calls atomic.Int64
	lies["a page comes in the middle"] = func(w http.ResponseWriter, r request) bool {
		if calls.Add(1) < 40 || strings.HasPrefix(r.action, "Delete") || strings.HasPrefix(r.action, "Describe") {
			return false
		}
		fmt.Fprint(w, "<html><body>Sign in</body></html>")
		return true
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := albsim.New(albsim.Options{})
			was := sim.Inventory()
			o := soon()
			began := time.Now()
			findings, left := trials.Run(t.Context(), at(serveUntrue(t, sim, lie), trials.Prefix+"test", func() {}), o)
			if took := time.Since(began); took > o.Timeout+o.CleanupTimeout+30*time.Second { // a rule waits 20 s for its listener
				t.Errorf("it took %s", took)
			}
			if !slices.ContainsFunc(findings, func(f check.Finding) bool { return f.State == check.Wrong }) {
				t.Errorf("nothing is wrong: %+v", findings)
			}
			if diff := cmp.Diff(was, sim.Inventory()); diff != "" && len(left) == 0 {
				t.Errorf("nothing is said to be left; what there is (-before +after):\n%s", diff)
			}
		})
	}
}
