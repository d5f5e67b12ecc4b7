package accesslog

import (
	"bytes"
	"strings"
	"testing"
)

// These lines are the examples of the documentation, under "Example log entries", with names of
// accounts and hosts of its kind.
const (
	httpLine = `http 2026-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0 2026-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_1234abcd5678ef90 "-" "-" "-"`
	h2Line   = `h2 2026-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 10.0.1.252:48160 10.0.0.66:9000 0.000 0.002 0.000 502 - 5 257 "POST https://10.0.2.105:773/a/b?q=\x22x\x22&v=1 HTTP/2.0" "Mozilla/5.0 \x22(X11)\x22" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337327-72bd00b0343d75b906739c42" "shop.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" 17 2026-07-02T22:22:48.364000Z "waf,authenticate,forward" "-" "-" "10.0.0.66:9000" "-" "-" "-" TID_1234abcd5678ef90 "-" "-" "-" 10.9.8.7 "new field"`
	badLine  = `http 2026-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 [2001:db8::7]:2817 - -1 -1 -1 400 - 0 272 "- http://www.example.com:80- -" "-" - - - "-" "-" "-" - 2026-07-02T22:22:48.364000Z "-" "-" "-" "-" "-" "Ambiguous" "UriSpaceInUri"`
)

func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		line   string
		fields map[Field]string
	}{
		"over HTTP": {httpLine, map[Field]string{
			Type: "http", Time: "2026-07-02T22:23:00.186641Z", LoadBalancer: "app/my-loadbalancer/50dc6c495c0c9188", Client: "192.168.131.39:2817", Target: "10.0.0.1:80",
			RequestProcessingTime: "0.000", TargetProcessingTime: "0.001", ResponseProcessingTime: "0.000", Status: "200", TargetStatus: "200", ReceivedBytes: "34", SentBytes: "366",
			RequestLine: "GET http://www.example.com:80/ HTTP/1.1", UserAgent: "curl/7.46.0", Cipher: "", TLSProtocol: "", TargetGroup: "arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067",
			TraceID: "Root=1-58337262-36d228ad5d99923122bbe354", DomainName: "", CertificateARN: "", RulePriority: "0", RequestCreationTime: "2026-07-02T22:22:48.364000Z", ActionsExecuted: "forward",
			RedirectURL: "", ErrorReason: "", TargetList: "10.0.0.1:80", TargetStatusList: "200", Classification: "", ClassificationReason: "", ConnectionTraceID: "TID_1234abcd5678ef90",
			TransformedHost: "", TransformedURI: "", TransformStatus: "",
		}},
		"with escapes and new fields": {h2Line, map[Field]string{
			RequestLine: `POST https://10.0.2.105:773/a/b?q="x"&v=1 HTTP/2.0`, UserAgent: `Mozilla/5.0 "(X11)"`, RulePriority: "17", DomainName: "shop.example.com", Cipher: "ECDHE-RSA-AES128-GCM-SHA256", TransformStatus: "",
		}},
		"of a request that is not HTTP, without the newest fields": {badLine, map[Field]string{
			Classification: "Ambiguous", ClassificationReason: "UriSpaceInUri", ConnectionTraceID: "", TransformStatus: "", Target: "",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var l Line
			if err := l.Parse([]byte(c.line + "\r")); err != nil {
				t.Fatal(err)
			}
			for field, want := range c.fields {
				if got := l.Text(field); got != want {
					t.Errorf("%s is %q, want %q", field, got, want)
				}
			}
		})
	}
}

