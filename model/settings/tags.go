package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

// This file reads and checks tags.

// Bounds of tags.
const (
	longestTag    = 128
	longestTagged = 256
)

// MostTags is the most tags of a load balancer that its class and Ingresses choose.
var MostTags = ClassFields["tags"].MostItems

// tagCharacters matches the names and values of tags that clouds accept.
var tagCharacters = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// RefusesTag returns why a tag cannot be set: Fairlead identifies its objects by it, or clouds
// refuse it; "" if it can.
func RefusesTag(name, value string) string {
	switch {
	case strings.HasPrefix(name, Prefix):
		return "names that start with " + Prefix + " are Fairlead's own"
	case strings.HasPrefix(strings.ToLower(name), "aws:"):
		return "names that start with aws: are the cloud's own"
	case name == "" || utf8.RuneCountInString(name) > longestTag:
		return fmt.Sprintf("names have 1 to %d characters", longestTag)
	case utf8.RuneCountInString(value) > longestTagged:
		return fmt.Sprintf("values have at most %d characters", longestTagged)
	case !tagCharacters.MatchString(name) || !tagCharacters.MatchString(value):
		return "names and values are of letters, digits, spaces and _.:/=+-@"
	}
	return ""
}

// controllersTag matches the names of tags by which controllers of Kubernetes recognise what
// belongs to a cluster or to them, as kubernetes.io/cluster/NAME and elbv2.k8s.aws/cluster.
var controllersTag = regexp.MustCompile(`(?i)^([^/]*\.)?(kubernetes\.io|k8s\.io|k8s\.aws)/`)

// parseTags reads "name=value,name=value". A value may be empty.
func parseTags(text string) (map[string]string, error) {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		why := RefusesTag(name, value)
		_, twice := out[name]
		switch {
		case !found:
			why = "it has no equals sign"
		case why == "" && twice:
			why = "it is set twice"
		case why == "" && controllersTag.MatchString(name):
			why = "controllers of Kubernetes recognise objects by it, so only the class can have it"
		}
		if why != "" {
			return nil, fmt.Errorf("%s: %s", diag.Quote(part), why)
		}
		out[name] = value
	}
	if len(out) > MostTags {
		return nil, fmt.Errorf("it has %d tags, and %d are the most", len(out), MostTags)
	}
	return out, nil
}

// withoutTagsOf removes the tags that the class has, and returns a finding for each that differs.
func (v *Values) withoutTagsOf(c *v1alpha1.LoadBalancerClassSpec) (out []Finding) {
	for _, name := range slices.Sorted(maps.Keys(v.Tags)) {
		pinned, is := c.Tags[name]
		if is && pinned != v.Tags[name] {
			out = append(out, Finding{Tags, diag.Warning, diag.AnnotationNotAllowed,
				fmt.Sprintf("the class has %s for %s", diag.Quote(pinned), name)})
		}
		if is {
			delete(v.Tags, name)
		}
	}
	return out
}
