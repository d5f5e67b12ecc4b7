package serve_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/serve"
)

// FuzzRequest sends any request: it is answered soon, as the protocol says, and the provider neither panics nor ends.
//
//	go test ./providers/serve -run '^$' -fuzz FuzzRequest
func FuzzRequest(f *testing.F) {
	text := func(message any) string {
		out, err := json.Marshal(message)
		if err != nil {
			f.Fatal(err)
		}
		return string(out)
	}
	key := "key=" + url.QueryEscape(string(shop))
	add := func(method, path, query, body string) {
		f.Add(method, path, query, body, v1.MediaType, v1.MediaType, "", "1000")
	}
	for i, s := range life() {
		add("POST", v1.PathSteps, key, text(step(string(rune('a'+i)), s)))
	}
	for _, s := range []plan.Step{
		plan.RegisterTargets{Group: "g"}, plan.AwaitTargets{Group: "g"}, plan.DeleteTargetGroup{Group: "g"}, plan.DeleteListener{Port: 80},
		plan.AttachCertificate{Port: 80, Certificate: "c"}, plan.SetWebACL{WebACL: "w"}, plan.ShieldLoadBalancer{Shield: "on"}, plan.DeleteFirewall{},
		plan.DeleteRule{Port: 80, Priority: 10}, plan.ModifyTargetGroup{}, plan.ReplaceCertificate{Old: "c"}, plan.DeleteLoadBalancer{},
	} {
		add("POST", v1.PathSteps, key, text(step("z", s)))
	}
	add("POST", v1.PathLookup, "", text(v1.Questions{CertificateHosts: []string{"a.test"}, Network: &v1.Network{Key: "k"}}))
	add("PUT", v1.PathTargets, key+"&group=g", `{"targets":[{"address":"10.0.0.1","port":80}]}`)
	add("GET", v1.PathTargets, key+"&group=g", "")
	add("GET", v1.PathLoadBalancer, key+"&deep=true", "")
	add("POST", v1.PathLookup, "", `{"webACLs":`+strings.Repeat("[", 1000))
	add("POST", v1.PathSteps, "key=%ff;", `{"steps":[{"id":"a","step":{"op":"createLoadBalancer","loadBalancer":{"settings":{"provider":{"a":[[[]]]}}}}}]}`)
	f.Add("POST", v1.PathLookup, "", "\x1f\x8b", v1.MediaType, "*/*;q=0,a/b;c=\"", "gzip", "-1")
	f.Fuzz(func(t *testing.T, method, path, query, body, accept, contentType, encoding, timeout string) {
		r := &http.Request{
			Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{}, Body: http.NoBody, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}
		if body != "" {
			r = r.WithContext(t.Context())
			r.Body = readCloser{strings.NewReader(body)}
		}
		for name, value := range map[string]string{"Accept": accept, "Content-Type": contentType, "Content-Encoding": encoding, "Fairlead-Timeout": timeout} {
			r.Header.Set(name, value)
		}
		s := serve.New(newCloud(t), serve.Options{})
		if strings.HasPrefix(path, "/load-balancer") { // so that steps find something
			for i, do := range life() {
				apply(t, s, string(rune('A'+i)), do)
			}
		}
		w := httptest.NewRecorder()
		begun := time.Now()
		s.ServeHTTP(w, r)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("answered after %s", took)
		}
		if known := []int{200, 204, 304, 400, 403, 404, 405, 406, 409, 413, 415, 422, 429, 500}; !slices.Contains(known, w.Code) {
			t.Errorf("answered with %d", w.Code)
		}
		if strings.Contains(w.Body.String(), "panicked") {
			t.Errorf("the provider panicked: %s", w.Body)
		}
		if w.Code >= 400 {
			var p v1.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Type == "" || p.Status != w.Code || len(p.Detail) > 4096 {
				t.Errorf("the problem is %s", w.Body)
			}
		}
	})
}

// A readCloser is a body.
type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }
