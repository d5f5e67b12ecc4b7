package replay

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds the Service of a target group that another controller made, by its name.

// A Naming is how a controller names the target groups that it makes.
type Naming struct {
	// OfService returns the beginning of the names of the target groups of a Service, namespace/name.
	OfService func(service string) string
	// Beginning returns this part of the name of a target group; "" if the controller gave it no such name.
	Beginning func(targetGroup string) string
	// Missing reports whether there is no Service, namespace/name: the controller answers 503 itself then, in
	// place of forwarding to it alone. It is nil if that is not known.
	Missing func(service string) bool
}

// services are those of a load balancer.
type services struct {
	naming Naming
	starts map[lb.GroupID]string // of names of target groups; "" for a target group that others made
	alike  map[string][]string   // the Services by the beginning
	gone   map[lb.GroupID]bool   // there is no Service
}

func newServices(naming *Naming, table *precedence.Table) *services {
	if naming == nil {
		return nil
	}
	s := &services{*naming, map[lb.GroupID]string{}, map[string][]string{}, map[lb.GroupID]bool{}}
	for id, backend := range table.Backends {
		if backend.TargetGroup != "" {
			s.starts[id] = ""
			continue
		}
		start := naming.OfService(backend.Service)
		s.starts[id] = start
		s.gone[id] = naming.Missing != nil && naming.Missing(backend.Service)
		if !slices.Contains(s.alike[start], backend.Service) {
			s.alike[start] = append(s.alike[start], backend.Service)
		}
	}
	return s
}

// groupMark precedes the name in the ARN of a target group
// (arn:aws:elasticloadbalancing:region:account:targetgroup/name/id).
const groupMark = ":targetgroup/"

// groupName returns the name of a target group.
func groupName(arn string) string {
	_, name, _ := strings.Cut(arn, groupMark)
	name, _, _ = strings.Cut(name, "/")
	return name
}

// isAmong reports whether an action may forward to a target group.
func (s *services) isAmong(arn string, a lb.Action) bool {
	start := s.naming.Beginning(groupName(arn))
	return slices.ContainsFunc(a.Groups(), func(id lb.GroupID) bool {
		of := s.starts[id]
		return string(id) == arn || of != "" && (start == "" || start == of)
	})
}

// isMissing reports whether an action forwards to a missing Service alone.
func (s *services) isMissing(a lb.Action) bool {
	groups := a.Groups()
	return s != nil && len(groups) == 1 && s.gone[groups[0]]
}

// isUnclear reports whether a line leaves open which Service of the load balancer a request went to: the
// name of the target group does not say it, or may be that of several.
func (s *services) isUnclear(arn string) bool {
	if _, known := s.starts[lb.GroupID(arn)]; arn == "" || known {
		return false
	}
	start := s.naming.Beginning(groupName(arn))
	return start == "" || len(s.alike[start]) > 1
}
