package lb

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

// An Action is what a rule does with a request. Kind says which: forward, fixed or redirect.
type Action struct {
	Kind string `json:"kind"`

	Targets       []Weighted `json:"targets,omitempty"`       // forward
	StickySeconds int32      `json:"stickySeconds,omitempty"` // forward

	Status      int    `json:"status,omitempty"`      // fixed, redirect
	ContentType string `json:"contentType,omitempty"` // fixed
	Body        string `json:"body,omitempty"`        // fixed

	// redirect, with placeholders such as #{host}
	Location string            `json:"location,omitempty"`
	Redirect *routing.Redirect `json:"redirect,omitempty"`

	Auth    *routing.Auth    `json:"auth,omitempty"`
	Rewrite *routing.Rewrite `json:"rewrite,omitempty"`
}

// A Weighted is a target group with its weight in a forward action.
type Weighted struct {
	Group  GroupID `json:"targetGroup"`
	Weight int32   `json:"weight"`
}

// FromRouting returns an action of the routing table as an action of rules, in canonical form.
func FromRouting(a routing.Action) Action {
	out := Action{Auth: a.Auth, Rewrite: a.Rewrite}
	switch {
	case a.Fixed != nil:
		out.Kind, out.Status, out.ContentType, out.Body = "fixed", a.Fixed.Status, a.Fixed.ContentType,
			a.Fixed.Body
	case a.Redirect != nil:
		out.Kind, out.Status, out.Location, out.Redirect = "redirect", a.Redirect.Status,
			a.Redirect.Template(), a.Redirect
	default:
		out.Kind, out.StickySeconds = "forward", a.StickySeconds
		for _, w := range a.Forward {
			out.Targets = append(out.Targets, Weighted{Group: w.Backend, Weight: w.Weight})
		}
		if len(out.Targets) == 1 {
			out.Targets[0].Weight = 1
		}
	}
	return out
}

// Routing returns an action of rules as an action of the routing table.
func (a Action) Routing() routing.Action {
	out := routing.Action{Auth: a.Auth, Rewrite: a.Rewrite}
	switch a.Kind {
	case "fixed":
		out.Fixed = &routing.Fixed{Status: a.Status, ContentType: a.ContentType, Body: a.Body}
	case "redirect":
		if out.Redirect = a.Redirect; out.Redirect == nil {
			out.Redirect = &routing.Redirect{Status: a.Status}
		}
	default:
		out.StickySeconds = a.StickySeconds
		for _, t := range a.Targets {
			out.Forward = append(out.Forward, routing.Weighted{Backend: t.Group, Weight: t.Weight})
		}
	}
	return out
}

// String describes the action in a few words.
func (a Action) String() string {
	said := a.finalPart()
	if a.Auth != nil {
		said = "after " + a.Auth.String() + " " + said
	}
	if a.Rewrite != nil {
		said += ", rewriting " + a.Rewrite.String()
	}
	return said
}

// finalPart describes the final part of an action: forward, redirect or fixed response.
func (a Action) finalPart() string {
	switch a.Kind {
	case "fixed":
		if a.Body == "" {
			return fmt.Sprintf("fixed %d", a.Status)
		}
		return fmt.Sprintf("fixed %d %s of %d bytes", a.Status, printable.Word(a.ContentType),
			len(a.Body))
	case "redirect":
		return fmt.Sprintf("redirect %d %s", a.Status, printable.Word(a.Location))
	}
	var parts []string
	for _, t := range a.Targets {
		if len(a.Targets) == 1 {
			parts = append(parts, string(t.Group))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s*%d", t.Group, t.Weight))
	}
	if a.StickySeconds > 0 {
		parts = append(parts, fmt.Sprintf("sticky %ds", a.StickySeconds))
	}
	return "forward " + strings.Join(parts, " ")
}

// Shares reports whether the next request of a client may go to another target group.
func (a Action) Shares() bool { return len(a.Targets) > 1 && a.StickySeconds == 0 }

// Groups returns the target groups that the action forwards to.
func (a Action) Groups() []GroupID {
	var ids []GroupID
	for _, t := range a.Targets {
		ids = append(ids, t.Group)
	}
	return ids
}
