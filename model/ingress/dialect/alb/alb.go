// Package alb reads Ingresses that were written for the AWS Load Balancer Controller. Facts about it are
// from its source at 225f44568848 (v3.5), which comments name by file below pkg/ingress, and from its
// documentation, docs/guide/ingress/annotations.md.
package alb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/settings"
)

// Prefix is the beginning of the controller's annotations.
const Prefix = "alb.ingress.kubernetes.io/"

// Controller is the spec.controller of the controller's IngressClasses:
// https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/ingress/ingress_class/
const Controller = "ingress.k8s.aws/alb"

// DefaultClass is the name of the IngressClass that the controller's chart makes:
// https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/helm/aws-load-balancer-controller/values.yaml
const DefaultClass = "alb"

// Defaults returns a class with the controller's defaults, where the class says nothing.
func Defaults(c v1alpha1.LoadBalancerClassSpec) v1alpha1.LoadBalancerClassSpec {
	or := func(value *string, otherwise string) {
		if *value == "" {
			*value = otherwise
		}
	}
	or(&c.Precedence, v1alpha1.PrecedenceOrder)
	or(&c.ImplementationSpecific, v1alpha1.ReadGlob)
	or(&c.TargetType, v1alpha1.TargetTypeInstance)
	c.Order = true
	// Where hosts have owners, a wildcard that spans labels would answer for those of others.
	if c.Precedence == v1alpha1.PrecedenceOrder && (len(c.Groups) == 0 || c.Hosts == v1alpha1.HostsShared) {
		or(&c.WildcardHosts, v1alpha1.WildcardAnyLabels)
	}
	return c
}

// A reader reads one Ingress.
type reader struct {
	dialect.Input
	out      dialect.Reading
	ports    ports
	backends map[string]v1alpha1.BackendSpec
	when     []entry
	// what many paths may name is read once
	known      map[networkingv1.IngressServiceBackend]knownBackend
	conditions map[string]made // by backend
	size       int             // bytes of the rules that were written
	// what may be changed, and what finds requests that show it
	pending       map[string][]change // by backend
	changes       []change
	hostRedirects []hostRedirect
	written       []writtenPath
	examples      map[string]string // hosts, by their expression
	tried         int
	// read are the annotations that belong to a backend of the Ingress, and were read with it
	read map[string]bool
}

// Read reads an Ingress.
func Read(in dialect.Input) dialect.Reading {
	r := &reader{Input: in, backends: map[string]v1alpha1.BackendSpec{}, read: map[string]bool{},
		known: map[networkingv1.IngressServiceBackend]knownBackend{}, conditions: map[string]made{},
		pending: map[string][]change{}, examples: map[string]string{},
		out: dialect.Reading{Origins: map[string]string{}, Fields: map[string]string{}}}
	r.Ingress = r.decided(in.Ingress)
	ing := r.Ingress.DeepCopy()
	ing.Annotations = map[string]string{}
	for key, value := range r.Annotations {
		if !strings.HasPrefix(key, Prefix) {
			ing.Annotations[key] = value
		}
	}
	r.out.Ingress = ing
	r.readAll()
	r.groupsFirst()
	r.listen()
	r.portSettings()
	r.redirect()
	r.rules()
	r.certificates()
	r.put()
	r.show()
	r.tellDecided(in.Ingress)
	r.out.Classes = r.classes()
	slices.SortStableFunc(r.out.Verdicts, func(a, b dialect.Verdict) int {
		return strings.Compare(a.Service+" "+a.Key, b.Service+" "+b.Key)
	})
	return r.out
}

// classes counts the classes of requests: a path is one on each port. A change is counted for all paths that may have it: which of
// their requests have it is not found out.
func (r *reader) classes() map[string]dialect.Classes {
	each := dialect.Classes{Same: len(r.ports)}
	for _, v := range r.out.Verdicts {
		switch {
		case v.Outcome == dialect.Refused:
			each = dialect.Classes{Refused: len(r.ports)}
		case v.Outcome == dialect.Changed && each.Refused == 0:
			each = dialect.Classes{Changed: len(r.ports)}
		}
	}
	out := map[string]dialect.Classes{}
	if r.Spec.DefaultBackend != nil {
		out["spec.defaultBackend"] = each
	}
	for i, rule := range r.Spec.Rules {
		if rule.HTTP != nil {
			for j := range rule.HTTP.Paths {
				out[fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, j)] = each
			}
		}
	}
	return out
}

