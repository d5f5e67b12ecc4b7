package changes

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/cli/comparison"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/fake"
)

// This file compares what diff says of pairs of directories with the answers to single requests.

var (
	seed  = flag.Uint64("seed", 0, "seed of random manifests; 0 takes a new one")
	pairs = flag.Int("pairs", 300, "how many pairs of directories are compared")
)

// TestDiffAgreesWithTheDocumentation: each request whose answer changes is in a class that diff
// lists, and each class has a request whose answer changes, with these answers. Requests are drawn
// from the hosts and paths of both directories. Those that an Ingress with conditions or globs may
// answer are left out.
func TestDiffAgreesWithTheDocumentation(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	if testing.Short() {
		*pairs = min(*pairs, 60)
	}
	t.Logf("-seed=%d", *seed)
	var seen tally
	dir := t.TempDir()
	old, now := filepath.Join(dir, "old"), filepath.Join(dir, "now")
	for n := range *pairs {
		m := maker{rand.New(rand.NewPCG(*seed, uint64(n)))}
		p := pair{}
		p.before = m.state()
		p.after = m.changed(p.before)
		p.before.write(t, old, m.Rand)
		p.after.write(t, now, m.Rand)
		if err := p.compare(diffOf(t, old, now)); err != nil {
			t.Fatalf("-seed=%d, pair %d: %v\n%s\n%s", *seed, n, err, p.before, p.after)
		}
		if seen.add(p.seen); n%5000 == 4999 {
			t.Logf("%d pairs, %+v", n+1, seen)
		}
	}
	t.Logf("%d pairs, %+v", *pairs, seen)
	if *pairs >= 100 && (seen.Changed == 0 || seen.Same == 0 || seen.Classes == 0 || seen.Conflicts == 0) {
		t.Errorf("too little was compared: %+v", seen)
	}
}

// A tally counts what was compared.
type tally struct{ Changed, Same, Classes, LeftOut, Conflicts int }

func (t *tally) add(o tally) {
	t.Changed += o.Changed
	t.Same += o.Same
	t.Classes += o.Classes
	t.LeftOut += o.LeftOut
	t.Conflicts += o.Conflicts
}

// diffOf runs the command.
func diffOf(t *testing.T, old, now string) (comparison.Report, int) {
	t.Helper()
	var out, complaints bytes.Buffer
	with := cli.Providers{Clouds: map[string]clouds.Cloud{"fake": fake.Plug()}}
	code := cli.Run(t.Context(), []string{"diff", old, now, "-o", "json"}, with,
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &complaints})
	var report comparison.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), complaints.String())
	}
	return report, code
}

// A pair is two directories.
type pair struct {
	before, after state
	seen          tally
}

// compare returns what the report has wrong.
func (p *pair) compare(report comparison.Report, code int) error {
	if len(report.Undecided) > 0 || len(report.Problems) > 0 {
		return fmt.Errorf("undecided %v, problems %v", report.Undecided, report.Problems)
	}
	listed := map[string][]compare.Change{}
	for _, c := range report.Changes {
		listed[string(c.LoadBalancer)] = append(listed[string(c.LoadBalancer)], c)
	}
	changed := false
	for key, of := range p.keys() {
		for _, c := range listed[key] {
			if err := p.sound(of, c); err != nil {
				return err
			}
		}
		for _, r := range p.edges() {
			differs, err := p.complete(of, r, listed[key])
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			changed = changed || differs
		}
		delete(listed, key)
	}
	if len(listed) > 0 {
		return fmt.Errorf("load balancers that there are not: %v", listed)
	}
	nothing := len(report.Changes) == 0 && len(report.Exposures) == 0
	if len(report.NotCompared) > 0 { // no Ingress is served in either
		if code != 1 || changed {
			return fmt.Errorf("the exit code is %d: %v", code, report.NotCompared)
		}
		return nil
	}
	if (code == 0) != nothing || code == 0 && changed || code == 1 {
		return fmt.Errorf("the exit code is %d", code)
	}
	return nil
}

// both are the tables of a load balancer.
type both struct{ before, after *table } // nil where there is none

// keys are the load balancers of either directory.
func (p *pair) keys() map[string]both {
	out := map[string]both{}
	for key, all := range p.before.balancers() {
		t := p.before.table(all)
		out[key] = both{before: &t}
	}
	for key, all := range p.after.balancers() {
		t := p.after.table(all)
		out[key] = both{out[key].before, &t}
	}
	return out
}

func (s state) table(all []*networkingv1.Ingress) table {
	return table{all, owners(all), s.shared}
}

