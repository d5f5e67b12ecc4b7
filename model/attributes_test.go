package model

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/settings"
)

// An annotation of an attribute has the bounds that the attribute has on AWS.
func TestAnnotationsOfAttributesHaveTheBoundsOfAWS(t *testing.T) {
	for _, row := range settings.Table {
		if row.Attribute == "" {
			continue
		}
		known, is := lb.ALB().BalancerAttributes[row.Attribute]
		if !is {
			t.Errorf("%s sets %s, which AWS does not have", row.Annotation, row.Attribute)
			continue
		}
		if row.Type.Least != known.Least || row.Type.Most != known.Most ||
			!slices.Equal(slices.Sorted(slices.Values(row.Type.Known)),
				slices.Sorted(slices.Values(known.Values))) {
			t.Errorf("%s is %s, and AWS has %s", row.Annotation, row.Type, known)
		}
	}
}
