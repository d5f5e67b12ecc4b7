package nginx

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	networking "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/request"
)

// TestStories asks nginx what the golden stories of `dialect: nginx` say: each answer is that of nginx, or a verdict tells why not.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("../golden/nginx-*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("there are %d stories, %v", len(files), err)
	}
	o := Idle(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, class := Cluster{}, v1alpha1.ClusterLoadBalancerClass{}
			for _, document := range strings.Split(section(string(text), "ingress.yaml"), "\n---\n") {
				var ing networking.Ingress
				var other v1alpha1.ClusterLoadBalancerClass
				if err := errors.Join(yaml.Unmarshal([]byte(document), &ing), yaml.Unmarshal([]byte(document), &other)); err != nil {
					t.Fatal(err)
				}
				switch ing.Kind {
				case "Ingress":
					if !slices.ContainsFunc(c.Ingresses, func(i networking.Ingress) bool { return i.Namespace == ing.Namespace }) {
						c.Serve(ing.Namespace, "web", "api", "next", "third")
					}
					c.Ingresses = append(c.Ingresses, ing)
				case "ClusterLoadBalancerClass":
					class = other
				}
			}
			if class.Spec.NGINX != nil {
				c.Config = class.Spec.NGINX.Config
			}
			if err := o.Load(c); err != nil {
				t.Fatal(err)
			}
			asked, err := request.ParseAll(section(string(text), "requests"))
			if err != nil || len(asked) == 0 {
				t.Fatalf("%d requests, %v", len(asked), err)
			}
			for _, a := range asked {
				checkStory(t, &c, class.Spec, o, a)
			}
		})
	}
}

func checkStory(t *testing.T, c *Cluster, class v1alpha1.LoadBalancerClassSpec, o *Oracle, a request.Request) {
	t.Helper()
	r := Request{Method: a.Method, TLS: a.Protocol == "https", Host: a.Routing.Host, Target: a.Routing.Path, From: a.Routing.Source}
	if a.Query != "" {
		r.Target += "?" + a.Query
	}
	for name, values := range a.Routing.Header {
		r.Headers = append(r.Headers, http.CanonicalHeaderKey(name)+": "+values[0])
	}
	answer := o.Ask(r)
	if strings.Contains(a.Want, "*") { // nginx draws one
		if service := strings.TrimSuffix(answer.Pod.Service, ":80"); !strings.Contains(a.Want, service+":80*") {
			t.Errorf("%s, and nginx answers %s", a.Line, answer)
		}
		return
	}
	told := becomes(t, c, class, r, answer)
	if said := storyOf(r, answer); said != protocol.ReplaceAllString(a.Want, "$1") && told == "" || told == "elsewhere" {
		t.Errorf("%s, and nginx answers %s, of which is told %q", a.Line, said, told)
	}
}

// protocol is what a story says of the protocol of Pods.
var protocol = regexp.MustCompile(`(:80)/\w+$`)

// storyOf returns an answer of nginx in the words of stories.
func storyOf(r Request, a Answer) string {
	switch {
	case a.Pod != nil:
		host := a.Pod.Header.Get("Host")
		if host == r.Host && a.Pod.Target == r.Target {
			return a.Pod.Service
		}
		return a.Pod.Service + " as " + host + a.Pod.Target
	case a.Location != "":
		return fmt.Sprintf("redirect %d %s", a.Status, a.Location)
	}
	return a.String()
}

// section returns a section of a story.
func section(text, name string) string {
	_, rest, _ := strings.Cut(text, "-- "+name+" --\n")
	out, _, _ := strings.Cut(rest, "\n-- ")
	return out
}
