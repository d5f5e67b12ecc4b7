package status

import (
	"fmt"
	"io"
	"strings"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/printable"
)

// This file prints the report for people.

// Print prints counts, then each load balancer, then what is wrong.
func (r Report) Print(w io.Writer) error {
	colour := output.PaletteOf(w)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", colour.Bold(r.Summary.String()))
	for _, l := range r.LoadBalancers {
		l.print(&b, colour)
	}
	b.WriteByte('\n')
	r.printNotKnown(&b)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("printing the status: %w", err)
	}
	if err := output.Diagnostics(w, diagnosticsOf(r.Diagnostics), colour); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "Summary: %s\n", r.Summary.Findings)
	return err
}

// printNotKnown prints once what is not known of load balancers.
func (r Report) printNotKnown(b *strings.Builder) {
	of := map[NotKnown]int{}
	var all []NotKnown
	for _, l := range r.LoadBalancers {
		for _, n := range l.NotKnown {
			if of[n]++; of[n] == 1 {
				all = append(all, n)
			}
		}
	}
	for _, n := range all {
		fmt.Fprintf(b, "Not known here of %s: %s; %s knows it\n", output.Number(of[n], "load balancer"), n.What, n.Command)
	}
	if len(all) > 0 {
		b.WriteByte('\n')
	}
}

// String returns the counts in words.
func (s Summary) String() string {
	attention := "none needs attention"
	switch {
	case s.Attention == 1:
		attention = "1 needs attention"
	case s.Attention > 1:
		attention = fmt.Sprintf("%d need attention", s.Attention)
	}
	return fmt.Sprintf("%s, %s; %s, %s, %s", output.Number(s.LoadBalancers, "load balancer"), attention,
		numberOf(s.Ingresses, "Ingress"), output.Number(s.Hosts, "host"), output.Number(s.Routes, "route"))
}

func numberOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ses", n, noun)
}

func (l LoadBalancer) print(b *strings.Builder, colour output.Palette) {
	line := func(what, said string) {
		if said != "" {
			fmt.Fprintf(b, "  %-12s %s\n", what, printable.Line(said))
		}
	}
	state := map[string]string{stateOK: colour.Good("ok"), stateAttention: colour.Bad("needs attention"),
		stateUnknown: "not known here"}[l.State]
	fmt.Fprintf(b, "\n%s: %s\n", colour.Bold(printable.Line(string(l.Key))), state)
	line("address", l.Address)
	for _, c := range l.Conditions {
		line(c.Type, strings.TrimSuffix(fmt.Sprintf("%s, %s: %s", c.Status, c.Reason, c.Message), ": "))
	}
	var ports []string
	for _, at := range l.Listeners {
		ports = append(ports, fmt.Sprintf("%s %d", at.Protocol, at.Port))
	}
	line("listeners", strings.Join(ports, ", "))
	line("rules", l.Rules.String())
	if l.Certificates.Used > 0 {
		line("certificates", l.Certificates.String())
	}
	line("Ingresses", fmt.Sprint(len(l.Members)))
	if l.Endpoints != nil {
		line("endpoints", l.Endpoints.String())
	}
	if l.LastChange != nil {
		line("last change", l.LastChange.String())
	}
	line("last error", l.LastError)
}

// String returns the use in words.
func (u Use) String() string {
	if u.Limit == 0 {
		return fmt.Sprintf("%d, no limit", u.Used)
	}
	return fmt.Sprintf("%d of %d", u.Used, u.Limit)
}

// String returns the counts in words.
func (t Targets) String() string { return fmt.Sprintf("%d ready, %d not ready", t.Ready, t.NotReady) }

// String returns when it was and how far it came.
func (c Change) String() string {
	text := fmt.Sprintf("%s; %d of %s done", c.Summary, c.Done, output.Number(len(c.Steps)+c.Omitted, "step"))
	if !c.At.IsZero() {
		text = c.At.Format("2006-01-02 15:04:05 UTC") + ": " + text
	}
	return text
}
