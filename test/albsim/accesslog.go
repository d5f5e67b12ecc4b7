package albsim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file writes access logs: a line for each request that is asked
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html).
// It is written from that page, and shares nothing with what reads logs.

// signedIn is the cookie of a user who is signed in.
const signedIn = "AWSELBAuthSessionCookie"

// log writes the line of a request, if the options ask for it.
func (s *Sim) log(b *loadBalancer, l *liveListener, r matching.Request, a Answer) {
	if s.options.AccessLog == nil {
		return
	}
	s.logged++
	done := s.whatWasDone(l, r, a)
	scheme, kind := "http", "http"
	cipher, protocol, domain, certificate := "-", "-", "-", "-"
	if r.TLS {
		scheme, kind = "https", []string{"https", "h2"}[s.logged%2]
		cipher, protocol, domain = "ECDHE-RSA-AES128-GCM-SHA256", "TLSv1.3", orUsual(r.SNI, "-")
		certificate = orUsual(a.Certificate, "-")
	}
	_, name, _ := strings.Cut(b.arn(), ":loadbalancer/")
	host, _, _ := strings.Cut(r.Host, ":")
	uri := r.Path
	if r.Query != "" {
		uri += "?" + r.Query
	}
	request := fmt.Sprintf("%s %s://%s:%d%s HTTP/1.1", orUsual(r.Method, http.MethodGet), scheme, host, aws.ToInt32(l.about.Port), uri)
	if done.malformed {
		request = fmt.Sprintf("- %s://%s:%d- -", scheme, host, aws.ToInt32(l.about.Port))
	}
	client := orUsual(r.Source, "192.0.2.1") + ":4711"
	if strings.Contains(r.Source, ":") {
		client = "[" + r.Source + "]:4711"
	}
	at := s.now().UTC().Format("2006-01-02T15:04:05.000000Z")
	fields := []string{
		kind, at, name, client, done.target, done.processing, done.processing, done.processing, strconv.Itoa(done.status), done.targetStatus, "34", "366",
		quoted(request), quoted(orUsual(r.Headers["user-agent"], "-")), cipher, protocol, done.group,
		quoted(fmt.Sprintf("Root=1-%08x-%024x", s.now().Unix(), s.logged)), quoted(domain), quoted(certificate), done.priority, at,
		quoted(done.actions), quoted(orUsual(a.Location, "-")), quoted(done.reason), quoted(done.target), quoted(done.targetStatus), quoted("-"), quoted("-"),
		fmt.Sprintf("TID_%016x", s.logged), quoted("-"), quoted("-"), quoted("-"),
	}
	s.options.AccessLog(strings.Join(fields, " "))
}

// A loggedAnswer is what a line says of the answer.
type loggedAnswer struct {
	malformed                   bool
	priority, actions, reason   string
	status                      int
	group, target, targetStatus string
	processing                  string
}

func (s *Sim) whatWasDone(l *liveListener, r matching.Request, a Answer) loggedAnswer {
	out := loggedAnswer{priority: "0", actions: "-", reason: "-", status: a.Status, group: "-", target: "-", targetStatus: "-", processing: "0.001"}
	if r.TLS != (l.about.Protocol == elb.ProtocolEnumHttps) {
		out.malformed, out.priority, out.processing = true, "-", "-1"
		return out
	}
	for _, rule := range l.rules {
		if aws.ToString(rule.RuleArn) == a.Rule {
			out.priority = aws.ToString(rule.Priority)
		}
	}
	var actions []string
	if a.WebACL != "" {
		actions = append(actions, "waf")
	}
	if a.Auth != "" && !strings.HasPrefix(a.Auth, "jwt") {
		actions = append(actions, "authenticate")
		if !strings.Contains(r.Headers["cookie"], signedIn) {
			out.status, out.actions = http.StatusFound, strings.Join(actions, ",")
			return out
		}
	}
	switch {
	case a.Location != "":
		actions = append(actions, "redirect")
	case len(a.Forward) > 0:
		actions = append(actions, "forward")
		share := a.chosen(s.logged)
		out.group = s.groupARN(share.Group)
		if len(share.Targets) == 0 {
			out.status = http.StatusServiceUnavailable
			break
		}
		out.target, out.status = share.Targets[s.logged%len(share.Targets)], []int{200, 200, 200, 404, 500}[s.logged%5]
		out.targetStatus = strconv.Itoa(out.status)
	case a.Status != 0:
		actions = append(actions, "fixed-response")
	}
	out.actions = strings.Join(actions, ",")
	return out
}

// chosen is the share that gets a request, by weight.
func (a Answer) chosen(turn int) Share {
	total := 0
	for _, share := range a.Forward {
		total += int(share.Weight)
	}
	turn %= total
	for _, share := range a.Forward {
		if turn -= int(share.Weight); turn < 0 {
			return share
		}
	}
	return a.Forward[0]
}

func (s *Sim) groupARN(name string) string {
	for arn, g := range s.targetGroups {
		if g.name() == name {
			return arn
		}
	}
	return "-"
}

// quoted is a text between quotes. Quotes in it, and what cannot be printed, are written as \x22.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '"' {
			fmt.Fprintf(&b, `\x%02X`, c)
			continue
		}
		b.WriteByte(c)
	}
	b.WriteByte('"')
	return b.String()
}
