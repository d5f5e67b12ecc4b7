package serve_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/serve"
)

// This file tests how requests are read.

func TestRequestsThatAreRefused(t *testing.T) {
	s := serving(t, newCloud(t), serve.Options{})
	steps := func(text string) string { return `{"steps":[{"id":"a","step":` + text + `}]}` }
	rule := func(text string) string {
		return steps(`{"op":"createRule","port":80,"priority":1,"rule":` + text + `}`)
	}
	for name, c := range map[string]struct {
		line, body string
		headers    []string
		status     int
		kind       v1.ProblemType
		says       string
	}{
		"no such path":                 {line: "GET /nothing", status: 404, kind: v1.ProblemMalformed, says: `"/nothing"`},
		"an empty path":                {line: "GET /", status: 404, kind: v1.ProblemMalformed},
		"a slash too many":             {line: "GET /capabilities/", status: 404, kind: v1.ProblemMalformed},
		"no such method":               {line: "DELETE /capabilities", status: 405, kind: v1.ProblemMalformed, says: "GET, not with DELETE"},
		"another version wanted":       {line: "GET /capabilities", headers: []string{"Accept: application/vnd.fairlead.provider+json; version=2"}, status: 406, kind: v1.ProblemVersion, says: "version=2"},
		"another type wanted":          {line: "GET /capabilities", headers: []string{"Accept: text/html, application/json"}, status: 406, kind: v1.ProblemVersion},
		"not this version":             {line: "GET /capabilities", headers: []string{"Accept: " + v1.MediaType + ";q=0"}, status: 406, kind: v1.ProblemVersion},
		"another version sent":         {line: "POST /lookup", body: "{}", headers: []string{"Content-Type: application/vnd.fairlead.provider+json; version=2"}, status: 415, kind: v1.ProblemVersion},
		"another type sent":            {line: "POST /lookup", body: "{}", headers: []string{"Content-Type: application/json"}, status: 415, kind: v1.ProblemVersion},
		"a version left out":           {line: "POST /lookup", body: "{}", headers: []string{"Content-Type: application/vnd.fairlead.provider+json"}, status: 415, kind: v1.ProblemVersion},
		"another compression":          {line: "POST /lookup", body: "{}", headers: []string{"Content-Encoding: br"}, status: 400, kind: v1.ProblemMalformed, says: `"br"`},
		"not compressed":               {line: "POST /lookup", body: "{}", headers: []string{"Content-Encoding: gzip"}, status: 400, kind: v1.ProblemMalformed},
		"no body":                      {line: "POST /lookup", body: " ", status: 400, kind: v1.ProblemMalformed},
		"cut off":                      {line: "POST /lookup", body: `{"webACLs":["a"`, status: 400, kind: v1.ProblemMalformed},
		"something behind it":          {line: "POST /lookup", body: `{} {}`, status: 400, kind: v1.ProblemMalformed},
		"no JSON":                      {line: "POST /lookup", body: `{shield:true}`, status: 400, kind: v1.ProblemMalformed},
		"no UTF-8":                     {line: "POST /lookup", body: "{\"webACLs\":[\"\xff\"]}", status: 400, kind: v1.ProblemMalformed, says: "UTF-8"},
		"a field that is not known":    {line: "POST /lookup", body: `{"network":{"key":"k","zone":"b"}}`, status: 422, kind: v1.ProblemUnknown, says: `"network.zone"`},
		"a field in other letters":     {line: "POST /lookup", body: `{"Shield":true}`, status: 422, kind: v1.ProblemUnknown, says: `"Shield"`},
		"a field twice":                {line: "POST /lookup", body: `{"shield":true,"shield":false}`, status: 400, kind: v1.ProblemMalformed, says: `"shield"`},
		"null":                         {line: "POST /lookup", body: `{"webACLs":null}`, status: 400, kind: v1.ProblemMalformed, says: "null"},
		"a number for a text":          {line: "POST /lookup", body: `{"webACLs":[1]}`, status: 400, kind: v1.ProblemMalformed},
		"a text for a number":          {line: stepsOf(shop), body: steps(`{"op":"deleteListener","port":"80"}`), status: 400, kind: v1.ProblemMalformed, says: "steps.step.port"},
		"a list for an object":         {line: "POST /lookup", body: `[]`, status: 400, kind: v1.ProblemMalformed},
		"a fraction":                   {line: stepsOf(shop), body: steps(`{"op":"deleteListener","port":80.5}`), status: 400, kind: v1.ProblemMalformed},
		"a huge number":                {line: stepsOf(shop), body: steps(`{"op":"deleteListener","port":1e400}`), status: 400, kind: v1.ProblemMalformed},
		"no key":                       {line: "GET /load-balancer", status: 400, kind: v1.ProblemMalformed, says: `"key"`},
		"an empty key":                 {line: "GET /load-balancer?key=", status: 400, kind: v1.ProblemMalformed},
		"two keys":                     {line: "GET /load-balancer?key=a&key=b", status: 400, kind: v1.ProblemMalformed, says: "2 times"},
		"a key that is no UTF-8":       {line: "GET /load-balancer?key=%ff", status: 400, kind: v1.ProblemMalformed, says: "UTF-8"},
		"a timeout of nothing":         {line: "GET /capabilities", headers: []string{"Fairlead-Timeout: 0"}, status: 400, kind: v1.ProblemMalformed},
		"a timeout of years":           {line: "GET /capabilities", headers: []string{"Fairlead-Timeout: 99999999999"}, status: 400, kind: v1.ProblemMalformed},
		"a type without a slash":       {line: "GET /capabilities", headers: []string{"Accept: */*;q"}, status: 406, kind: v1.ProblemVersion},
		"a type of another protocol":   {line: "POST /lookup", body: "{}", headers: []string{"Content-Type: application/json; version=1"}, status: 415, kind: v1.ProblemVersion},
		"a list for a map":             {line: "POST /lookup", body: `{"network":{"subnetTags":["a"]}}`, status: 400, kind: v1.ProblemMalformed},
		"an object for a list":         {line: "POST /lookup", body: `{"webACLs":{}}`, status: 400, kind: v1.ProblemMalformed},
		"an object for a text":         {line: "POST /lookup", body: `{"network":{"key":{}}}`, status: 400, kind: v1.ProblemMalformed},
		"a text for the body":          {line: "POST /lookup", body: `"a"`, status: 400, kind: v1.ProblemMalformed},
		"a step with a long ID":        {line: stepsOf(shop), body: `{"steps":[{"id":"` + strings.Repeat("a", 257) + `","step":{"op":"deleteLoadBalancer"}}]}`, status: 400, kind: v1.ProblemMalformed, says: "257"},
		"a default of no kind":         {line: stepsOf(shop), body: steps(`{"op":"createListener","listener":{"port":80,"protocol":"HTTP","settings":{},"default":{}}}`), status: 400, kind: v1.ProblemMalformed, says: "listener.default"},
		"settings of another group":    {line: stepsOf(shop), body: steps(`{"op":"createTargetGroup","targetGroup":{"id":"g","provider":{"a":1},"settings":{"healthCheck":{}}}}`), status: 422, kind: v1.ProblemUnknown, says: "targetGroup.provider"},
		"a long key":                   {line: "GET /load-balancer?key=" + strings.Repeat("k", 2000), status: 400, kind: v1.ProblemMalformed},
		"a parameter that is unknown":  {line: "GET /load-balancer?key=a&shallow=true", status: 422, kind: v1.ProblemUnknown, says: `"shallow"`},
		"a value of deep":              {line: "GET /load-balancer?key=a&deep=yes", status: 422, kind: v1.ProblemUnknown, says: `"yes"`},
		"a query that is none":         {line: "GET /load-balancer?key=%25zz;", status: 400, kind: v1.ProblemMalformed},
		"a timeout that is none":       {line: "GET /capabilities", headers: []string{"Fairlead-Timeout: soon"}, status: 400, kind: v1.ProblemMalformed, says: `"soon"`},
		"no steps":                     {line: stepsOf(shop), body: `{"steps":[]}`, status: 400, kind: v1.ProblemMalformed, says: "no steps"},
		"too many steps":               {line: stepsOf(shop), body: `{"steps":[` + strings.Repeat("{},", 32) + `{}]}`, status: 413, kind: v1.ProblemTooLarge, says: "33 steps"},
		"a step without an ID":         {line: stepsOf(shop), body: `{"steps":[{"step":{"op":"deleteLoadBalancer"}}]}`, status: 400, kind: v1.ProblemMalformed, says: "steps[0]: its id"},
		"an op that is not known":      {line: stepsOf(shop), body: steps(`{"op":"paintItBlue"}`), status: 422, kind: v1.ProblemUnknown, says: `"paintItBlue"`},
		"a field of another op":        {line: stepsOf(shop), body: steps(`{"op":"deleteLoadBalancer","port":80}`), status: 422, kind: v1.ProblemUnknown, says: "cannot have port"},
		"a field that an op needs":     {line: stepsOf(shop), body: steps(`{"op":"deleteListener"}`), status: 400, kind: v1.ProblemMalformed, says: "no port"},
		"a value that is not known":    {line: stepsOf(shop), body: steps(`{"op":"createListener","listener":{"port":80,"protocol":"QUIC","settings":{},"default":{"kind":"fixed","fixed":{"status":404}}}}`), status: 422, kind: v1.ProblemUnknown, says: `steps[0]: listener.protocol is "QUIC"`},
		"a field of a condition":       {line: stepsOf(shop), body: rule(`{"conditions":[{"field":"moon","values":["full"]}],"action":{"kind":"fixed","fixed":{"status":404}}}`), status: 422, kind: v1.ProblemUnknown, says: `steps[0]: rule.conditions[0].field is "moon"`},
		"a condition without a value":  {line: stepsOf(shop), body: rule(`{"conditions":[{"field":"host"}],"action":{"kind":"fixed","fixed":{"status":404}}}`), status: 400, kind: v1.ProblemMalformed, says: "rule.conditions[0]"},
		"a condition without a field":  {line: stepsOf(shop), body: rule(`{"conditions":[{"values":["a"]}],"action":{"kind":"fixed","fixed":{"status":404}}}`), status: 400, kind: v1.ProblemMalformed},
		"an action that is not there":  {line: stepsOf(shop), body: rule(`{"conditions":[],"action":{"kind":"redirect"}}`), status: 400, kind: v1.ProblemMalformed, says: "rule.action"},
		"an action of two kinds":       {line: stepsOf(shop), body: rule(`{"conditions":[],"action":{"kind":"fixed","fixed":{"status":404},"redirect":{"status":301}}}`), status: 400, kind: v1.ProblemMalformed},
		"a forward to nothing":         {line: stepsOf(shop), body: rule(`{"conditions":[],"action":{"kind":"forward","forward":{"targetGroups":[]}}}`), status: 400, kind: v1.ProblemMalformed},
		"settings of another provider": {line: stepsOf(shop), body: steps(`{"op":"createLoadBalancer","loadBalancer":{"settings":{"provider":{"a":1}}}}`), status: 422, kind: v1.ProblemUnknown, says: "settings.provider"},
		"a state in a request":         {line: targets("PUT", "g"), body: `{"targets":[{"address":"10.0.0.1","port":80,"state":"healthy"}]}`, status: 422, kind: v1.ProblemUnknown, says: "state"},
		"members of no group":          {line: "PUT /load-balancer/targets?key=k", body: `{"targets":[]}`, status: 400, kind: v1.ProblemMalformed, says: `"group"`},
		"too long":                     {line: "POST /lookup", body: `{"webACLs":["` + strings.Repeat("a", v1.MaxRequest) + `"]}`, status: 413, kind: v1.ProblemTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			var message any
			if c.body != "" {
				message = c.body
			}
			got := ask(t, s, c.line, message, c.headers...)
			if got.status != c.status || got.problem.Type != c.kind || !strings.Contains(got.problem.Detail, c.says) {
				t.Errorf("answered with %d %s; want %d, %s and %q", got.status, got.body, c.status, c.kind, c.says)
			}
			if len(got.problem.Detail) > 1000 {
				t.Errorf("the problem has %d bytes", len(got.problem.Detail))
			}
			switch {
			case c.kind == v1.ProblemVersion && !slices.Equal(got.problem.Versions, []int{1}):
				t.Errorf("the versions that are spoken are %v", got.problem.Versions)
			case c.status == 405 && got.header.Get("Allow") != "GET":
				t.Errorf("Allow is %q", got.header.Get("Allow"))
			}
		})
	}
}