// answerOf returns the answer of a table. It reports false where an Ingress with conditions or globs
// may answer.
func answerOf(t *table, r request) (reply, bool) {
	if t == nil {
		return closed, true
	}
	plain := !slices.ContainsFunc(t.all, func(ing *networkingv1.Ingress) bool {
		return special(ing) && slices.ContainsFunc(hostsOf(ing), func(h string) bool {
			return h == r.host || covers(h, r.host)
		})
	})
	return t.answer(r), plain
}

// special reports whether the matcher does not know the paths of an Ingress.
func special(ing *networkingv1.Ingress) bool {
	if ing.Annotations["fairlead.dev/conditions"] != "" {
		return true
	}
	return slices.ContainsFunc(ing.Spec.Rules, func(r networkingv1.IngressRule) bool {
		return slices.ContainsFunc(r.HTTP.Paths, func(p networkingv1.HTTPIngressPath) bool {
			return *p.PathType == specific && strings.ContainsAny(p.Path, "*?")
		})
	})
}

// complete returns an error if a request that is answered otherwise is in no class.
func (p *pair) complete(of both, r request, listed []compare.Change) (differs bool, err error) {
	before, plainBefore := answerOf(of.before, r)
	after, plainAfter := answerOf(of.after, r)
	if !plainBefore || !plainAfter {
		p.seen.LeftOut++
		return false, nil
	}
	in := func(c compare.Change) bool {
		host := string(c.Host)
		return c.Port == r.port && same(c.Before, before) && same(c.After, after) &&
			(host == "" || host == r.host || covers(host, r.host))
	}
	differs = before.differs(after)
	has := slices.ContainsFunc(listed, in)
	switch {
	case differs && !has:
		return true, fmt.Errorf("%+v is missing: %+v, then %+v", r, before, after)
	case !differs && has:
		return false, fmt.Errorf("%+v is in a class, and answered the same: %+v", r, before)
	case differs:
		p.seen.Changed++
	default:
		p.seen.Same++
	}
	if before.source != after.source {
		p.seen.Conflicts++
	}
	return differs, nil
}

// same reports whether an answer is a reply.
func same(a compare.Answer, r reply) bool {
	if r == closed {
		return strings.HasPrefix(a.Action, "no ")
	}
	return a.Action == r.action && a.Source == r.source
}

// sound returns an error if the request of a class is not answered as the class says.
func (p *pair) sound(of both, c compare.Change) error {
	p.seen.Classes++
	at, err := url.Parse(c.Request.URL)
	if err != nil {
		return err
	}
	r := request{c.Port, at.Hostname(), at.Path}
	before, plainBefore := answerOf(of.before, r)
	after, plainAfter := answerOf(of.after, r)
	if !plainBefore || !plainAfter {
		p.seen.LeftOut++
		return nil
	}
	if !same(c.Before, before) || !same(c.After, after) || !before.differs(after) {
		return fmt.Errorf("%s: %+v is answered by %+v, then %+v, and not by %+v, then %+v",
			c.LoadBalancer, r, before, after, c.Before, c.After)
	}
	return nil
}

// edges are requests at the hosts and paths of both directories, and close to them.
func (p *pair) edges() []request {
	hosts := map[string]bool{"other.example": true, "t.test": true}
	paths := map[string]bool{"/": true, "/zz": true}
	for _, ing := range slices.Concat(p.before.ingresses, p.after.ingresses) {
		for _, rule := range ing.Spec.Rules {
			if suffix, is := strings.CutPrefix(rule.Host, "*"); is {
				hosts["w"+suffix], hosts["v.w"+suffix] = true, true
			} else if rule.Host != "" {
				hosts[rule.Host], hosts["x."+rule.Host] = true, true
			}
			for _, path := range rule.HTTP.Paths {
				bare := strings.TrimSuffix(path.Path, "/")
				for _, edge := range []string{path.Path, bare, bare + "/", bare + "x", bare + "/x"} {
					if strings.HasPrefix(edge, "/") && !strings.ContainsAny(edge, "*?") {
						paths[edge] = true
					}
				}
			}
		}
	}
	var out []request
	for host := range hosts {
		for path := range paths {
			out = append(out, request{80, host, path}, request{443, host, path})
		}
	}
	return out
}

// String prints the manifests for a report of a failure.
func (s state) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "shared: %t\n", s.shared)
	for _, ing := range s.ingresses {
		text, _ := json.Marshal(ing)
		fmt.Fprintf(&b, "%s\n", text)
	}
	return b.String()
}
