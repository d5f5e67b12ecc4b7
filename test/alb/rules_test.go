package alb

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file has rules say everything that they can, one thing after the other, and asks the data
// plane whether it does so.

// expected is what a table does with a request, as said below.
func expected(t *precedence.Table, r matching.Request) string {
	query, err := url.ParseQuery(r.Query)
	if err != nil {
		return err.Error()
	}
	header := map[string][]string{}
	for name, value := range r.Headers {
		header[name] = []string{value}
	}
	asked := routing.Request{Port: r.Port, Host: r.Host, Path: r.Path, Method: r.Method, Header: header, Query: query, Source: netip.MustParseAddr(r.Source)}
	switch a := t.Match(asked).Action; {
	case a.Fixed != nil:
		return fmt.Sprintf("%d %s", a.Fixed.Status, a.Fixed.Body)
	case a.Redirect != nil:
		return fmt.Sprintf("%d to %s", a.Redirect.Status, a.Redirect.Location(asked, "http", r.Query))
	default:
		host, target := r.Host, strings.TrimSuffix(r.Path+"?"+r.Query, "?")
		if a.Rewrite != nil {
			host, target = a.Rewrite.Apply(host, target)
		}
		out := fmt.Sprintf("%s%s for %d s to", host, target, a.StickySeconds)
		for _, share := range a.Forward {
			out += fmt.Sprintf(" %s*%d", share.Backend, share.Weight)
		}
		return out
	}
}

// done is an answer in the same words.
func done(a albsim.Answer) string {
	switch {
	case a.Location != "":
		return fmt.Sprintf("%d to %s", a.Status, a.Location)
	case len(a.Forward) == 0:
		return fmt.Sprintf("%d %s", a.Status, a.Body)
	}
	out := fmt.Sprintf("%s%s for %d s to", a.Host, a.URL, a.Sticky)
	for _, share := range a.Forward {
		out += fmt.Sprintf(" %s*%d", share.Tags["fairlead.dev/target-group"], share.Weight)
	}
	return out
}

func TestRulesDoWhatTheySay(t *testing.T) {
	t.Run("described as sent", func(t *testing.T) { rulesDoWhatTheySay(t, albsim.Options{}) })
	t.Run("described otherwise", func(t *testing.T) { rulesDoWhatTheySay(t, albsim.Options{Respelt: true}) })
}

func rulesDoWhatTheySay(t *testing.T, o albsim.Options) {
	service := func(name string, weight int32) v1alpha1.WeightedService {
		return v1alpha1.WeightedService{Name: name, Port: v1alpha1.ServicePort{Number: 80}, Weight: &weight}
	}
	web := []v1alpha1.WeightedService{service("web", 1)}
	both := []v1alpha1.WeightedService{service("next", 1), service("web", 9)}
	url := &v1alpha1.Rewrite{URL: &v1alpha1.Replacement{Pattern: `^/a(/[^?]*)(\?(.*))?$`, Replacement: "$1?was=a&$3"}}
	host := &v1alpha1.Rewrite{Host: &v1alpha1.Replacement{Pattern: `^[^.]*(.*)$`, Replacement: "inside$1"}}
	stages := []struct {
		name       string
		backend    v1alpha1.BackendSpec
		conditions string
	}{
		{"one Service", v1alpha1.BackendSpec{Services: web}, ""},
		{"the URL rewritten", v1alpha1.BackendSpec{Services: web, Rewrite: url}, ""},
		{"the host instead", v1alpha1.BackendSpec{Services: web, Rewrite: host}, ""},
		{"nothing rewritten any more", v1alpha1.BackendSpec{Services: web}, ""},
		{"several Services", v1alpha1.BackendSpec{Services: both}, ""},
		{"with stickiness", v1alpha1.BackendSpec{Services: both, Stickiness: &v1alpha1.Stickiness{DurationSeconds: 60}}, ""},
		{"for longer, rewritten too", v1alpha1.BackendSpec{Services: both, Stickiness: &v1alpha1.Stickiness{DurationSeconds: 600}, Rewrite: url}, ""},
		{"a redirect", v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Scheme: "https", Path: "/new/#{path}", StatusCode: 301}}, ""},
		{"another one", v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Host: "b.example.com", Query: "from=a&#{query}", StatusCode: 302}}, ""},
		{"an answer", v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 503, Body: "closed"}}, ""},
		{"for some", v1alpha1.BackendSpec{Services: web}, `[{"backend": "special", "header": {"X-Canary": ["always"]}}]`},
		{"for others", v1alpha1.BackendSpec{Services: web}, `[{"backend": "special", "method": ["POST"], "query": {"v": ["2", "3?"]}}]`},
		{"from somewhere", v1alpha1.BackendSpec{Services: web}, `[{"backend": "special", "source": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "203.0.113.7"]}]`},
	}
	var requests []matching.Request
	for _, path := range []string{"/", "/a", "/a/b"} {
		for _, query := range []string{"", "v=2", "w=1&V=33"} {
			for _, method := range []string{"GET", "POST"} {
				for _, canary := range []string{"never", "Always"} {
					for _, source := range []string{"10.2.3.4", "203.0.113.7", "8.8.8.8"} {
						requests = append(requests, matching.Request{Port: 80, Host: "special.example.com", Path: path, Query: query,
							Method: method, Headers: map[string]string{"x-canary": canary}, Source: source})
					}
				}
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o)
		w.service("web", 1)
		w.service("next", 1)
		w.service("other", 1)
		ing := w.serve("special", map[string]string{"/": "other", "/a": "other"})
		ing.Spec.Rules[0].HTTP.Paths = append(ing.Spec.Rules[0].HTTP.Paths, networkingv1.HTTPIngressPath{
			Path: "/a/", PathType: ing.Spec.Rules[0].HTTP.Paths[0].PathType, // the longer spelling of /a
			Backend: toResource("special"),
		})
		for _, stage := range stages {
			w.backendNamed("special", stage.backend)
			delete(ing.Annotations, "fairlead.dev/conditions")
			if stage.conditions != "" {
				ing.Annotations["fairlead.dev/conditions"] = stage.conditions
			}
			w.settle()
			time.Sleep(time.Minute)

			w.restart()
			todo, built, err := w.reconcile()
			if err != nil || !todo.Empty() {
				t.Errorf("%s: what is read back is not what was written: %v, %d steps", stage.name, err, len(todo.Steps))
			}
			for _, r := range requests {
				want, got := expected(built.Table, r), done(w.sim.Ask(w.seen.Address.Hostname, r, matching.Reading{}))
				if got != want {
					t.Errorf("%s: %+v gets %s, want %s", stage.name, r, got, want)
				}
			}
		}
	})
}
