package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file checks the answers of a provider's load balancer.

// A Subject is a provider to be checked.
type Subject struct {
	Provider clouds.Local
	Settings string // the provider's own, as JSON; "" for none
	// OtherTargets: the provider may be unable to reach targets on this machine.
	OtherTargets bool
	// StepTimeout limits the time until the load balancer is there, and CleanupTimeout the time to
	// delete it.
	StepTimeout, CleanupTimeout time.Duration
}

// The finding of a provider whose load balancers cannot be requested from here, and its remedy.
const (
	servedID    = "traffic/served"
	servedTitle = "a load balancer with a rule of each kind is made, and reached from here"
	Elsewhere   = "run fairlead demo --once -f DIR --provider NAME=URL on a machine that reaches the " +
		"load balancers, with targets that they reach"
)

// answersWithin is the time after the last step until each answer is the right one.
const answersWithin = 5 * time.Second

// Check makes one load balancer with a rule of each kind that the provider has, requests each, and
// deletes the load balancer, also when the context ends. The key begins with fairlead-check/.
func Check(ctx context.Context, s Subject) []check.Finding {
	can := s.Provider.Capabilities(lb.Class{})
	all := kinds(can)
	found := s.try(ctx, can, all)
	at := slices.IndexFunc(all, func(k kind) bool { return k.id == signInKind })
	if !can.Auth || found[0].State != check.Wrong || ctx.Err() != nil {
		return found
	}
	// A provider with sign-in may reject that by OIDC: it may have one of the other kinds.
	again := s.try(ctx, can, slices.Delete(slices.Clone(all), at, at+1))
	if again[0].State != check.OK {
		return found
	}
	return slices.Insert(again, 1, check.Unsure("traffic/"+signInKind, all[at].title,
		"skipped: without it, the load balancer is made; with it: "+found[0].Detail, ""))
}

// try checks the answers of a load balancer with some kinds of rules.
func (s Subject) try(ctx context.Context, can lb.Capabilities, all []kind) []check.Finding {
	namespace := "check-" + strings.ToLower(rand.Text()[:12])
	d := New(s.Provider, source.Input{Files: []string{manifests.StandardInput}},
		strings.NewReader(manifestsOf(all, can, namespace, s.Settings)), io.Discard)
	defer d.Stop()
	d.pods.health = healthPath(namespace)
	d.pods.each = 1 // a namespace may have few ports of targets on a load balancer
	served := d.serve(ctx, s)
	findings := []check.Finding{served}
	if served.State == check.OK {
		findings = append(findings, d.askAll(ctx, s, all, namespace)...)
	}
	if ctx.Err() != nil {
		findings = []check.Finding{check.Unsure("traffic/interrupted", "the answers of a load balancer",
			"skipped: the run was interrupted", "run it again")}
	}
	const id, title = "traffic/deleted", "what was made for the traffic is deleted"
	if kept := d.removeAll(ctx, s.CleanupTimeout); len(kept) > 0 {
		return append(findings, check.Bad(id, title, strings.Join(kept, "; "),
			"delete it by hand, and let a step that deletes succeed, also where nothing is there"))
	}
	return append(findings, check.Good(id, title, ""))
}

// serve makes the load balancer.
func (d *Demo) serve(ctx context.Context, s Subject) check.Finding {
	ctx, end := context.WithTimeout(ctx, s.StepTimeout)
	defer end()
	err := d.turn(ctx)
	switch {
	case errors.Is(err, errNoTarget):
		return check.Unsure(servedID, servedTitle, "skipped: "+err.Error(), Elsewhere)
	case err != nil:
		return check.Bad(servedID, servedTitle, err.Error(),
			"let each step of a plan succeed, and tell what it made")
	}
	visits, err := d.visits()
	switch {
	case err != nil:
		return check.Bad(servedID, servedTitle, err.Error(), "")
	case len(visits) == 0:
		return check.Bad(servedID, servedTitle, "nothing is served: "+firstProblem(d.diagnostics, ""),
			"give the provider what it needs")
	}
	if why := unreached(ctx, visits); why != "" {
		return check.Unsure(servedID, servedTitle, "skipped: "+why, Elsewhere)
	}
	return check.Good(servedID, servedTitle, fmt.Sprintf("requests: %d", len(visits)))
}

