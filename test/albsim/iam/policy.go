// Package iam has policies of IAM, as far as one that only allows, and never denies, goes, and the
// actions that they have to allow for a call.
package iam

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// This file reads policies, and tells what they allow.

// A Policy allows what one of its statements allows.
type Policy struct {
	Version   string
	Statement []Statement
}

// A Statement allows actions on resources, where all of its conditions hold.
type Statement struct {
	Sid       string
	Effect    string
	Action    Texts
	Resource  Texts
	Condition map[string]map[string]Texts `json:",omitempty"` // by operator and key
}

// Texts are one text or several: IAM takes either.
type Texts []string

// UnmarshalJSON reads a text, or a list of them.
func (t *Texts) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = Texts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// MarshalJSON writes a single text without a list around it.
func (t Texts) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// ReadPolicy reads a document from a file. What is not understood here is refused.
func ReadPolicy(file string) (Policy, error) {
	document, err := os.ReadFile(file)
	if err != nil {
		return Policy{}, err
	}
	p, err := ParsePolicy(document)
	if err != nil {
		return Policy{}, fmt.Errorf("reading %s: %w", file, err)
	}
	return p, nil
}

// ParsePolicy reads a document. What is not understood here is refused.
func ParsePolicy(document []byte) (Policy, error) {
	var p Policy
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return Policy{}, err
	}
	for _, s := range p.Statement {
		if s.Effect != "Allow" {
			return Policy{}, fmt.Errorf("statement %s has the effect %q", s.Sid, s.Effect)
		}
		patterns := slices.Concat(s.Action, s.Resource)
		for operator, keys := range s.Condition {
			if operator != "StringEquals" && operator != "StringLike" {
				return Policy{}, fmt.Errorf("statement %s has a condition %s", s.Sid, operator)
			}
			for _, values := range keys {
				patterns = append(patterns, values...)
			}
		}
		for _, p := range patterns {
			if strings.ContainsAny(strings.ReplaceAll(p, literalStar, ""), "?$") {
				return Policy{}, fmt.Errorf("statement %s has the pattern %s", s.Sid, p)
			}
		}
	}
	return p, nil
}

// Allows reports whether a statement allows what is asked.
func (p Policy) Allows(a Ask) bool { return len(p.Allowing(a)) > 0 }

// Allowing are the statements, by their Sid, that allow what is asked.
func (p Policy) Allowing(a Ask) []string {
	var out []string
	for _, s := range p.Statement {
		if s.allows(a) {
			out = append(out, s.Sid)
		}
	}
	return out
}

func (s Statement) allows(a Ask) bool {
	if !slices.ContainsFunc(s.Action, func(p string) bool { return like(p, a.Action) }) ||
		!slices.ContainsFunc(s.Resource, func(p string) bool { return covering(p, a.Resource) }) {
		return false
	}
	for operator, keys := range s.Condition {
		for key, values := range keys {
			value, there := a.Context[key]
			fits := func(wanted string) bool { return wanted == value || operator == "StringLike" && like(wanted, value) }
			if !there || !slices.ContainsFunc(values, fits) {
				return false
			}
		}
	}
	return true
}

// covering reports whether a pattern stands for a resource. It is compared part by part between
// colons.
func covering(pattern, resource string) bool {
	if pattern == "*" {
		return true
	}
	patterns, parts := strings.SplitN(pattern, ":", 6), strings.SplitN(resource, ":", 6)
	if len(patterns) != len(parts) {
		return false
	}
	for i, p := range patterns {
		if !like(p, parts[i]) {
			return false
		}
	}
	return true
}

// literalStar is a star that stands for itself
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html).
const literalStar = "${*}"

// like reports whether a pattern with stars stands for a text.
func like(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case strings.HasPrefix(pattern, literalStar):
		rest, begins := strings.CutPrefix(text, "*")
		return begins && like(pattern[len(literalStar):], rest)
	case pattern[0] == '*':
		return like(pattern[1:], text) || text != "" && like(pattern, text[1:])
	}
	return text != "" && pattern[0] == text[0] && like(pattern[1:], text[1:])
}