// TestWhatOnlyThisProviderUnderstands is reported, and taken.
func TestWhatOnlyThisProviderUnderstands(t *testing.T) {
	c := newCloud(t)
	s := serving(t, c, serve.Options{Software: "test 1", Schemas: v1.SettingsSchemas{LoadBalancer: json.RawMessage(`{"type":"object"}`)}})
	told := read[v1.Capabilities](t, ask(t, s, "GET /capabilities", nil))
	if told.Software != "test 1" || told.SettingsSchema == nil || string(told.SettingsSchema.LoadBalancer) != `{"type":"object"}` || told.Calls.RequestBytes != 0 {
		t.Errorf("%+v", told)
	}
	none := read[v1.Capabilities](t, ask(t, serving(t, c, serve.Options{}), "GET /capabilities", nil))
	if none.SettingsSchema != nil {
		t.Errorf("schemas of a provider that has none: %+v", none.SettingsSchema)
	}
	done(t, s, "a", plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: shop, Settings: routing.Settings{Provider: `{"a":{"b":[null,1,1]}}`}}})
	own := serving(t, c, serve.Options{Schemas: v1.SettingsSchemas{TargetGroup: json.RawMessage(`{"type":"object"}`)}})
	if told := read[v1.Capabilities](t, ask(t, own, "GET /capabilities", nil)); told.SettingsSchema == nil || string(told.SettingsSchema.TargetGroup) != `{"type":"object"}` {
		t.Errorf("the schema of target groups: %+v", told.SettingsSchema)
	}
	done(t, own, "b", plan.CreateTargetGroup{Group: lb.TargetGroup{ID: "g", Service: "shop/web", Port: "80", Protocol: "HTTP", Provider: `{"a":1}`}})
	if got := ask(t, s, "GET /load-balancers", nil); got.body != `{"keys":["`+string(shop)+`"]}` {
		t.Errorf("the keys: %s", got.body)
	}
}

