package ingress

import (
	"testing"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

func TestResourceBackends(t *testing.T) {
	const at = " Ingress shop/web spec.rules[0].http.paths[0].backend.resource"
	service := func(name string, weight *int32) v1alpha1.WeightedService {
		return v1alpha1.WeightedService{Name: name, Port: v1alpha1.ServicePort{Number: 80}, Weight: weight}
	}
	rewrite := func(pattern, replacement string) *v1alpha1.Replacement {
		return &v1alpha1.Replacement{Pattern: pattern, Replacement: replacement}
	}
	const ours = "fairlead.dev/Backend/b"
	cases := map[string]struct {
		ref  string
		spec v1alpha1.BackendSpec
		want routing.Action
		told []string
	}{
		"a redirect": {ours, v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Scheme: "https", Port: "443", StatusCode: 301}},
			routing.Action{Redirect: &routing.Redirect{Status: 301, Scheme: "https", Port: "443"}}, nil},
		"a redirect is temporary unless said otherwise": {ours, v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Host: "b.test", Path: "/new", Query: "a=b"}},
			routing.Action{Redirect: &routing.Redirect{Status: 302, Host: "b.test", Path: "/new", Query: "a=b"}}, nil},
		"a fixed response": {ours, v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 410}}, routing.Status(410), nil},
		"a fixed response with a body": {ours, v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 200, Body: "hello"}},
			routing.Action{Fixed: &routing.Fixed{Status: 200, ContentType: "text/plain", Body: "hello"}}, nil},
		"a fixed response with a type": {ours, v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 200, ContentType: "text/html", Body: "<p>"}},
			routing.Action{Fixed: &routing.Fixed{Status: 200, ContentType: "text/html", Body: "<p>"}}, nil},
		"Services by weight": {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", new(int32(9))), service("api", nil)}},
			routing.Action{Forward: []routing.Weighted{{Backend: "shop/api:80", Weight: 1}, {Backend: "shop/web:80", Weight: 9}}}, nil},
		"Services that keep their clients": {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", nil)}, Stickiness: &v1alpha1.Stickiness{DurationSeconds: 60}},
			routing.Action{Forward: []routing.Weighted{{Backend: "shop/web:80", Weight: 1}}, StickySeconds: 60}, nil},
		"a rewrite": {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", nil)}, Rewrite: &v1alpha1.Rewrite{URL: rewrite("^/a", "/b"), Host: rewrite("^(.*)$", "in.$1")}},
			routing.Action{Forward: []routing.Weighted{{Backend: "shop/web:80", Weight: 1}}, Rewrite: &routing.Rewrite{URL: "^/a", URLReplacement: "/b", Host: "^(.*)$", HostReplacement: "in.$1"}}, nil},
		"a rewrite of nothing":            {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", nil)}, Rewrite: &v1alpha1.Rewrite{}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.rewrite", "error Invalid" + at}},
		"a rewrite of a redirect":         {ours, v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Scheme: "https"}, Rewrite: &v1alpha1.Rewrite{URL: rewrite("^/a", "/b")}}, routing.Action{Redirect: &routing.Redirect{Status: 302, Scheme: "https", Port: "443"}, Rewrite: &routing.Rewrite{URL: "^/a", URLReplacement: "/b"}}, nil},
		"a rewrite of a redirect's host":  {ours, v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Scheme: "https"}, Rewrite: &v1alpha1.Rewrite{URL: rewrite("^/a", "/b"), Host: rewrite("^(.*)$", "in.$1")}}, routing.Status(503), []string{"error Invalid Backend shop/b spec", "error Invalid" + at}},
		"a rewrite and a redirect's path": {ours, v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Path: "/c"}, Rewrite: &v1alpha1.Rewrite{URL: rewrite("^/a", "/b")}}, routing.Status(503), []string{"error Invalid Backend shop/b spec", "error Invalid" + at}},
		"a rewrite of a fixed response":   {ours, v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 404}, Rewrite: &v1alpha1.Rewrite{URL: rewrite("^/a", "/b")}}, routing.Status(503), []string{"error Invalid Backend shop/b spec", "error Invalid" + at}},
		"a rewrite with a group too many": {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", nil)}, Rewrite: &v1alpha1.Rewrite{URL: rewrite("^/a", "/$1")}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.rewrite.url", "error Invalid" + at}},
		"a rewrite to what is not a path": {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", nil)}, Rewrite: &v1alpha1.Rewrite{URL: rewrite("^/a", "b")}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.rewrite.url.replacement", "error Invalid" + at}},
		"stickiness of more than a week":  {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", nil)}, Stickiness: &v1alpha1.Stickiness{DurationSeconds: 604801}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.stickiness.durationSeconds", "error Invalid" + at}},
		"one Service twice": {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", new(int32(9))), service("web", nil)}},
			routing.Action{Forward: []routing.Weighted{{Backend: "shop/web:80", Weight: 10}}}, nil},
		"a Service that is missing keeps its share": {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", nil), service("gone", nil)}},
			routing.Action{Forward: []routing.Weighted{{Backend: "shop/gone:80", Weight: 1}, {Backend: "shop/web:80", Weight: 1}}}, []string{"error ServiceMissing" + at}},
		"a Backend that is missing":           {"fairlead.dev/Backend/gone", v1alpha1.BackendSpec{}, routing.Status(503), []string{"error ResourceMissing" + at}},
		"another kind":                        {"fairlead.dev/Bucket/b", v1alpha1.BackendSpec{}, routing.Status(503), []string{"error ResourceUnknown" + at}},
		"another group":                       {"k8s.example.com/Backend/b", v1alpha1.BackendSpec{}, routing.Status(503), []string{"error ResourceUnknown" + at}},
		"a Backend that says nothing":         {ours, v1alpha1.BackendSpec{}, routing.Status(503), []string{"error Invalid Backend shop/b spec", "error Invalid" + at}},
		"a Backend that says two things":      {ours, v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Scheme: "https"}, FixedResponse: &v1alpha1.FixedResponse{StatusCode: 200}}, routing.Status(503), []string{"error Invalid Backend shop/b spec", "error Invalid" + at}},
		"a redirect to itself":                {ours, v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{StatusCode: 301}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.redirect", "error Invalid" + at}},
		"a redirect to a scheme of its own":   {ours, v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Scheme: "ftp"}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.redirect.scheme", "error Invalid" + at}},
		"a redirect to port 0":                {ours, v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Port: "0"}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.redirect.port", "error Invalid" + at}},
		"a redirect to a relative path":       {ours, v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Path: "a"}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.redirect.path", "error Invalid" + at}},
		"a redirect with status 200":          {ours, v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Path: "/a", StatusCode: 200}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.redirect.statusCode", "error Invalid" + at}},
		"a response without a status":         {ours, v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.fixedResponse.statusCode", "error Invalid" + at}},
		"a Service without a name":            {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("", nil)}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.services[0].name", "error Invalid" + at}},
		"a Service and a target group":        {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{Name: "web", TargetGroupARN: someGroup}}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.services[0]", "error Invalid" + at}},
		"a target group with a port":          {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{TargetGroupARN: someGroup, Port: v1alpha1.ServicePort{Number: 80}}}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.services[0]", "error Invalid" + at}},
		"no target group":                     {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{TargetGroupARN: "arn:aws:s3:::bucket"}}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.services[0].targetGroupARN", "error Invalid" + at}},
		"a target group without consent":      {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", nil), {TargetGroupARN: someGroup}}}, routing.Status(503), []string{"error TargetGroupNotAllowed" + at}},
		"a Service without a port":            {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{Name: "web"}}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.services[0].port", "error Invalid" + at}},
		"a negative weight":                   {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", new(int32(-1)))}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.services[0].weight", "error Invalid" + at}},
		"weights that leave nobody to answer": {ours, v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{service("web", new(int32(0)))}}, routing.Status(503), []string{"error Invalid Backend shop/b spec.services", "error Invalid" + at}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config, found := translated(t, nil, aBackend("shop/b", c.spec), aService("shop/web:80"), aService("shop/api:80"),
				anIngress("shop/web", ruled("a.test", path(byPrefix, "/admin", toResource(c.ref)), prefixed("/", "web:80"))))
			compare(t, "action", config.Routes[0].Action, c.want)
			compare(t, "told", told(found), c.told)
			if len(config.Routes) != 2 {
				t.Errorf("%d routes, want the neighbour kept", len(config.Routes))
			}
		})
	}
}

// someGroup is a target group that others made.
const someGroup = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/vms/0123456789abcdef"

// The class allows target groups by their ARNs, in which a star stands for any text.
func TestTheClassAllowsTargetGroups(t *testing.T) {
	for glob, allowed := range map[string]bool{
		someGroup: true, "arn:*": true, "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/vms/*": true, "arn:*:targetgroup/vm/*": false, "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/vms": false,
	} {
		class := aClass("fairlead", v1alpha1.LoadBalancerClassSpec{AllowedTargetGroups: []string{glob}})
		spec := v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{TargetGroupARN: someGroup}}}
		config, found := translated(t, nil, class, aBackend("shop/b", spec), anIngress("shop/web", ruled("a.test", path(byPrefix, "/", toResource("fairlead.dev/Backend/b")))))
		want := routing.Status(503)
		if allowed {
			want = routing.To(someGroup)
		}
		compare(t, glob, config.Routes[0].Action, want)
		if (len(found) == 0) != allowed || config.Backends[someGroup].TargetGroup == someGroup != allowed {
			t.Errorf("%s: told %v, backends %v", glob, told(found), config.Backends)
		}
	}
}
