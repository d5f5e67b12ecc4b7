package golden

import (
	"cmp"
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/model/settings"
)

// This file prints what a story's generated sections hold. What is the same under several
// capability sets is printed once, headed by their names unless they are all.

// printed are the generated sections by name.
func printed(tellings []telling) map[string]string {
	return map[string]string{
		"routes":      together(tellings, routes),
		"rules":       together(tellings, rules),
		"plan":        together(tellings, steps),
		"diagnostics": together(tellings, diagnostics),
	}
}

// together prints each telling and joins those that read the same.
func together(tellings []telling, show func(telling) string) string {
	names := map[string][]string{}
	var texts []string
	for _, told := range tellings {
		text := show(told)
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], told.caps.Name)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	var b strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&b, "[%s]\n%s", strings.Join(names[text], " "), cmp.Or(text, "nothing\n"))
	}
	return b.String()
}

// routes is the routing table: ports, hosts in the order in which they decide, paths by precedence.
func routes(told telling) string {
	var b strings.Builder
	for _, c := range told.loadBalancers {
		fmt.Fprintln(&b, c.key)
		if c.table == nil {
			fmt.Fprintln(&b, "  no Ingress wants it")
			continue
		}
		for _, l := range c.table.Listeners {
			fmt.Fprintf(&b, "  %d %s\n", l.Port, l.Protocol)
			for _, level := range c.table.Levels(l.Port) {
				printLevel(&b, level)
			}
		}
	}
	return b.String()
}

func printLevel(b *strings.Builder, level *precedence.Level) {
	host := string(level.Host)
	if level.Host == routing.Any {
		host = "any other host"
	}
	fmt.Fprintf(b, "    %s\n", host)
	for _, r := range level.Routes {
		when := ""
		if len(r.When) > 0 {
			when = " when " + r.When.String()
		}
		fmt.Fprintf(b, "      %s%s -> %s, says %s\n", r.Path, when, r.Action.Key(), r.Source)
	}
	if level.Miss != nil {
		fmt.Fprintf(b, "      otherwise %s, says %s\n", level.Miss.Action.Key(), level.Miss.Source)
		return
	}
	fmt.Fprintln(b, "      otherwise 404")
}

// rules are the listeners as the cloud shall have them.
func rules(told telling) string {
	var b strings.Builder
	for _, c := range told.loadBalancers {
		fmt.Fprintln(&b, c.key)
		for _, l := range c.want.Listeners {
			fmt.Fprintf(&b, "  %s\n", listener(l))
			for _, r := range l.Rules {
				fmt.Fprintf(&b, "    %s\n", r.Key())
			}
			fmt.Fprintf(&b, "    otherwise %s\n", l.Default)
		}
	}
	return b.String()
}

func listener(l lb.Listener) string {
	text := fmt.Sprintf("%d %s", l.Port, l.Protocol)
	for _, id := range l.Certificates {
		text += " " + string(id)
	}
	return text
}

// steps are the plans, as people read them.
func steps(told telling) string {
	var b strings.Builder
	for _, c := range told.loadBalancers {
		_ = c.plan.Text(&b, plan.Form{Priorities: true, HealthCheck: settings.DefaultHealthCheck}) // a builder takes everything
	}
	return b.String()
}

// diagnostics are one a line.
func diagnostics(told telling) string {
	var b strings.Builder
	for _, d := range told.diagnostics {
		fmt.Fprintln(&b, d)
	}
	return b.String()
}