func TestALookCanBeDeep(t *testing.T) {
	for query, want := range map[string]bool{"": false, "&deep=false": false, "&deep=true": true} {
		c := &deepCloud{cloud: newCloud(t)}
		ask(t, serve.New(c, serve.Options{}), observe(shop)+query, nil)
		if c.deep != want {
			t.Errorf("%q: deep is %v", query, c.deep)
		}
	}
}

// A deepCloud notes whether it is looked at deeply.
type deepCloud struct {
	*cloud
	deep bool
}

func (c *deepCloud) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	c.deep = deep
	return c.cloud.Observe(ctx, key, deep)
}

// TestARuleIsDeletedThatNoStepCouldMake has the operator repeat what it was told of a rule that
// another hand made.
func TestARuleIsDeletedThatNoStepCouldMake(t *testing.T) {
	c := newCloud(t)
	s := serving(t, c, serve.Options{})
	odd := lb.Rule{Conditions: []lb.Condition{{Field: "moon"}, {Field: "host", Values: []string{"a"}, Regex: []string{"a"}}}, Action: lb.Action{Kind: "3 actions"}}
	c.beforeApply = func(_ context.Context, _ *lb.Observed, s plan.Step) error {
		if diff := cmp.Diff(plan.DeleteRule{Port: 80, Priority: 7, Rule: odd}, s); diff != "" {
			t.Errorf("the step (-sent +arrived):\n%s", diff)
		}
		return nil
	}
	apply(t, s, "a", plan.DeleteRule{Port: 80, Priority: 7, Rule: odd})
	if c.applies.Load() != 1 {
		t.Error("the step did not arrive")
	}
}

