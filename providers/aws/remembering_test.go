package aws

import (
	"reflect"
	"slices"
	"testing"
)

// Each collaborator that keeps something of load balancers is told which ones were deleted.
func TestEachMemoryForgetsDeletedLoadBalancers(t *testing.T) {
	p := New(Options{Installation: "test"})
	told := p.memories()
	v := reflect.ValueOf(p).Elem()
	count := 0
	for i := range v.NumField() {
		if !v.Field(i).Type().Implements(reflect.TypeFor[memory]()) {
			continue
		}
		count++
		same := func(m memory) bool { return reflect.ValueOf(m).Pointer() == v.Field(i).Pointer() }
		if !slices.ContainsFunc(told, same) {
			t.Errorf("%s is not told", v.Type().Field(i).Name)
		}
	}
	if count != len(told) || count == 0 {
		t.Errorf("%d collaborators are told, and %d are to be", len(told), count)
	}
}
