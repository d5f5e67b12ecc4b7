package client

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"fairlead.dev/fairlead/providers"
)

// This file has the tags of resources that others made and Fairlead took over. Their own tags by which they find them are
// renamed, with the same values, so that the resource has what it takes to give it back.

// Tags of what was taken over.
const (
	TagTaken    = "fairlead.dev/taken"       // of a load balancer: its listeners without our tags are those of others
	TagShape    = "fairlead.dev/shape"       // of a listener that keeps the rules of others
	TagFirewall = "fairlead.dev/firewall"    // the name of the security group of the load balancer, quoted; of both
	TagKept     = "fairlead.dev/kept-groups" // security groups of others that the load balancer keeps
	tagWas      = "fairlead.dev/was/"        // begins the names of tags that were renamed, or had another value
	tagWasTags  = "fairlead.dev/was-tags"    // the marks of tags of the class that were there before
	ofFairlead  = "fairlead.dev/"            // begins all tags of ours, besides those of the class
)

// Tags of the AWS Load Balancer Controller (its pkg/deploy/tracking/provider.go). It finds load balancers, target groups and
// security groups by the first two of them together, and what these are by the third.
const (
	theirCluster  = "elbv2.k8s.aws/cluster"
	theirStack    = "ingress.k8s.aws/stack"
	theirResource = "ingress.k8s.aws/resource"
)

// Claim returns the tags to add to a resource of others, and those to remove after that: it gets our tags, of which some are
// those of its class. If the controller finds the resource by its tags, it no longer does.
func Claim(before, ours, ofClass map[string]string, found bool) (add map[string]string, gone []string) {
	add = maps.Clone(ours)
	if value, has := before[theirCluster]; has && found {
		add[tagWas+theirCluster], gone = value, []string{theirCluster}
	}
	if before[TagInstallation] == "" { // otherwise its tags of the class are ours already
		there := map[string]string{}
		for name, value := range ofClass {
			switch was, has := before[name]; {
			case has && was == value:
				there[name] = value
			case has:
				add[tagWas+name] = was
			}
		}
		if MarkTags(add, ofClass); len(there) > 0 {
			add[tagWasTags] = marksOf(there)
		}
	}
	return missing(add, before), gone
}

// Return returns the tags to add to a resource that was taken over, and those to remove after that, to give it back.
func Return(before map[string]string) (add map[string]string, gone []string) {
	add = map[string]string{}
	stays, ofClass := markFilter(before[tagWasTags]), classTagFilter(before)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		was, renamed := strings.CutPrefix(name, tagWas)
		_, had := before[tagWas+name]
		switch {
		case renamed:
			add[was], gone = before[name], append(gone, name)
		case strings.HasPrefix(name, ofFairlead), ofClass(name) && !stays(name) && !had:
			gone = append(gone, name)
		}
	}
	return missing(add, before), gone
}

// TheirsFor returns the tags of what the controller made for a load balancer, from the tags of that; nil without.
func TheirsFor(balancer map[string]string) map[string]string {
	cluster := balancer[theirCluster]
	if cluster == "" {
		cluster = balancer[tagWas+theirCluster]
	}
	if cluster == "" || balancer[theirStack] == "" {
		return nil
	}
	return map[string]string{theirCluster: cluster, theirStack: balancer[theirStack]}
}

// Abandon returns the tags that give a target group, which Fairlead made for a load balancer that it took over, to the
// controller, as one that it does not want: once its own rules are there, it deletes those
// (PostSynthesize in its pkg/deploy/elbv2/target_group_synthesizer.go).
func Abandon(group, balancer map[string]string) map[string]string {
	out := TheirsFor(balancer)
	if out == nil {
		return nil
	}
	out[theirResource] = ofFairlead + group[TagGroup]
	return missing(out, group)
}

// LeftBy reports whether the controller made a target group for a load balancer.
func LeftBy(group, balancer map[string]string) bool {
	cluster := group[theirCluster]
	if cluster == "" {
		cluster = group[tagWas+theirCluster]
	}
	return cluster != "" && cluster == balancer[tagWas+theirCluster] && group[theirStack] == balancer[theirStack]
}

// Forget returns the tags to remove from what was taken over and is not given back any more.
func Forget(tags map[string]string) (gone []string) {
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if strings.HasPrefix(name, tagWas) || name == tagWasTags || name == TagKept {
			gone = append(gone, name)
		}
	}
	return gone
}

// WasOthers reports whether a resource was taken over, and can be given back.
func WasOthers(tags map[string]string) bool {
	for name := range tags {
		if strings.HasPrefix(name, tagWas) {
			return true
		}
	}
	return false
}

// missing returns the tags that others lack.
func missing(tags, before map[string]string) map[string]string {
	maps.DeleteFunc(tags, func(name, value string) bool {
		was, has := before[name]
		return has && was == value
	})
	return tags
}

// mostTags is how many tags a resource has
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-tags.html).
const mostTags = 50

// tagText matches what AWS takes in a tag (API_Tag.html in
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/).
var tagText = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// CheckTags returns ErrRejected if AWS would not take all tags that are added to a resource.
func CheckTags(handle string, before, add map[string]string) error {
	count := len(add)
	for name := range before {
		if _, replaced := add[name]; !replaced && !strings.HasPrefix(name, "aws:") {
			count++
		}
	}
	if count > mostTags && len(add) > 0 {
		return fmt.Errorf("%s would have %d tags, and AWS permits %d: remove some of its own tags, or of its class: %w",
			handle, count, mostTags, providers.ErrRejected)
	}
	for _, name := range slices.Sorted(maps.Keys(add)) {
		switch {
		case utf8.RuneCountInString(name) > 128 || utf8.RuneCountInString(add[name]) > ValueLength:
			return fmt.Errorf("%s cannot have the tag %s: its name would have more than 128 characters, or its value "+
				"more than %d: %w", handle, name, ValueLength, providers.ErrRejected)
		case !tagText.MatchString(name) || !tagText.MatchString(add[name]):
			return fmt.Errorf("%s cannot have the tag %s=%s: AWS takes letters, digits, spaces and _.:/=+-@: %w",
				handle, name, add[name], providers.ErrRejected)
		}
	}
	return nil
}