func TestRequestsThatAreAccepted(t *testing.T) {
	s := serving(t, newCloud(t), serve.Options{})
	for name, c := range map[string]struct {
		line, body string
		headers    []string
	}{
		"no Accept":               {line: "GET /capabilities"},
		"any of the kind":         {line: "GET /capabilities", headers: []string{"Accept: application/*"}},
		"a map of any names":      {line: "POST /lookup", body: `{"network":{"key":"k","scheme":"internal","subnetTags":{"any":"text"}}}`},
		"the most steps":          {line: stepsOf(shop), body: `{"steps":[` + many(31) + `{"id":"` + strings.Repeat("b", 256) + `","step":{"op":"deleteLoadBalancer"}}]}`},
		"any answer":              {line: "GET /capabilities", headers: []string{"Accept: */*"}},
		"one of several versions": {line: "GET /capabilities", headers: []string{"Accept: application/vnd.fairlead.provider+json; version=2, application/vnd.fairlead.provider+json;version=\"1\";q=0.5"}},
		"a character set":         {line: "POST /lookup", body: "{}", headers: []string{"Content-Type: Application/vnd.fairlead.provider+json;version=1;charset=utf-8"}},
		"a key of any characters": {line: observe("a b/ü&=?#%"), headers: []string{"Fairlead-Timeout: 1000"}},
		"the longest key":         {line: observe(lb.Key(strings.Repeat("k", 1024)))},
		"a forward":               {line: stepsOf(shop), body: `{"steps":[{"id":"a","step":{"op":"createRule","port":80,"priority":1,"rule":{"conditions":[],"action":{"kind":"forward","forward":{"targetGroups":[{"targetGroup":"g","weight":1}]},"auth":{"kind":"oidc","timeoutSeconds":60}}}}}]}`},
		"not deep":                {line: observe("a") + "&deep=false"},
		"space around":            {line: "POST /lookup", body: " \n{ } \n"},
	} {
		t.Run(name, func(t *testing.T) {
			var message any
			if c.body != "" {
				message = c.body
			}
			if got := ask(t, s, c.line, message, c.headers...); got.status != http.StatusOK || got.header.Get("Content-Type") != v1.MediaType {
				t.Errorf("answered with %d %s as %s", got.status, got.body, got.header.Get("Content-Type"))
			}
		})
	}
}

