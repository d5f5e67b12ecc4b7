package gather

import (
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
)

// A version of an object is checked once, and another version again.
func TestAVersionIsCheckedOnce(t *testing.T) {
	var checks Checks
	ran := 0
	about := func(uid, version string) field.ErrorList {
		o := &metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}
		return checks.CheckOnce(o, func() field.ErrorList {
			ran++
			return field.ErrorList{field.Required(field.NewPath("of-"+uid), version)}
		})
	}
	for i, step := range []struct {
		uid, version string
		ran          int
	}{
		{"a", "1", 1}, {"a", "1", 1}, {"b", "1", 2}, {"a", "2", 3}, {"a", "2", 3}, {"b", "1", 3}, {"a", "1", 4},
		{"", "1", 5}, {"", "1", 6}, {"c", "", 7}, {"c", "", 8},
	} {
		errs := about(step.uid, step.version)
		if ran != step.ran || len(errs) != 1 || errs[0].Field != "of-"+step.uid || errs[0].Detail != step.version {
			t.Errorf("step %d: %d checks, want %d; found %v", i, ran, step.ran, errs)
		}
	}
	for i := range 5 * mostChecks {
		if about(fmt.Sprint(i), "1"); len(checks.byUID) > mostChecks {
			t.Fatalf("%d objects are remembered", len(checks.byUID))
		}
	}
}

// Parameters that become valid make their class usable, with the same memory of checks.
func TestALookupSeesNewVersions(t *testing.T) {
	options := ingress.ClassOptions{Check: (&Checks{}).CheckOnce}
	group := v1alpha1.Group
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "edge", UID: "class", ResourceVersion: "1"}}
	class.Spec.Controller = ingress.ControllerName
	class.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: &group, Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "edge"}
	parameters := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "edge", UID: "parameters", ResourceVersion: "2"}}
	parameters.Spec.ValuesPerCondition = -1
	for i, step := range []struct {
		version string
		values  int
		usable  bool
	}{{"2", -1, false}, {"3", 1, true}, {"3", 1, true}, {"4", -1, false}} {
		parameters = parameters.DeepCopy()
		parameters.ResourceVersion, parameters.Spec.ValuesPerCondition = step.version, step.values
		lookup, found := ingress.NewClassLookup(ingress.Objects{IngressClasses: []*networkingv1.IngressClass{class},
			ClusterLoadBalancerClasses: []*v1alpha1.ClusterLoadBalancerClass{parameters}}, options)
		if usable := lookup.Named("edge") != nil; usable != step.usable || (len(found) == 0) != usable {
			t.Errorf("step %d: the class is usable: %t, and found is %v", i, usable, found)
		}
	}
}
