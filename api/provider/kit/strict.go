package kit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/json"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file reads bodies strictly: a provider that passes over what it does not know does something
// else than the operator asked for.

// decode reads a body. It refuses fields that are not known, in other letters, or there twice, null,
// and what follows the value.
func decode(body []byte, into any) error {
	if !utf8.Valid(body) {
		return malformed("the body is not UTF-8")
	}
	var raw any
	strict, err := json.UnmarshalStrict(body, &raw)
	if err == nil && hasNull(raw) {
		return malformed("the body has null: a field without a value is left out")
	}
	if err == nil {
		strict, err = json.UnmarshalStrict(body, into)
	}
	if err != nil {
		return malformed("the body cannot be read: %v", err)
	}
	if len(strict) > 0 {
		kind := v1.ProblemUnknown
		if strings.HasPrefix(strict[0].Error(), "duplicate") {
			kind = v1.ProblemMalformed
		}
		return v1.NewProblem(kind, clip("the body has an "+errors.Join(strict...).Error()))
	}
	return nil
}

// hasNull reports whether a message has null, but for settings that only a provider understands.
func hasNull(message any) bool {
	switch m := message.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(m, hasNull)
	case map[string]any:
		for name, value := range m {
			if name != "provider" && hasNull(value) {
				return true
			}
		}
	}
	return false
}

// A fault is an error with its place.
type fault struct {
	kind  v1.ProblemType
	says  string
	place string
}

func (f *fault) problem() *v1.Problem {
	return v1.NewProblem(f.kind, strings.TrimPrefix(f.place, ".")+" "+f.says)
}

// in returns a fault with the place around it.
func (f *fault) in(place string) *fault {
	if f != nil {
		f.place = place + f.place
	}
	return f
}

func wrong(format string, args ...any) *fault {
	return &fault{kind: v1.ProblemMalformed, says: fmt.Sprintf(format, args...)}
}

func unknown(format string, args ...any) *fault {
	return &fault{kind: v1.ProblemUnknown, says: fmt.Sprintf(format, args...)}
}

// understand finds errors in a step that can be read.
func understand(asked v1.Requested, can v1.Capabilities) *v1.Problem {
	if asked.ID == "" || len(asked.ID) > longestID {
		return malformed("its id has %d bytes, and has to have 1 to %d", len(asked.ID), longestID)
	}
	if p := asked.Step.Check(); p != nil {
		return p
	}
	step := asked.Step
	if step.Op == v1.DeleteRule {
		step.Rule = nil // it comes from an observation, and can have any form
	}
	for _, f := range []*fault{checkValues(step), checkSettings(step, can.SettingsSchema), checkActions(step)} {
		if f != nil {
			return f.problem()
		}
	}
	return nil
}

// checkSettings finds settings that only another provider understands.
func checkSettings(step v1.Step, schemas *v1.SettingsSchemas) *fault {
	if schemas == nil {
		schemas = &v1.SettingsSchemas{}
	}
	refused := func(place string) *fault {
		return unknown("is not known: this provider has no settings of its own").in(place)
	}
	if l := step.LoadBalancer; l != nil && len(l.Settings.Provider) > 0 && len(schemas.LoadBalancer) == 0 {
		return refused("loadBalancer.settings.provider")
	}
	if g := step.TargetGroup; g != nil && len(g.Provider) > 0 && len(schemas.TargetGroup) == 0 {
		return refused("targetGroup.provider")
	}
	return nil
}

// checkActions finds actions that have no kind or several, and conditions without any.
func checkActions(step v1.Step) *fault {
	if l := step.Listener; l != nil {
		if f := action(l.Default); f != nil {
			return f.in("listener.default")
		}
	}
	if step.Rule == nil {
		return nil
	}
	for i, c := range step.Rule.Conditions {
		if (len(c.Values) > 0) == (len(c.Regex) > 0) {
			at := fmt.Sprintf("rule.conditions[%d]", i)
			return wrong("has to have values or regex, and not both").in(at)
		}
		if c.Field == "" {
			return wrong("has no field").in(fmt.Sprintf("rule.conditions[%d]", i))
		}
	}
	return action(step.Rule.Action).in("rule.action")
}

func action(a v1.Action) *fault {
	has := map[string]bool{"forward": a.Forward != nil, "fixed": a.Fixed != nil,
		"redirect": a.Redirect != nil}
	for kind, is := range has {
		if is != (kind == a.Kind) || !has[a.Kind] {
			return wrong("is of kind %q: it has to have that field, and neither of the other two of "+
				"forward, fixed and redirect", a.Kind)
		}
	}
	if a.Forward != nil && len(a.Forward.Targets) == 0 {
		return wrong("forwards to no target group")
	}
	return nil
}
