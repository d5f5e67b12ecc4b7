package albsim

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file is the data plane: what of the listeners and rules has been deployed, and what that
// does with a request.

// A plane is what a load balancer does. The first change of its listeners and rules starts a
// window; at the end of it everything is deployed as it is then.
type plane struct {
	due  time.Time // when the open window ends; zero if there is none
	live []liveListener
}

type liveListener struct {
	about elb.Listener
	sni   []string
	rules []elb.Rule // by priority
}

// touch notes that the listeners or rules of a load balancer have changed.
func (s *Sim) touch(loadBalancer string) {
	s.touched, s.users = true, nil
	if lb := s.loadBalancers[loadBalancer]; lb != nil && lb.plane.due.IsZero() {
		lb.plane.due = s.now().Add(s.options.Propagation)
	}
}

// advance brings the account to the present: what is due is deployed as it is before the next
// change, and drained targets are gone. It reports whether something was deployed.
func (s *Sim) advance() bool {
	deployed := false
	for _, lb := range s.loadBalancers {
		if p := &lb.plane; !p.due.IsZero() && !s.now().Before(p.due) {
			p.due, p.live = time.Time{}, s.snapshot(lb.arn())
			deployed = true
		}
	}
	if s.drains.IsZero() || s.now().Before(s.drains) {
		return deployed
	}
	s.drains = time.Time{}
	for _, g := range s.targetGroups {
		for key, t := range g.targets {
			switch {
			case !t.draining:
			case s.now().Before(t.drained):
				s.drainsAt(t.drained)
			default:
				delete(g.targets, key)
			}
		}
	}
	return deployed
}

// drainsAt notes when a target is drained.
func (s *Sim) drainsAt(at time.Time) {
	if s.drains.IsZero() || at.Before(s.drains) {
		s.drains = at
	}
}

// follow follows a change of listeners or rules, or something that was deployed: without
// propagation it is live at once, and groups are in use from now on or no more. One that no rule
// names any more is in use for as long as a rule is deployed that does.
func (s *Sim) follow() {
	s.touched, s.users = false, nil
	if s.options.Propagation == 0 {
		s.advance()
	}
	live := s.forwardedTo()
	for _, g := range s.targetGroups {
		used := live[g.arn()] || len(s.usersOf(g.arn())) > 0
		switch {
		case !used:
			g.usedSince = time.Time{}
		case g.usedSince.IsZero():
			g.usedSince = s.now()
		}
	}
}

// forwardedTo are the groups to which requests are forwarded at the moment.
func (s *Sim) forwardedTo() map[string]bool {
	live := map[string]bool{}
	for _, lb := range s.loadBalancers {
		for _, l := range lb.plane.live {
			for _, arn := range forwardsTo(l.about.DefaultActions) {
				live[arn] = true
			}
			for _, r := range l.rules {
				for _, arn := range forwardsTo(r.Actions) {
					live[arn] = true
				}
			}
		}
	}
	return live
}

func (s *Sim) snapshot(loadBalancer string) []liveListener {
	var out []liveListener
	for _, l := range s.listenersOf(loadBalancer) {
		live := liveListener{about: l.about, sni: slices.Clone(l.others)}
		for _, r := range s.rulesOf(l.arn()) {
			live.rules = append(live.rules, r.described())
		}
		out = append(out, live)
	}
	return out
}

// An Answer is what becomes of a request.
type Answer struct {
	WebACL      string // that looked at the request
	Refused     bool   // nothing listens there, or no certificate is one that the client supports
	Certificate string // the ARN that the client is shown
	Rule        string // the ARN of the rule that decided; empty for the default
	Status      int    // of a fixed response, a redirect, or 503 where nobody can be asked
	Body        string
	Location    string
	Forward     []Share // where it is forwarded to
	Sticky      int32   // for how many seconds a client stays with the target group that it got
	Host, URL   string  // as a target gets them
	Auth        string  // what has to be passed first
	Secret      string  // that the load balancer has for it
}

// A Share is a target group that a request may be forwarded to, and those of its targets that may
// get it.
type Share struct {
	Group   string            // by name
	Tags    map[string]string // of the group
	Weight  int32
	Targets []string // address:port, sorted
}

// Ask answers a request to the load balancer with a DNS name.
func (s *Sim) Ask(dnsName string, r matching.Request, how matching.Reading) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.advance() {
		s.follow()
	}
	for _, lb := range s.loadBalancers {
		if !strings.EqualFold(aws.ToString(lb.about.DNSName), dnsName) || s.now().Before(lb.activeAt) {
			continue
		}
		for i := range lb.plane.live {
			if l := &lb.plane.live[i]; aws.ToInt32(l.about.Port) == r.Port && s.net.admits(lb.about.SecurityGroups, r) {
				out := s.answer(l, r, how)
				out.WebACL = s.webACLs[lb.arn()]
				s.log(lb, l, r, out)
				return out
			}
		}
	}
	return Answer{Refused: true}
}

