package ingress

import (
	"testing"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

func TestHowManyVanishTogether(t *testing.T) {
	for _, c := range []struct {
		absence Absence
		grave   bool
	}{
		{Absence{0, 0}, false},
		{Absence{0, 1}, false},
		{Absence{1, 1}, false}, // one is for the grace alone, even where it is all that there is
		{Absence{1, 2}, false},
		{Absence{2, 2}, true},
		{Absence{2, 5}, true},
		{Absence{2, 6}, false},
		{Absence{3, 8}, true},
		{Absence{3, 9}, false},
		{Absence{4, 1000}, true},
		{Absence{1000, 1000}, true},
	} {
		if got := c.absence.Grave(); got != c.grave {
			t.Errorf("%d of %d: grave is %v", c.absence.Vanished, c.absence.Members, got)
		}
	}
}

func TestHowLongAVanishedIngressStays(t *testing.T) {
	const grace = 10 * time.Minute
	for name, c := range map[string]struct {
		v     Vanishing
		stays bool
	}{
		"at once":                    {Vanishing{}, true},
		"just before the grace ends": {Vanishing{For: grace - 1}, true},
		"the grace is over":          {Vanishing{For: grace}, false},
		"many vanished":              {Vanishing{For: 100 * grace, Unconfirmed: true}, true},
		"it is confirmed":            {Vanishing{For: time.Second, Unconfirmed: true, Confirmed: true}, false},
		"confirmed before the grace": {Vanishing{For: time.Second, Confirmed: true}, false},
	} {
		if got := c.v.Stays(grace); got != c.stays {
			t.Errorf("%s: it stays: %v", name, got)
		}
	}
}

func TestAVanishedIngressIsServedAsItWasAccepted(t *testing.T) {
	const key, other = routing.Key("fairlead/shop/web/internal"), routing.Key("fairlead/shop/@g/internal")
	good := acceptedAs(anIngress("shop/web", ruled("good.test", prefixed("/", "web:80"))))
	lost := func(v Vanishing) Remembered { return Remembered{LastAccepted: good, Served: true, Vanished: &v} }
	moved := lost(Vanishing{})
	moved.Move, moved.Previous = 1, key
	const vanished = "warning Vanished Ingress shop/web"
	for name, c := range map[string]struct {
		given    []any
		memories map[routing.Key]Remembered
		want     map[routing.Key]string
		told     []string
	}{
		"it is gone":                    {memories: map[routing.Key]Remembered{key: lost(Vanishing{})}, want: map[routing.Key]string{key: "shop/web"}, told: []string{vanished}},
		"it is let go of":               {memories: map[routing.Key]Remembered{key: {LastAccepted: good, Served: true}}, want: map[routing.Key]string{}},
		"it was never served":           {memories: map[routing.Key]Remembered{key: {LastAccepted: good, Vanished: &Vanishing{}}}, want: map[routing.Key]string{}},
		"its version is not remembered": {memories: map[routing.Key]Remembered{key: {Served: true, Vanished: &Vanishing{}}}, want: map[routing.Key]string{}},
		"its namespace is there":        {given: []any{aNamespace("shop", nil)}, memories: map[routing.Key]Remembered{key: lost(Vanishing{})}, want: map[routing.Key]string{key: "shop/web"}, told: []string{vanished}},
		"in the middle of a move":       {memories: map[routing.Key]Remembered{key: lost(Vanishing{}), other: moved}, want: map[routing.Key]string{key: "(shop/web)", other: "shop/web"}, told: []string{vanished}},
		"it is back":                    {given: []any{anIngress("shop/web", ruled("now.test", prefixed("/", "web:80")))}, memories: map[routing.Key]Remembered{key: lost(Vanishing{})}, want: map[routing.Key]string{key: "shop/web"}},
		"it is back, and is not accepted": {
			given:    []any{anIngress("shop/web", annotated("scheme", "sideways"), ruled("now.test", prefixed("/", "web:80")))},
			memories: map[routing.Key]Remembered{key: lost(Vanishing{})}, want: map[routing.Key]string{key: "shop/web"},
			told: []string{"error AnnotationInvalid Ingress shop/web metadata.annotations[fairlead.dev/scheme]", "warning LastGood Ingress shop/web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			memories := map[routing.Key]Memory{}
			for k, r := range c.memories {
				memories[k] = Memory{Members: map[string]Remembered{"shop/web": r}}
			}
			snapshots, found := Split(objects(append(c.given, aClass("fairlead", v1alpha1.LoadBalancerClassSpec{}), memories)...), Options{})
			compare(t, "members", members(snapshots), c.want)
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