// many returns so many steps with IDs of their own.
func many(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf(`{"id":"%d","step":{"op":"deleteLoadBalancer"}},`, i)
	}
	return text
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if _, err := zip.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestCompression(t *testing.T) {
	s := serving(t, newCloud(t), serve.Options{MaxRequest: 100_000})
	if got := ask(t, s, "GET /capabilities", nil); got.header.Get("Accept-Encoding") != "gzip" || got.header.Get("Content-Encoding") != "" {
		t.Errorf("capabilities: %v", got.header)
	} else if told := read[v1.Capabilities](t, got); told.Calls.RequestBytes != 100_000 || told.Calls.StepsPerApply < 2 {
		t.Errorf("calls: %+v", told.Calls)
	}
	plain := ask(t, s, "GET /capabilities", nil)
	packed := ask(t, s, "GET /capabilities", nil, "Accept-Encoding: br, gzip;q=0.5")
	if packed.header.Get("Content-Encoding") != "gzip" || len(packed.body) >= len(plain.body) || packed.header.Get("ETag") != plain.header.Get("ETag") {
		t.Errorf("%d bytes of %d: %v", len(packed.body), len(plain.body), packed.header)
	}
	if got := ask(t, s, "GET /capabilities", nil, "Accept-Encoding: gzip;q=0"); got.body != plain.body {
		t.Errorf("what was not to be compressed: %v", got.header)
	}
	if got := ask(t, s, "GET /capabilities", nil, "Accept-Encoding: br;q=1, GZIP"); got.header.Get("Content-Encoding") != "gzip" || got.header.Get("Vary") != "Accept-Encoding" ||
		got.header.Get("Cache-Control") != "no-store" || got.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("what could be compressed: %v", got.header)
	}
	if got := ask(t, s, "GET /load-balancers", nil, "Accept-Encoding: gzip"); got.body != `{"keys":[]}` {
		t.Errorf("a short answer: %q", got.body)
	}
	if got := ask(t, s, "POST /lookup", zipped(t, `{"certificateHosts":["a.test"]}`), "Content-Encoding: gzip"); got.status != http.StatusOK {
		t.Errorf("a compressed request: %d %s", got.status, got.body)
	}
	for length, status := range map[int]int{100_000: http.StatusOK, 100_001: http.StatusRequestEntityTooLarge} {
		if got := ask(t, s, "POST /lookup", zipped(t, "{}"+strings.Repeat(" ", length-2)), "Content-Encoding: gzip"); got.status != status {
			t.Errorf("%d bytes: %d %s", length, got.status, got.body)
		}
	}
	few := serving(t, newCloud(t), serve.Options{MaxRequest: 1000})
	if got := ask(t, few, "POST /lookup", zipped(t, strings.Repeat(" ", 1001)), "Content-Encoding: gzip"); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("1001 bytes of 1000: %d %s", got.status, got.body)
	}
	bomb := zipped(t, `{"webACLs":["`+strings.Repeat("a", 10_000_000)+`"]}`)
	if got := ask(t, s, "POST /lookup", bomb, "Content-Encoding: gzip"); got.status != http.StatusRequestEntityTooLarge || len(bomb) > 100_000 {
		t.Errorf("%d bytes that become 10 MB: %d %s", len(bomb), got.status, got.body)
	}
}