func (s *Sim) answer(l *liveListener, r matching.Request, how matching.Reading) Answer {
	var out Answer
	if r.TLS != (l.about.Protocol == elb.ProtocolEnumHttps) {
		return Answer{Status: 400}
	}
	if r.TLS {
		if out.Certificate = s.certificateFor(l, r); out.Certificate == "" {
			return Answer{Refused: true}
		}
	}
	actions := l.about.DefaultActions
	out.Host, out.URL = r.Host, strings.TrimSuffix(r.Path+"?"+r.Query, "?")
	for _, rule := range l.rules {
		if matching.Match(rule.Conditions, r, how) {
			actions, out.Rule = rule.Actions, aws.ToString(rule.RuleArn)
			out.transform(rule.Transforms)
			break
		}
	}
	for _, a := range actions {
		s.act(&out, a, l, r)
	}
	return out
}

func (s *Sim) act(out *Answer, a elb.Action, l *liveListener, r matching.Request) {
	switch {
	case a.FixedResponseConfig != nil:
		out.Status, _ = strconv.Atoi(aws.ToString(a.FixedResponseConfig.StatusCode)) // checked when it was set
		out.Body = aws.ToString(a.FixedResponseConfig.MessageBody)
	case a.RedirectConfig != nil:
		out.Status, _ = strconv.Atoi(strings.TrimPrefix(string(a.RedirectConfig.StatusCode), "HTTP_")) // it is one of two
		r.Path, r.Query, _ = strings.Cut(out.URL, "?")                                                 // as a transform made it
		out.Location = location(a.RedirectConfig, l, r)
	case a.ForwardConfig != nil:
		for _, g := range a.ForwardConfig.TargetGroups {
			if w := aws.ToInt32(g.Weight); w > 0 {
				out.Forward = append(out.Forward, s.share(aws.ToString(g.TargetGroupArn), w))
			}
		}
		if sticky := a.ForwardConfig.TargetGroupStickinessConfig; sticky != nil && aws.ToBool(sticky.Enabled) {
			out.Sticky = aws.ToInt32(sticky.DurationSeconds)
		}
		if len(out.Forward) == 0 || slices.ContainsFunc(out.Forward, func(s Share) bool { return len(s.Targets) == 0 }) {
			out.Status = 503
		}
	default:
		out.Auth = string(a.Type)
		if a.AuthenticateOidcConfig != nil {
			out.Secret = aws.ToString(a.AuthenticateOidcConfig.ClientSecret)
		}
	}
}

// transform rewrites what a target gets. The rule that does so has been chosen before.
func (a *Answer) transform(transforms []elb.RuleTransform) {
	for _, t := range transforms {
		rewrites, err := rewritesOf(t)
		if err != nil {
			continue // it was checked when it was set
		}
		subject := &a.URL
		if t.Type == elb.TransformTypeEnumHostHeaderRewrite {
			subject = &a.Host
		}
		re := matching.Expression(aws.ToString(rewrites[0].Regex))
		if at := re.FindStringSubmatchIndex(*subject); at != nil {
			with := numbered.ReplaceAllString(aws.ToString(rewrites[0].Replace), "$${$1}")
			*subject = (*subject)[:at[0]] + string(re.ExpandString(nil, with, *subject, at)) + (*subject)[at[1]:]
		}
	}
}

// numbered are the groups in a replacement, which are said with one digit.
var numbered = regexp.MustCompile(`\$(\d)`)

// share is a target group and those of its targets that requests are sent to: the healthy ones, and
// where there are none, those that failed their checks. A target "must pass one health check"
// before requests are sent to it, so that those whose first check is not over get none
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/target-group-health-checks.html).
func (s *Sim) share(arn string, weight int32) Share {
	g := s.targetGroups[arn]
	if g == nil {
		return Share{Group: arn, Weight: weight}
	}
	var healthy, failing []string
	for _, t := range g.targets {
		at := aws.ToString(t.about.Id) + ":" + strconv.Itoa(int(aws.ToInt32(t.about.Port)))
		switch state, _ := s.health(g, t); state {
		case elb.TargetHealthStateEnumHealthy:
			healthy = append(healthy, at)
		case elb.TargetHealthStateEnumUnhealthy:
			failing = append(failing, at)
		}
	}
	if len(healthy) == 0 {
		healthy = failing
	}
	slices.Sort(healthy)
	return Share{Group: g.name(), Tags: maps.Clone(s.tags[arn]), Weight: weight, Targets: healthy}
}

func location(c *elb.RedirectActionConfig, l *liveListener, r matching.Request) string {
	host, _, _ := strings.Cut(r.Host, ":")
	port := strconv.Itoa(int(aws.ToInt32(l.about.Port)))
	fill := strings.NewReplacer("#{protocol}", strings.ToLower(string(l.about.Protocol)), "#{host}", host, "#{port}", port,
		"#{path}", strings.TrimPrefix(r.Path, "/"), "#{query}", r.Query)
	scheme := strings.ToLower(fill.Replace(orUsual(aws.ToString(c.Protocol), "#{protocol}")))
	out := scheme + "://" + fill.Replace(orUsual(aws.ToString(c.Host), "#{host}"))
	if p := fill.Replace(orUsual(aws.ToString(c.Port), "#{port}")); p != map[string]string{"http": "80", "https": "443"}[scheme] {
		out += ":" + p
	}
	out += fill.Replace(orUsual(aws.ToString(c.Path), "/#{path}"))
	if q := fill.Replace(orUsual(aws.ToString(c.Query), "#{query}")); q != "" {
		out += "?" + q
	}
	return out
}

// plainOf is a value as it travels, without what is left out.
func plainOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
