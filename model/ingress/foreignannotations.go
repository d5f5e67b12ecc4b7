package ingress

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/settings"
)

// This file handles annotations of other controllers. Package foreign has their effects; the class
// decides whether the Ingress is served.

// servedAs returns how an Ingress is served, where effects of other controllers' annotations depend
// on it.
func servedAs(c *Class, ing *networkingv1.Ingress, s settings.Values) foreign.Served {
	out := foreign.Served{
		Internal: s.Scheme == v1alpha1.SchemeInternal,
		DualStack: s.IPFamily == v1alpha1.IPFamilyDualStack ||
			s.IPFamily == v1alpha1.IPFamilyDualStackPrivateIPv4,
		TargetType:     s.TargetType,
		TLS:            len(ing.Spec.TLS) > 0,
		Inbound:        s.Inbound,
		SecurityGroups: slices.Concat(c.SecurityGroups, s.SecurityGroups), // one of them is empty
		Annotations:    ing.Annotations,
	}
	for _, p := range s.Ports {
		out.Ports = append(out.Ports, foreign.Port{Protocol: p.Protocol, Number: p.Port})
	}
	out.Wider = wider(ing, s)
	out.ForwardsNothing = !namesServices(ing)
	out.Redirected = NewMember(ing, s).redirectsAll()
	if settings.IsWebACL(s.WebACL) {
		out.WebACL = s.WebACL
	}
	return out
}

// namesServices reports whether an Ingress names a Service itself. Whether its Backends forward
// requests is looked up once they are at hand.
func namesServices(ing *networkingv1.Ingress) bool {
	for _, b := range namedBackends(&ing.Spec) {
		if b.Service != nil {
			return true
		}
	}
	return false
}

// wider reports whether a path of an Ingress matches more than itself.
func wider(ing *networkingv1.Ingress, s settings.Values) bool {
	for _, r := range ing.Spec.Rules {
		if r.HTTP != nil && slices.ContainsFunc(r.HTTP.Paths,
			func(p networkingv1.HTTPIngressPath) bool { return isWider(p, s) }) {
			return true
		}
	}
	return false
}

