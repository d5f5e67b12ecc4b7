package program

import (
	"strings"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/saved"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the JSON that plan prints. Other programs rely on it: keys may be added, and none
// may change. Lists are never null.

// PlanReport is the JSON of plans.
type PlanReport struct {
	LoadBalancers []loadBalancerReport `json:"loadBalancers"`
	Steps         []stepReport         `json:"steps"`
	// Proofs have the verdict on each plan with steps.
	Proofs      []proofReport     `json:"proofs"`
	Diagnostics []diag.Diagnostic `json:"diagnostics"`
	// Problems are the objects and files that could not be read, and are left out.
	Problems manifests.Problems `json:"problems"`
	Summary  Summary            `json:"summary"`
	// State has the load balancers after the plan by key, as plan --observed reads them.
	State map[lb.Key]*lb.Observed `json:"state"`
	// ForeignRules has the priorities of rules in the state, by load balancer and port, that Fairlead
	// did not create and that the class keeps.
	ForeignRules map[lb.Key]map[int32][]int `json:"foreignRules"`
	// Routing is the routing table, as diff reads it.
	Routing saved.State `json:"routing"`
	// Settings has their settings after the plan, for which the state has digests.
	Settings map[lb.Key]plan.KnownSettings `json:"settings"`
}

// proofReport is the verdict on a plan: "proven", "refuted" or "undecided", and the reason.
type proofReport struct {
	LoadBalancer lb.Key       `json:"loadBalancer"`
	Result       proof.Result `json:"result"`
	Why          string       `json:"why,omitempty"`
}

// loadBalancerReport is a load balancer after the plan.
type loadBalancerReport struct {
	Key          lb.Key              `json:"key"`
	Capabilities capabilitiesReport  `json:"capabilities"`
	Listeners    []listenerReport    `json:"listeners"`
	TargetGroups []targetGroupReport `json:"targetGroups"`
}

// capabilitiesReport has the meaning of values of conditions.
type capabilitiesReport struct {
	Name string `json:"name"`
	// HostStar is the meaning of a star in a host: one label, or any text.
	HostStar string `json:"hostStar"`
}

func reportCapabilities(c lb.Capabilities) capabilitiesReport {
	if c.HostStarIsLabel {
		return capabilitiesReport{c.Name, "label"}
	}
	return capabilitiesReport{c.Name, "any"}
}

type listenerReport struct {
	Port         int32              `json:"port"`
	Protocol     routing.Protocol   `json:"protocol"`
	Certificates []lb.CertificateID `json:"certificates"`
	Rules        []ruleReport       `json:"rules"`
	Default      lb.Action          `json:"default"`
}

type ruleReport struct {
	Priority   int               `json:"priority"`
	Conditions []conditionReport `json:"conditions"`
	Action     lb.Action         `json:"action"`
}

type conditionReport struct {
	Field  string   `json:"field"`
	Name   string   `json:"name"`
	Values []string `json:"values"`
	Regex  []string `json:"regex"`
}

type targetGroupReport struct {
	ID      lb.GroupID          `json:"id"`
	Service string              `json:"service"`
	Port    routing.ServicePort `json:"port"`
}

type stepReport struct {
	LoadBalancer lb.Key `json:"loadBalancer"`
	plan.Printed
	// Settings are those that the step writes. If Compared is false, those before are not known.
	Settings []plan.SettingChange `json:"settings"`
	Compared bool                 `json:"compared"`
	// WaitsFor are the numbers, from 1, of the steps of the load balancer that have to be done before. Those for which these
	// wait are left out.
	WaitsFor []int `json:"waitsFor"`
	// Requests has what the step changes for requests; it is missing if that is nothing.
	Requests *effectReport `json:"requests,omitempty"`
}

// effectReport has the requests that get another answer by a step, in the order of the list. A class is the requests that one
// rule answers before, and another one after it.
type effectReport struct {
	Classes int `json:"classes"`
	// Complete is false if the search exceeded its budget: there may be more classes.
	Complete bool `json:"complete"`
	// Request is a shortest request of the first class, with both answers.
	Request *compare.Request `json:"request,omitempty"`
	Curl    string           `json:"curl,omitempty"`
	Before  string           `json:"before,omitempty"`
	After   string           `json:"after,omitempty"`
}

// Report returns the JSON of plans. A load balancer that its plan deletes appears only in steps.
func Report(
	programs []Program, diagnostics []diag.Diagnostic, problems manifests.Problems,
) PlanReport {
	r := PlanReport{
		LoadBalancers: []loadBalancerReport{},
		Steps:         []stepReport{},
		Proofs:        []proofReport{},
		Diagnostics:   append([]diag.Diagnostic{}, diagnostics...),
		Problems:      append(manifests.Problems{}, problems...),
		Summary:       Summarise(programs, diagnostics, len(problems)),
		State:         map[lb.Key]*lb.Observed{},
		Settings:      map[lb.Key]plan.KnownSettings{},
		ForeignRules:  map[lb.Key]map[int32][]int{},
	}
	for _, p := range programs {
		if !p.Plan.Empty() {
			verdict := p.Proof()
			r.Proofs = append(r.Proofs, proofReport{p.Plan.Key, verdict.Result, verdict.Why})
		}
		if p.After.Exists {
			r.LoadBalancers = append(r.LoadBalancers, reportLoadBalancer(p.After, p.Capabilities))
			r.State[p.After.Key] = p.After
			if rules := p.ForeignRules(p.After); len(rules) > 0 {
				r.ForeignRules[p.After.Key] = rules
			}
		}
		if p.After.Exists && !p.LoadBalancer.Empty() {
			r.Settings[p.After.Key] = plan.SettingsOfWanted(p.LoadBalancer)
		}
		r.Steps = append(r.Steps, reportSteps(p)...)
	}
	return r
}

func reportSteps(p Program) (out []stepReport) {
	effects := p.effects()
	for i, s := range p.Plan.Print() {
		settings, compared := plan.Form{Before: p.Known}.Settings(p.Plan.Steps[i].Step)
		one := stepReport{p.Plan.Key, s, append([]plan.SettingChange{}, settings...), compared, []int{}, reportEffect(effects[i])}
		for _, before := range effects[i].WaitsFor {
			one.WaitsFor = append(one.WaitsFor, before+1)
		}
		out = append(out, one)
	}
	return out
}

func reportEffect(e proof.Effect) *effectReport {
	if e.Classes == 0 && !e.Unsure {
		return nil
	}
	out := &effectReport{Classes: e.Classes, Complete: !e.Unsure}
	if e.Classes == 0 {
		return out
	}
	said := func(a *lb.Action) string {
		if a == nil {
			return "no listener"
		}
		return a.String()
	}
	request := compare.Written(strings.ToLower(string(e.Protocol)), e.Request)
	out.Request, out.Curl, out.Before, out.After = &request, request.Curl(), said(e.Before), said(e.After)
	return out
}

func reportLoadBalancer(o *lb.Observed, c lb.Capabilities) loadBalancerReport {
	r := loadBalancerReport{Key: o.Key, Capabilities: reportCapabilities(c),
		Listeners: []listenerReport{}, TargetGroups: []targetGroupReport{}}
	for _, l := range o.Listeners {
		r.Listeners = append(r.Listeners, reportListener(l))
	}
	for _, g := range o.TargetGroups {
		r.TargetGroups = append(r.TargetGroups, targetGroupReport{g.ID, g.Service, g.Port})
	}
	return r
}

func reportListener(l lb.ObservedListener) listenerReport {
	r := listenerReport{
		Port:         l.Port,
		Protocol:     l.Protocol,
		Certificates: append([]lb.CertificateID{}, l.Certificates...),
		Rules:        []ruleReport{},
		Default:      reportAction(l.Default),
	}
	for _, rule := range l.Rules {
		r.Rules = append(r.Rules,
			ruleReport{rule.Priority, reportConditions(rule.Conditions), reportAction(rule.Action)})
	}
	return r
}

func reportConditions(all []lb.Condition) []conditionReport {
	r := []conditionReport{}
	for _, c := range all {
		r = append(r, conditionReport{c.Field, c.Name, append([]string{}, c.Values...),
			append([]string{}, c.Regex...)})
	}
	return r
}

// reportAction leaves out the parts of a redirect. Its location has them all.
func reportAction(a lb.Action) lb.Action {
	a.Redirect = nil
	if a.Kind == "forward" {
		a.Targets = append([]lb.Weighted{}, a.Targets...)
	}
	return a
}
