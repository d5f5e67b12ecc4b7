package ingress

import (
	"testing"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

func TestAVanishedIngressIsServedAsItWasAccepted(t *testing.T) {
	const key, other = routing.Key("fairlead/shop/web/internal"), routing.Key("fairlead/shop/@g/internal")
	good := acceptedAs(anIngress("shop/web", ruled("good.test", prefixed("/", "web:80"))))
	lost := func(v record.Vanishing) record.Member {
		return record.Member{LastAccepted: good, Served: true, Vanished: &v}
	}
	moved := lost(record.Vanishing{})
	moved.Move, moved.Previous = 1, key
	const vanished = "warning Vanished Ingress shop/web"
	for name, c := range map[string]struct {
		given   []any
		records map[routing.Key]record.Member
		want    map[routing.Key]string
		told    []string
	}{
		"it is gone":                    {records: map[routing.Key]record.Member{key: lost(record.Vanishing{})}, want: map[routing.Key]string{key: "shop/web"}, told: []string{vanished}},
		"it is let go of":               {records: map[routing.Key]record.Member{key: {LastAccepted: good, Served: true}}, want: map[routing.Key]string{}},
		"it was never served":           {records: map[routing.Key]record.Member{key: {LastAccepted: good, Vanished: &record.Vanishing{}}}, want: map[routing.Key]string{}},
		"its version is not remembered": {records: map[routing.Key]record.Member{key: {Served: true, Vanished: &record.Vanishing{}}}, want: map[routing.Key]string{}},
		"its namespace is there":        {given: []any{aNamespace("shop", nil)}, records: map[routing.Key]record.Member{key: lost(record.Vanishing{})}, want: map[routing.Key]string{key: "shop/web"}, told: []string{vanished}},
		"in the middle of a move":       {records: map[routing.Key]record.Member{key: lost(record.Vanishing{}), other: moved}, want: map[routing.Key]string{key: "(shop/web)", other: "shop/web"}, told: []string{vanished}},
		"it is back":                    {given: []any{anIngress("shop/web", ruled("now.test", prefixed("/", "web:80")))}, records: map[routing.Key]record.Member{key: lost(record.Vanishing{})}, want: map[routing.Key]string{key: "shop/web"}},
		"it is back, and is not accepted": {
			given:   []any{anIngress("shop/web", annotated("scheme", "sideways"), ruled("now.test", prefixed("/", "web:80")))},
			records: map[routing.Key]record.Member{key: lost(record.Vanishing{})}, want: map[routing.Key]string{key: "shop/web"},
			told: []string{"error AnnotationInvalid Ingress shop/web metadata.annotations[fairlead.dev/scheme]", "warning LastGood Ingress shop/web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			records := map[routing.Key]record.Record{}
			for k, r := range c.records {
				records[k] = record.Record{Members: map[string]record.Member{"shop/web": r}}
			}
			snapshots, found := Place(objectsOf(append(c.given, aClass("fairlead", v1alpha1.LoadBalancerClassSpec{}), records)...), ClassOptions{})
			compare(t, "members", membersOf(snapshots), c.want)
			compare(t, "told", sortedStrings(everything(snapshots, told(found))), sortedStrings(c.told))
			for _, s := range snapshots {
				gone := len(c.given) == 0 || name == "its namespace is there"
				if gone != s.Members[0].Vanished || gone == (len(s.Ingresses) > 0) {
					t.Errorf("on %s it has vanished: %v, with %d objects", s.Key, s.Members[0].Vanished, len(s.Ingresses))
				}
				if changes := s.Changes(); gone && len(changes) > 0 {
					t.Errorf("%s has changes: %v", s.Key, changes)
				}
				if config, _ := Translate(s, Certificates{}); gone && (len(config.Names) != 1 || config.Names[0].Host != "good.test") {
					t.Errorf("%s names %v", s.Key, config.Names)
				}
			}
		})
	}
}
