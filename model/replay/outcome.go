package replay

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/accesslog"
)

// This file finds what a line counts for.

// An outcome has the counts of lines with the same prediction and equal logged answers.
type outcome struct {
	said    logged
	paths   []*pathCount
	wrong   *group // nil if they agree
	foreign bool   // a foreign rule answered
	unclear bool   // the name of the target group does not say which Service it is of
	effect  effect
	altered *group // nil if a change alters nothing
}

// mostOutcomes is the most outcomes that a prediction caches.
const mostOutcomes = 64

// outcomeOf returns the outcome of a line.
func (r *Replayer) outcomeOf(b *balancer, h *host, p *prediction, l *accesslog.Line) *outcome {
	actions := l.Actions()
	said := logged{priority: l.Priority(), final: actions.Final, authenticated: actions.Authenticated}
	var arn []byte
	switch actions.Final {
	case "forward":
		if arn = l.Raw(accesslog.TargetGroup); len(arn) == 1 {
			arn = nil
		}
	case "redirect":
		said.status, said.elsewhere = l.StatusCode(accesslog.Status), h.otherLocations(p, l)
	case "fixed":
		said.status = l.StatusCode(accesslog.Status)
	}
	for i := range p.outcomes {
		o := &p.outcomes[i]
		if o.said.group == string(arn) && o.said.equalExceptGroup(said) {
			return o
		}
	}
	said.group = string(arn)
	if len(p.outcomes) == mostOutcomes {
		p.outcomes = nil
	}
	p.outcomes = append(p.outcomes, r.newOutcome(b, h, p, said))
	return &p.outcomes[len(p.outcomes)-1]
}

// equalExceptGroup reports whether two logged answers are equal, apart from the target group.
func (s logged) equalExceptGroup(o logged) bool {
	o.group = s.group
	return s == o
}

func (r *Replayer) newOutcome(b *balancer, h *host, p *prediction, said logged) outcome {
	v := b.judge(p, said)
	o := outcome{said: said, foreign: v.foreign}
	if v.wrong != "" {
		name := nameOf(b, h, v.answers, nil, fmt.Sprint(v.wrong, said, v.expected))
		o.wrong = r.wrong.of(name, func() *group {
			return &group{key: b.key, port: h.port, wrong: v.wrong, said: said, expected: v.expected,
				before: v.answers}
		})
	} else {
		o.unclear = b.services != nil && b.services.isUnclear(said.group)
		for _, a := range v.answers {
			o.paths = append(o.paths, r.pathOf(b, a.answer))
		}
	}
	if !r.setup.Change || v.foreign { // the change keeps foreign rules
		return o
	}
	var before, after []possible
	if o.effect, before, after = p.effectOn(v); o.effect != same {
		o.altered = r.effects.of(nameOf(b, h, before, after, fmt.Sprint(o.effect)), func() *group {
			return &group{key: b.key, port: h.port, effect: o.effect, before: before, after: after}
		})
	}
	return o
}

// nameOf returns equal names for equal groups, also of several Replayers.
func nameOf(b *balancer, h *host, before, after []possible, more string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %d %s", b.key, h.port, more)
	for _, all := range [][]possible{before, after} {
		out.WriteByte('|')
		for _, p := range all {
			fmt.Fprintf(&out, " %p %p %s", p.Route, p.Default, p.key)
		}
	}
	return out.String()
}

// pathOf returns the count of an Ingress path.
func (r *Replayer) pathOf(b *balancer, a *answer) *pathCount {
	k := keyOfAnswer(b.key, a)
	if r.paths[k] == nil {
		r.paths[k] = &pathCount{key: b.key, answer: a}
	}
	return r.paths[k]
}