// groupsFirst leaves ranges out beside security groups of the Ingress's own, as the controller does
// (docs/guide/ingress/annotations.md): their rules say which clients may connect.
func (r *reader) groupsFirst() {
	own := r.out.Ingress.Annotations
	if r.out.Origins[settings.SecurityGroups] == "" || r.out.Origins[settings.Inbound] == "" {
		return
	}
	delete(own, settings.Inbound)
	delete(r.out.Origins, settings.Inbound)
	for _, name := range []string{"inbound-cidrs", "security-group-prefix-lists"} {
		r.judge(Prefix+name, dialect.Dropped, "the rules of the groups in "+Prefix+
			"security-groups say which clients may connect, as with the other controller")
	}
}

// ReadService returns the annotations about the ports of a Service in Fairlead's own words, and their
// verdicts. Those about sign-in are read with the Ingress.
func ReadService(s *corev1.Service, over *dialect.Parameters) (own map[string]string, found []dialect.Verdict) {
	own = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
		name, ours := strings.CutPrefix(key, Prefix)
		if !ours {
			continue
		}
		row := rowOf(name)
		if row != nil && row.services && row.paths {
			continue
		}
		v := dialect.Verdict{Service: s.Name, Key: key, Outcome: dialect.Same}
		instead, decided := insteadOf(over, key)
		switch {
		case decided:
			v.Message = decidedBy(instead)
		case row == nil:
			v = unknown(v, s.Annotations)
		case !row.services:
			v.Outcome, v.Message = dialect.Dropped, "the AWS Load Balancer Controller does not read it on a Service"
		default:
			m := row.readOfService(name, s.Annotations[key])
			v.Outcome, v.Message = m.outcome(), m.message
			for mine, value := range m.own {
				if why := check(mine, value); why != "" {
					v.Outcome, v.Message = dialect.Dropped, why
					continue
				}
				own[mine] = value
			}
		}
		found = append(found, v)
	}
	return own, found
}

// Refers returns the Services and Secrets that the annotations of an Ingress or of its Service name.
func Refers(annotations map[string]string) (services, secrets []string) {
	for key, value := range annotations {
		name, ours := strings.CutPrefix(key, Prefix)
		switch {
		case !ours:
		case strings.HasPrefix(name, "actions."):
			spec := readActionWith(value, func(name string) (string, error) { return name, nil }).backend
			if spec != nil {
				for _, s := range spec.Services {
					if s.Name != "" {
						services = append(services, s.Name)
					}
				}
			}
		case name == "auth-idp-oidc":
			if a := readOIDC(value).signIn; a != nil && a.OIDC.SecretName != "" {
				secrets = append(secrets, a.OIDC.SecretName)
			}
		}
	}
	return services, secrets
}

// readService says what becomes of the annotations of a Service, once.
func (r *reader) readService(name string) {
	if s := r.Service(name); s != nil && !r.read["Service "+name] {
		r.read["Service "+name] = true
		_, found := ReadService(s, r.Parameters)
		r.out.Verdicts = append(r.out.Verdicts, found...)
	}
}

// readAll reads the annotations that stand for themselves.
func (r *reader) readAll() {
	for _, key := range slices.Sorted(maps.Keys(r.Annotations)) {
		name, theirs := strings.CutPrefix(key, Prefix)
		if !theirs {
			continue
		}
		row := rowOf(name)
		if row == nil {
			r.say(unknown(dialect.Verdict{Key: key}, r.Annotations))
			continue
		}
		if row.paths {
			continue
		}
		r.take(key, row.read(name, r.Annotations[key]))
	}
}

