package check

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/prove"
	"fairlead.dev/fairlead/test/albsim"
)

// This file runs the proof against endpoints whose answers are not true.

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
func soon() prove.Options {
	o := quick(func() int { return 0 })
	o.Within, o.Clearing = 5*time.Second, 3*time.Second
	return o
}

// What is there is never said to be deleted, whatever AWS answers to deletes and to lists.
func TestProveSaysWhatIsLeft(t *testing.T) {
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
			_, left := prove.Run(t.Context(), at(endpoint, prove.Prefix+"test", func() {}), soon())
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
	o.Within = time.Nanosecond
	cloud := at(endpoint, prove.Prefix+"test", func() {})
	makeGroup(t, cloud)
	if _, left := prove.Run(t.Context(), cloud, o); len(left) > 0 || looks < 3 {
		t.Errorf("%d looks, %v is left", looks, left)
	}
	if diff := cmp.Diff(was, sim.Inventory()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
}

// Told to end, a run ends in the time that was agreed on and that of one call, also where AWS does not answer.
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
			options := optionsAt(endpoint, prove.Prefix+"test", func() {})
			options.Deadlines = aws.Deadlines{Attempt: 300 * time.Millisecond, Call: 600 * time.Millisecond}
			o := soon()
			o.Clearing = 2 * time.Second
			began := time.Now()
			findings, left := prove.Run(ctx, aws.New(options), o)
			if took, most := time.Since(began), o.Clearing+5*time.Second; took > most {
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
