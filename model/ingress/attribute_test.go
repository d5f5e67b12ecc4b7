package ingress

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
)

func TestAttributesAreTheOldestsThatSetsThem(t *testing.T) {
	an := func(name string, age int64, attributes string) *networkingv1.Ingress {
		return anIngress("shop/"+name, annotated("group", "g"), annotated("target-group-attributes", attributes), aged(age), ruled(name+".test", prefixed("/", "web:80")))
	}
	config, found := translated(t, nil, aService("shop/web:80"),
		an("younger", 1, "slow_start.duration_seconds=30, stickiness.enabled=true"), an("older", 2, "stickiness.enabled=false,load_balancing.algorithm.type=weighted_random"))
	var got []string
	for _, a := range config.Backends["shop/web:80"].Attributes {
		got = append(got, a.Name+"="+a.Value+" of "+a.Owner.String())
	}
	compare(t, "attributes", got, []string{"load_balancing.algorithm.type=weighted_random of shop/older", "slow_start.duration_seconds=30 of shop/younger", "stickiness.enabled=false of shop/older"})
	compare(t, "told", told(found), []string{"warning SettingConflict Ingress shop/younger metadata.annotations[fairlead.dev/target-group-attributes]"})
}