// take takes what an annotation makes.
func (r *reader) take(key string, m made) {
	for _, own := range slices.Sorted(maps.Keys(m.own)) {
		value := m.own[own]
		if why := check(own, value); why != "" {
			m = refused("%s", why)
			break
		}
		if r.isWritten(own) {
			m = writtenTwice(own)
			break
		}
		before, twice := r.out.Ingress.Annotations[own]
		origin := r.out.Origins[own]
		switch {
		case !twice || origin == "":
		case joined[own]:
			value = before + "," + value
		default: // of the web ACLs, the name goes first: model_build_load_balancer_addons.go
			r.judge(origin, dialect.Same, key+" goes first")
		}
		r.out.Ingress.Annotations[own] = value
		r.out.Origins[own] = key
	}
	r.say(dialect.Verdict{Key: key, Outcome: m.outcome(), Message: m.message})
}

// check returns what is wrong with the value of an annotation of Fairlead; "" if nothing is.
func check(own, value string) string {
	row := settings.Of(own)
	if row == nil {
		return "Fairlead has no such setting"
	}
	if err := row.Check(value); err != nil {
		return diag.Quote(value) + ": " + err.Error()
	}
	return ""
}

// joined are the annotations that two of the controller's make together.
var joined = map[string]bool{settings.Inbound: true, settings.ListenerAttributes: true}

func (r *reader) say(v dialect.Verdict) { r.out.Verdicts = append(r.out.Verdicts, v) }

// annotation returns the value of an annotation of the Ingress.
func (r *reader) annotation(name string) (string, bool) {
	value, is := r.Annotations[Prefix+name]
	return value, is
}

// set sets an annotation of Fairlead that an annotation of the author, or a field, leads to.
func (r *reader) set(own, value, origin string) {
	if r.isWritten(own) {
		r.say(dialect.Verdict{Key: own, Outcome: dialect.Refused, Message: writtenTwice(origin).message})
		return
	}
	r.out.Ingress.Annotations[own] = value
	r.out.Origins[own] = origin
}

// isWritten reports whether the author has written an annotation of Fairlead: neither counts more then.
func (r *reader) isWritten(own string) bool { _, is := r.Annotations[own]; return is }

func writtenTwice(other string) made {
	return refused("%s says the same or another thing: leave one of the two out", other)
}

// put writes the Backends and conditions into the Ingress.
func (r *reader) put() {
	if len(r.backends) > 0 {
		r.putAll(settings.Backends, dialect.YAML(r.backends), "actions.", settings.LongestBackends)
	}
	if len(r.when) > 0 {
		r.putAll(settings.RequestConditions, dialect.YAML(r.when), "conditions.", settings.Longest)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Annotations)) {
		name, theirs := strings.CutPrefix(key, Prefix)
		row := rowOf(name)
		if !theirs || row == nil || !row.paths || r.read[key] {
			continue
		}
		m := row.read(name, r.Annotations[key])
		v := dialect.Verdict{Key: key, Outcome: m.outcome(), Message: m.message}
		if row.of != "" {
			v.Outcome, v.Message = dialect.Dropped, "no path of the Ingress has the backend that it names"
		}
		r.say(v)
	}
}

// putAll sets an annotation that several of the author's make.
func (r *reader) putAll(own, value, name string, most int) {
	of := Prefix + name + "*"
	var some []string
	for key := range r.Annotations {
		if strings.HasPrefix(key, Prefix+name) {
			some = append(some, key)
		}
	}
	if len(some) == 1 {
		of = some[0]
	}
	if len(value) > most {
		r.say(dialect.Verdict{Key: of, Outcome: dialect.Refused, Message: fmt.Sprintf("what is read of it takes %d bytes in "+
			"Fairlead's words, and %d are the most: divide the Ingress", len(value), most)})
		return
	}
	r.set(own, value, of)
}

// readJSON reads a value as the controller does: fields in any case, unknown ones skipped.
func readJSON(value string, into any) error { return json.Unmarshal([]byte(value), into) }

func pathTypeOf(p networkingv1.HTTPIngressPath) networkingv1.PathType {
	if p.PathType == nil {
		return networkingv1.PathTypeImplementationSpecific
	}
	return *p.PathType
}