func TestWhatLinesSayOfRequests(t *testing.T) {
	for line, want := range map[string]string{
		httpLine: "GET http www.example.com 80 / <> from 192.168.131.39, 0, forward",
		h2Line:   `POST https 10.0.2.105 773 /a/b <q="x"&v=1> from 10.0.1.252, 17, forward after signing in`,
		badLine:  "request: it is no method, URL and version from 2001:db8::7, -1, ",
		replaced(httpLine, "GET http://www.example.com:80/ HTTP/1.1", "GET https://[::1]:443/a b?x?y HTTP/1.1"): "GET https [::1] 443 /a b <x?y> from 192.168.131.39, 0, forward",
		replaced(httpLine, "GET http://www.example.com:80/ HTTP/1.1", "OPTIONS ws://a.example:80* HTTP/1.1"):    "OPTIONS http a.example 80 * <> from 192.168.131.39, 0, forward",
		replaced(httpLine, `"forward"`, `"waf,redirect"`):                                                       "GET http www.example.com 80 / <> from 192.168.131.39, 0, redirect",
		replaced(httpLine, `"forward"`, `"fixed-response"`):                                                     "GET http www.example.com 80 / <> from 192.168.131.39, 0, fixed",
		replaced(httpLine, `"forward"`, `"forward,waf"`):                                                        "GET http www.example.com 80 / <> from 192.168.131.39, 0, ",
	} {
		var l Line
		if err := l.Parse([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if got := summary(&l); got != want {
			t.Errorf("%s:\n got %s\nwant %s", line, got, want)
		}
	}
}

// summary is what a line says, in words.
func summary(l *Line) string {
	r, err := l.Request()
	out := strings.Join([]string{r.Method, r.Scheme, string(r.Host), digits(int(r.Port)), string(r.Path), "<" + string(r.Query) + ">"}, " ")
	if err != nil {
		out = err.Error()
	}
	actions := l.Actions()
	out += " from " + l.ClientAddress().String() + ", " + digits(l.Priority()) + ", " + actions.Final
	if actions.Authenticated {
		out += " after signing in"
	}
	return out
}

func digits(n int) string {
	if n < 0 {
		return "-" + digits(-n)
	}
	if n < 10 {
		return string(rune('0' + n))
	}
	return digits(n/10) + digits(n%10)
}

func replaced(line, old, with string) string { return strings.Replace(line, old, with, 1) }

func TestLinesThatAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"":                                    "number of fields: 0, fewer than the 23 up to actions_executed",
		"a b":                                 "number of fields: 2, fewer than the 23 up to actions_executed",
		`a "b c`:                              "time: the closing quote is missing",
		strings.Split(httpLine, " 0 2026")[0]: "number of fields: 20, fewer than the 23 up to actions_executed",
		replaced(httpLine, " 0 2026", " 1x 2026"):                                                         `matched_rule_priority: "1x" is no priority`,
		replaced(httpLine, "http ", " "):                                                                  "no load balancer",
		replaced(httpLine, " 200 200 ", " 99999999999999999999 200 "):                                     `elb_status_code: "99999999999999999999" is no status`,
		replaced(httpLine, " 200 200 ", " 1000 200 "):                                                     `elb_status_code: "1000" is no status`,
		replaced(httpLine, " 200 200 ", " 200 2x0 "):                                                      `target_status_code: "2x0" is no status`,
		replaced(httpLine, "2026-07-02T22:23", "2026-13-45T22:23"):                                        `time: "2026-13-45T22:23:00.186641Z" is no time`,
		replaced(httpLine, "GET http://www.example.com:80/ HTTP/1.1", "GET"):                              "request: it is no method, URL and version, although a rule has decided",
		replaced(httpLine, "www.example.com:80", "www.example.com:99999"):                                 "request: the URL has no scheme, host and port, although a rule has decided",
		replaced(httpLine, "GET http://www.example.com:80/ HTTP/1.1", "GET ftp://a.example:80/ HTTP/1.1"): "request: the URL has no scheme, host and port, although a rule has decided",
		strings.Split(httpLine, `ward" "-"`)[0]:                                                           "actions_executed: the closing quote is missing",
	} {
		var l Line
		err := l.Parse([]byte(line))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// TestAQuoteInsideAFieldDoesNotEndIt keeps the fields behind in their places where a writer has not
// escaped a quote.
func TestAQuoteInsideAFieldDoesNotEndIt(t *testing.T) {
	var l Line
	if err := l.Parse([]byte(replaced(httpLine, "curl/7.46.0", `a"b\`))); err != nil {
		t.Fatal(err)
	}
	if l.Text(UserAgent) != `a"b\` || l.Priority() != 0 || l.Text(TraceID) == "" {
		t.Errorf("%q, priority %d, trace %q", l.Text(UserAgent), l.Priority(), l.Text(TraceID))
	}
}

func TestUnescape(t *testing.T) {
	for field, want := range map[string]string{
		``: ``, `a`: `a`, `\x22`: `"`, `\x5Cx`: `\x`, `a\x0ab\x`: "a\nb\\x", `\xzz\x4`: `\xzz\x4`, `\\x41`: `\A`, `\xC3\xA9`: "é",
	} {
		if got := string(Unescape([]byte(field))); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
}

func TestParsingAllocatesNothing(t *testing.T) {
	text := []byte(httpLine)
	var l Line
	n := testing.AllocsPerRun(100, func() {
		if err := l.Parse(text); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Request(); err != nil {
			t.Fatal(err)
		}
		l.Priority()
		l.Actions()
	})
	if n != 0 {
		t.Errorf("%v allocations for a line", n)
	}
}

// FuzzLine parses any text, and one that is put together from the fields that were found.
func FuzzLine(f *testing.F) {
	for _, line := range []string{httpLine, h2Line, badLine, `a "b c`, `" "`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var l, again Line
		if l.Parse(text) != nil {
			return
		}
		summary(&l)
		var line []byte
		for field := range Fields {
			if l.Text(field); len(l.Raw(field)) == 0 && field > ActionsExecuted {
				break
			}
			line = append(append(append(line, '"'), l.Raw(field)...), '"', ' ')
		}
		if err := again.Parse(bytes.TrimSuffix(line, []byte(" "))); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for field := range ActionsExecuted {
			if !bytes.Equal(l.Raw(field), again.Raw(field)) {
				t.Errorf("%q: %s was %q, is %q", line, field, l.Raw(field), again.Raw(field))
			}
		}
	})
}

func BenchmarkLine(b *testing.B) {
	text := []byte(h2Line)
	b.SetBytes(int64(len(text)))
	var l Line
	for b.Loop() {
		if err := l.Parse(text); err != nil {
			b.Fatal(err)
		}
		if _, err := l.Request(); err != nil {
			b.Fatal(err)
		}
	}
}