// unreached returns the reason why the address of a load balancer cannot be reached from here. An
// address of this machine can be: if nothing listens there, the answers are wrong.
func unreached(ctx context.Context, visits []visit) string {
	ctx, end := context.WithTimeout(ctx, answersWithin)
	defer end()
	done := map[string]bool{}
	for _, v := range visits {
		if done[v.address] {
			continue
		}
		done[v.address] = true
		if strings.HasPrefix(v.address, ":") {
			return "the provider reports neither a host name nor an address of the load balancer"
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", v.address)
		if err == nil {
			_ = conn.Close() // nothing was sent
			continue
		}
		if !isHere(err) {
			return v.address + " cannot be reached from here: " + err.Error()
		}
	}
	return ""
}

// isHere reports whether a connection failed to an address of this machine alone.
func isHere(err error) bool {
	var failed *net.OpError
	if !errors.As(err, &failed) {
		return false
	}
	to, ok := failed.Addr.(*net.TCPAddr)
	return ok && to.IP.IsLoopback()
}

// askAll requests each route, and returns a finding for each kind, and one for the requests of no
// rule.
func (d *Demo) askAll(
	ctx context.Context, s Subject, all []kind, namespace string,
) []check.Finding {
	visits, err := d.visits()
	if err != nil {
		return []check.Finding{check.Bad(servedID, servedTitle, err.Error(), "")}
	}
	replies := d.replies(ctx, visits)
	var out []check.Finding
	for _, k := range append(all, kind{id: "no-rule", title: "requests that no rule matches are " +
		"answered by the default of the listener"}) {
		ingress := namespace + "/" + k.id
		var mine []int
		for i, v := range visits {
			if v.Ingress == ingress || v.Ingress == "" && k.id == "no-rule" {
				mine = append(mine, i)
			}
		}
		found := check.Good("traffic/"+k.id, k.title, "")
		if len(mine) > 0 {
			found = d.judge(s, k, visits, replies, mine)
		}
		refused := firstProblem(d.diagnostics, ingress)
		if found.State == check.OK && (len(mine) == 0 || refused != "") {
			found = check.Unsure(found.ID, found.Title, "skipped: "+
				cmp.Or(refused, "no request leads to it"), "")
		}
		out = append(out, found)
	}
	return out
}

// replies requests each route. A wrong answer is asked for again for a while: it may be late.
func (d *Demo) replies(ctx context.Context, visits []visit) []reply {
	out := make([]reply, len(visits))
	for i := range out {
		out[i].err = errors.New("it was not asked for")
	}
	wrong := func(r reply) bool { return r.err != nil }
	late := time.After(answersWithin)
	for {
		for i, v := range visits {
			if wrong(out[i]) && ctx.Err() == nil {
				out[i] = v.ask(ctx, &d.pods)
			}
		}
		if !slices.ContainsFunc(out, wrong) {
			return out
		}
		select {
		case <-ctx.Done():
			return out
		case <-late:
			return out
		case <-time.After(pause):
		}
	}
}

// judge returns the finding of a kind, of which some visits are.
func (d *Demo) judge(
	s Subject, k kind, visits []visit, replies []reply, mine []int,
) check.Finding {
	id := "traffic/" + k.id
	var wrong []string
	unasked := !d.pods.asked.Load()
	for _, i := range mine {
		v, r := visits[i], replies[i]
		if r.err == nil {
			continue
		}
		unasked = unasked && v.Outcome.Kind == "service" && 502 <= r.status && r.status <= 504
		wrong = append(wrong, fmt.Sprintf("%s has the wrong answer (%s is right, by rule %s): %s",
			v, v.Outcome, v.Rule, r.err))
	}
	switch {
	case len(wrong) == 0:
		return check.Good(id, k.title, fmt.Sprintf("requests: %d", len(mine)))
	case unasked && (s.OtherTargets || !visits[mine[0]].onLoopback()):
		return check.Unsure(id, k.title, "skipped: neither a request nor a health check arrived at the "+
			"targets on this machine", Elsewhere)
	}
	return check.Bad(id, k.title, first(3, wrong, func(text string) string { return text }),
		"answer requests as the rules that it reports say, by ascending priority")
}

// onLoopback reports whether the load balancer is at a loopback address.
func (v visit) onLoopback() bool {
	host, _, err := net.SplitHostPort(v.address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// firstProblem returns the reason why an Ingress is not served as a whole, of any if it is ""; ""
// for none.
func firstProblem(all []diag.Diagnostic, ingress string) string {
	for _, d := range all {
		if d.Severity == diag.Error && (ingress == "" || d.Source.Object() == ingress) {
			return d.Message
		}
	}
	return ""
}
