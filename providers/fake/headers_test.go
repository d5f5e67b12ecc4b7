package fake_test

import (
	"net/http"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// The attributes of a listener are headers of all answers, in place of those that targets send.
func TestAnswersHaveTheHeadersOfTheListener(t *testing.T) {
	cloud := serve(t)
	target := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=1")
		w.Header().Set("X-Frame-Options", "DENY")
	}))
	for value, want := range map[string]map[string]string{"": {"/": "", "/pod": "max-age=1"}, "max-age=2": {"/": "max-age=2", "/pod": "max-age=2"}} {
		listener := http80(rule("- /pod", forward("web", 1)))
		if value != "" {
			listener.Settings.Attributes = map[string]string{"routing.http.response.strict_transport_security.header_value": value,
				"routing.http.response.server.enabled": "true"}
		}
		listener.Digest = lb.DigestOf(listener.Settings)
		o := program(t, cloud, loadBalancer(shop, []lb.TargetGroup{group("web", target)}, listener))
		for path, header := range want {
			response, err := client(t, cloud, o, 80, "HTTP/1.1").Get("http://shop.example.com" + path)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if got := response.Header.Values("Strict-Transport-Security"); len(got) > 1 || response.Header.Get("Strict-Transport-Security") != header {
				t.Errorf("with %q, %s has %q, want %q", value, path, got, header)
			}
			if path == "/pod" && response.Header.Get("X-Frame-Options") != "DENY" {
				t.Errorf("with %q, the target's own header is %q", value, response.Header.Get("X-Frame-Options"))
			}
		}
	}
}

// A redirect has the path and the query that a rewrite in front of it makes.
func TestRedirectsAreRewritten(t *testing.T) {
	cloud := serve(t)
	o := program(t, cloud, loadBalancer(shop, nil, http80(rule("- /old/*", lb.FromRouting(routing.Action{
		Redirect: &routing.Redirect{Status: 302, Host: "new.example.com"}, Rewrite: &routing.Rewrite{URL: `^/old/([^?]*)`, URLReplacement: "/new/$1"}})))))
	for path, want := range map[string]string{"/old/a": "http://new.example.com/new/a", "/old/a?b=c": "http://new.example.com/new/a?b=c"} {
		response, err := client(t, cloud, o, 80, "HTTP/1.1").Get("http://shop.example.com" + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := response.Header.Get("Location"); got != want {
			t.Errorf("%s leads to %q, want %q", path, got, want)
		}
	}
}