func isWider(p networkingv1.HTTPIngressPath, s settings.Values) bool {
	switch {
	case p.PathType == nil || *p.PathType == networkingv1.PathTypePrefix:
		return true
	case *p.PathType == networkingv1.PathTypeExact:
		return false
	}
	plain := s.ImplementationSpecific == v1alpha1.ReadGlob || s.ImplementationSpecific == v1alpha1.ReadRegex
	return !plain || strings.ContainsAny(p.Path, `*?.+()[]{}|^$\`)
}

// foreignAnnotations returns the diagnostics about an Ingress's annotations of other controllers.
func foreignAnnotations(c *Class, ing *networkingv1.Ingress, given settings.Values) []diag.Diagnostic {
	return tellForeign(c, foreign.OnIngress(ing.Annotations, servedAs(c, ing, given)), "",
		func(found []foreign.Setting) diag.Source {
			if len(found) == 1 {
				return annotationSource(ing, found[0].Key())
			}
			return sourceOfIngress(ing).At("metadata.annotations")
		})
}

// foreignBackends refuses backends that are annotations of another controller: requests for them would be
// answered with an error. A class may say that such an Ingress is served as it is.
func foreignBackends(c *Class, ing *networkingv1.Ingress) (out []diag.Diagnostic) {
	if c.ForeignAnnotations == v1alpha1.ForeignWarn || c.ForeignAnnotations == v1alpha1.ForeignIgnore {
		return nil
	}
	for at, b := range namedBackends(&ing.Spec) {
		if b.Service == nil || b.Service.Port.Name != alb.UseAnnotation {
			continue
		}
		key := alb.Prefix + "actions." + b.Service.Name
		if _, is := ing.Annotations[key]; is {
			out = append(out, diag.Diagnostic{
				Severity: diag.Error, Reason: diag.AnnotationForeign, Source: sourceOfIngress(ing).At(at.Field()),
				Message: "the port " + alb.UseAnnotation + " stands for " + key + ", which is not read, so the Ingress is not " +
					"served as it is: set `dialect: " + v1alpha1.DialectALB + "` in the parameters of the class, or name a Backend",
			})
		}
	}
	return out
}

// tellForeign returns diagnostics about settings that have no effect: for each prefix, about those
// that restrict and those that change, in as few diagnostics as their length permits.
func tellForeign(c *Class, settings []foreign.Setting, of string,
	at func([]foreign.Setting) diag.Source) []diag.Diagnostic {
	if c.ForeignAnnotations == v1alpha1.ForeignIgnore {
		return nil
	}
	var out []diag.Diagnostic
	for _, effect := range []foreign.Effect{foreign.Restricts, foreign.Changes} {
		severity := diag.Warning
		if effect == foreign.Restricts && c.ForeignAnnotations != v1alpha1.ForeignWarn {
			severity = diag.Error
		}
		for _, group := range groupByPrefix(settings, effect) {
			for _, p := range splitIntoParts(group) {
				out = append(out, diag.Diagnostic{
					Severity: severity, Reason: diag.AnnotationForeign, Source: at(p.settings),
					Message: of + p.describe() + describeConsequence(p.settings, severity),
				})
			}
		}
	}
	return out
}

// describeConsequence describes how requests are served without the effect of settings.
func describeConsequence(settings []foreign.Setting, severity diag.Severity) string {
	it, has, restricts, ask := "it", "it has", "It restricts who is answered", "It asks for HTTPS"
	if len(settings) > 1 {
		it, has, restricts, ask = "them", "they have", "They restrict who is answered", "They ask for HTTPS"
	}
	if settings[0].Effect == foreign.Changes {
		return "; " + has + " no effect"
	}
	without := "more %s be exposed without " + it
	insecure := func(s foreign.Setting) bool { return !s.Secures }
	switch open := slices.ContainsFunc(settings, insecure); {
	case !open:
		restricts, without = ask, "requests %s be forwarded in the clear without "+it
	case slices.ContainsFunc(settings, func(s foreign.Setting) bool { return s.Secures }):
		restricts += ", or ask for HTTPS"
	}
	if severity == diag.Error {
		return ". " + restricts + ": " + fmt.Sprintf(without, "would") +
			", so the Ingress is not served as it is"
	}
	return ". " + restricts + ": " + fmt.Sprintf(without, "may")
}

// groupByPrefix returns the settings with one effect, grouped by prefix.
func groupByPrefix(settings []foreign.Setting, effect foreign.Effect) [][]foreign.Setting {
	var out [][]foreign.Setting
	for _, s := range settings {
		if s.Effect != effect {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last][0].Prefix == s.Prefix {
			out[last] = append(out[last], s)
		} else {
			out = append(out, []foreign.Setting{s})
		}
	}
	return out
}

// A part is a list of settings for one diagnostic.
type part struct {
	settings []foreign.Setting
	text     string
}

// describe returns the message that the settings have no effect.
func (p part) describe() string {
	if len(p.settings) == 1 {
		return p.settings[0].Key() + " is not read" + strings.TrimPrefix(p.text, p.settings[0].Name)
	}
	return "annotations of " + p.settings[0].Prefix + " are not read: " + p.text
}

const (
	// longestPart is the most characters of the list in one message. An event has at most 1,000 in
	// all.
	longestPart = 700
	// mostForeignMessages is the most messages about the settings of one prefix: an Ingress can have
	// thousands of annotations.
	mostForeignMessages = 4
)

// splitIntoParts returns lists of settings, with those of one counterpart together. Settings beyond
// the limit are counted.
func splitIntoParts(settings []foreign.Setting) []part {
	var standsFor []string
	names := map[string][]foreign.Setting{}
	for _, s := range settings {
		key := describeCounterpart(s)
		if names[key] == nil {
			standsFor = append(standsFor, key)
		}
		names[key] = append(names[key], s)
	}
	var out []part
	listed := 0
	var now part
	for _, key := range standsFor {
		open := false // the list has names that key follows
		for _, s := range names[key] {
			if room := longestPart - len(now.text) - len(s.Name) - len(key) - 3; room < 0 && now.text != "" {
				if open {
					now.text += key
				}
				out, now, open = append(out, now), part{}, false
				if len(out) == mostForeignMessages {
					last := &out[mostForeignMessages-1]
					last.text += fmt.Sprintf(", and %d more", len(settings)-listed)
					return out
				}
			}
			switch {
			case open:
				now.text += ", "
			case now.text != "":
				now.text += "; "
			}
			now.text += s.Name
			now.settings = append(now.settings, s)
			listed++
			open = true
		}
		if open {
			now.text += key
		}
	}
	return append(out, now)
}

// describeCounterpart returns the counterpart of a setting, in brackets.
func describeCounterpart(s foreign.Setting) string {
	var notes []string
	switch {
	case s.More > 0:
		notes = append(notes, fmt.Sprintf(
			"the first of %d that are not looked up, since the object has more than %d", s.More,
			foreign.MostOnService))
		return " (" + strings.Join(notes, "; ") + ")"
	case s.Meant != "":
		notes = append(notes, "perhaps "+s.Meant+", misspelt")
	case !s.Known && !s.Guessed:
		notes = append(notes, "not known")
	}
	switch own := settings.Of(settings.Prefix + s.Name); {
	case s.Instead != "":
		notes = append(notes, "instead: "+s.Instead)
	case (!s.Known || s.Guessed) && own != nil:
		notes = append(notes, "instead: "+own.Annotation)
	case s.Known && !s.Guessed:
		notes = append(notes, "Fairlead has no equivalent")
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

// HeedsAnnotation reports whether a change of an annotation of an Ingress or a Service can matter: it is
// Fairlead's, may be a misspelling of one, or is another controller's.
func HeedsAnnotation(key string) bool {
	return key == settings.IngressClass || strings.HasPrefix(key, settings.Prefix) ||
		meantAsOurs(key) || foreign.Matters(key)
}
