package ingress

import (
	"errors"
	"regexp"
	"slices"

	"fairlead.dev/fairlead/model/diag"
)

// This file is names that load balancers are given by those who ask for them. Nothing else in the
// account may have such a name, which only the cloud can say.

var ownName = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z-]{0,30}[0-9A-Za-z])?$`)

// reserved are names that nobody may ask for.
var reserved = regexp.MustCompile(`^(?i)(fl|internal)-`)

// checkOwnName refuses what AWS would.
func checkOwnName(text string) error {
	switch {
	case !ownName.MatchString(text):
		return errors.New("it is not the name of a load balancer: at most 32 letters, digits and dashes, and no dash at either end")
	case reserved.MatchString(text):
		return errors.New("names that begin with fl- are those that Fairlead gives, and with internal- AWS lets names of its own begin")
	}
	return nil
}

// inWords is what a load balancer is to be called.
func inWords(name string) string {
	if name == "" {
		return "no name"
	}
	return "the name " + name
}

// Called is a snapshot without the changes that ask for a name that something else has, as it is said
// in words; "" if nothing has. What is served already stays; its owner is told, too.
func (s Snapshot) Called(taken string) (Snapshot, []diag.Diagnostic) {
	if taken == "" {
		return s, nil
	}
	changes := s.Changes()
	var found []diag.Diagnostic
	for _, m := range s.Members {
		if m.Leaving {
			continue
		}
		severity, message := diag.Warning, taken
		if slices.ContainsFunc(changes, func(c Member) bool { return c.Ingress == m.Ingress }) {
			severity, message = diag.Error, taken+", and the Ingress is not served by a load balancer of another name"
		}
		found = append(found, about(m.Ingress, nameAnnotation, severity, diag.NameTaken, message))
	}
	return s.Refuse(changes), found
}