func TestTheToken(t *testing.T) {
	token := "first"
	s := serving(t, newCloud(t), serve.Options{Token: func() string { return token }})
	for header, status := range map[string]int{"": 401, "Bearer second": 401, "Bearer ": 401, "Bearer": 401, "Basic first": 401, "Bearer first": 200, "bearer first": 200} {
		got := ask(t, s, "GET /capabilities", nil, "Authorization: "+header)
		if got.status != status || status == 401 && (got.problem.Type != v1.ProblemDenied || got.header.Get("WWW-Authenticate") != "Bearer") {
			t.Errorf("%q: %d %s", header, got.status, got.body)
		}
	}
	token = "second"
	if got := ask(t, s, "GET /capabilities", nil, "Authorization: Bearer second"); got.status != 200 {
		t.Errorf("the token that is the new one: %d", got.status)
	}
	if got := ask(t, s, "GET /nothing", nil, "Authorization: Bearer first"); got.status != 401 {
		t.Errorf("the token that was: %d", got.status)
	}
	token = ""
	if got := ask(t, s, "GET /capabilities", nil, "Authorization: Bearer "); got.status != 401 {
		t.Errorf("no token where one is asked for: %d", got.status)
	}
}

// TestTheLogHasNoSecrets sends keys and secrets in good requests and bad ones.
func TestTheLogHasNoSecrets(t *testing.T) {
	var logged strings.Builder
	log := funcr.New(func(prefix, args string) { fmt.Fprintln(&logged, prefix, args) }, funcr.Options{Verbosity: 10})
	s := serving(t, newCloud(t), serve.Options{Log: log, Token: func() string { return "hush-token" }})
	auth := "Authorization: Bearer hush-token"
	pair := &lb.KeyPair{Chain: []byte("chain"), Key: []byte("hush-key")}
	importing := step("a", plan.ImportCertificate{Certificate: lb.Certificate{ID: "c", Pair: pair}})
	text, err := json.Marshal(importing)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []any{
		importing, string(text[:len(text)-5]), strings.Replace(string(text), `"chain"`, `"rope"`, 1), strings.Replace(string(text), `"hush-key"`, `["hush-key"]`, 1),
		`{"steps":[{"id":"b","step":{"op":"createListener","listener":{"port":80,"protocol":"HTTPS","default":{"kind":"fixed","fixed":{"status":404},"auth":{"kind":"oidc","clientSecret":"hush-secret"}}}}}]}`,
	} {
		ask(t, s, stepsOf(shop), body, auth, "Request-Id: call-1", "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	}
	ask(t, s, stepsOf(shop), importing, "Authorization: Bearer hush-other")
	if got := logged.String(); strings.Contains(got, "hush") || !strings.Contains(got, `"requestID"="call-1"`) || !strings.Contains(got, "0af7651916cd43dd8448eb211c80319c") {
		t.Errorf("logged:\n%s", got)
	}
}

// TestUrgentCallsSaySo has the provider be told on whose behalf it is called.
func TestUrgentCallsSaySo(t *testing.T) {
	for header, want := range map[string]bool{v1.PriorityUrgent: true, "i, u=0": true, "u=-": false, "u=2": true, "u=3": false, "": false, "i": false, "u=": false, "u=11": false, "u": false} {
		c := newCloud(t)
		var asker providers.Asker
		c.beforeApply = func(ctx context.Context, _ *lb.Observed, _ plan.Step) error {
			asker = providers.AskerOf(ctx)
			return nil
		}
		apply(t, serving(t, c, serve.Options{}), "a", create(), "Priority: "+header)
		if asker.Urgent != want || asker.Key != shop {
			t.Errorf("%q: asked for %s, urgent %v", header, asker.Key, asker.Urgent)
		}
	}
}

func TestTheRequestHasAName(t *testing.T) {
	s := serving(t, newCloud(t), serve.Options{})
	for _, line := range []string{"GET /capabilities", "GET /nothing"} {
		if got := ask(t, s, line, nil, "Request-Id: call-7").header.Get("Request-Id"); got != "call-7" {
			t.Errorf("%s: %q", line, got)
		}
		for _, bad := range []string{"", "two words", "ü", strings.Repeat("a", 200)} {
			if got := ask(t, s, line, nil, "Request-Id: "+bad).header.Get("Request-Id"); got == bad || len(got) < 10 {
				t.Errorf("%s as %q: %q", line, bad, got)
			}
		}
	}
}

func TestCapabilitiesThatAreTheSameAreNotSentAgain(t *testing.T) {
	s := serving(t, newCloud(t), serve.Options{})
	first := ask(t, s, "GET /capabilities", nil)
	tag := first.header.Get("ETag")
	if !strings.HasPrefix(tag, `"`) {
		t.Fatalf("the tag is %s", tag)
	}
	for _, known := range []string{tag, `"other", ` + tag, "W/" + tag, "*"} {
		got := ask(t, s, "GET /capabilities", nil, "If-None-Match: "+known)
		if got.status != http.StatusNotModified || got.body != "" || got.header.Get("ETag") != tag {
			t.Errorf("%s: %d %q", known, got.status, got.body)
		}
	}
	if got := ask(t, s, "GET /capabilities", nil, `If-None-Match: "other"`); got.status != http.StatusOK || got.body != first.body {
		t.Errorf("another tag: %d %q", got.status, got.body)
	}
	if facts := read[v1.Facts](t, ask(t, s, "POST /lookup", "{}")); facts.CapabilitiesETag != tag {
		t.Errorf("facts have the tag %s, and capabilities %s", facts.CapabilitiesETag, tag)
	}
}
