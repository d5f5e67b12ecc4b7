package settings

import "testing"

func TestAttributesThatAreNone(t *testing.T) {
	for _, text := range []string{"", "stickiness.enabled", "=true", "a=1,,b=2", "a=1,a=2", "a="} {
		if got, err := parseAttributes(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
