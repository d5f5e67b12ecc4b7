package planner

import (
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file collects the steps between two load balancers. The table has which step waits for
// which, and what would happen otherwise:
//
//	step                    waits for                               or else
//	------------------------------------------------------------------------------------------
//	create load balancer    its first target group                  it is made although the account
//	                                                                has no room for target groups
//	set web ACL of          the load balancer, or, where there      requests are answered without
//	                        is to be no web ACL any more, all       the web ACL that was asked for
//	                        that is removed or changed
//	shield load balancer    the load balancer                       -
//	import certificate      -
//	replace certificate     -
//	create target group     -
//	register targets        its group                               there is nowhere to register
//	modify target group     rules that share requests between it    the cloud refuses
//	                        and others, if it is to keep clients
//	create listener         load balancer with all its settings,    the cloud refuses, or it serves
//	                        its web ACL, its certificates, the      without what protects it
//	                        default's groups
//	                        the one of another protocol is deleted  the cloud refuses
//	park (create rule)      its groups' first targets, listener     the health check never starts
//	await targets           its parking rule                        it waits for ever
//	respace rules           its listener                            -
//	rule added, widened,    its listener, the new numbers           the cloud refuses
//	or switched             the load balancer's web ACL             it is answered without it
//	                        its groups' first targets               503 where there was an answer
//	                        await, if it takes served requests      503 where there was an answer
//	                        groups that it shares keep no clients   the cloud refuses
//	                        the certificates of its hosts           clients are shown another one
//	                        overlapping ones above it               a request reaches a rule that
//	                                                                neither table sends it to
//	attach certificate      its import                              the cloud refuses
//	what names a successor  its predecessor is replaced             it is not there
//	modify listener         rules that come or grow, if the         404 for requests whose rule
//	                        default action changes                  is not there yet
//	                        attached certificates                   a host loses its certificate
//	                        rules to remove, if it drops the        clients are shown another one
//	                        default certificate of their hosts
//	rule narrowed, removed  modify listener, if the default changes the old default answers
//	                        overlapping ones added or widened,      404, or a rule that neither
//	                        overlapping ones below it               table sends the request to
//	                        the load balancer's web ACL             what is left answers without it
//	                        await, if what is left forwards to      503 where there was an answer
//	                        unhealthy targets, and it to targets
//	rule removed after one  -
//	with its conditions
//	that stays
//	detach certificate      attached ones, modify listener          a host loses its certificate
//	                        removal of rules of its hosts           clients are shown another one
//	a redirect to a port    what changes there for its requests     a redirect to an old answer
//	what changes at a port  redirects that leave it alone from now  a redirect to a new answer
//	unpark (delete rule)    the rules that take its groups over     targets lose their health
//	what stops naming a     what begins to name it                  targets lose their health
//	healthy group
//	delete listener         removal of redirects to it              a redirect to a closed port
//	delete target group     whatever named it                       the cloud refuses
//	delete certificate      whatever named it                       the cloud refuses
//	delete firewall         the load balancer is deleted, or its    the cloud refuses
//	                        settings name others
//
// At a limit, steps that take a place also wait for steps that free one (schedule.go).

// add adds a task that waits for others, except absent ones, and returns its index.
func (d *difference) add(s plan.Step, u places, after ...int) int {
	t := task{Step: s, Places: u}
	for _, a := range after {
		if a != absent {
			t.After = append(t.After, a)
		}
	}
	d.tasks = append(d.tasks, t)
	return len(d.tasks) - 1
}

// A difference holds the steps between two load balancers while they are collected.
type difference struct {
	seen     *lb.Observed
	want     lb.LoadBalancer
	caps     lb.Capabilities
	overlaps *overlapCache
	tasks    []task

	// the task that creates or completes the load balancer; or absent
	loadBalancerReady int
	// the task that associates the wanted web ACL; or absent
	webACLReady int
	// the task after which the firewall is unused; or absent
	firewallUnused int
	// the task that imports the certificate, or replaces another one with it
	imported   map[lb.CertificateID]int
	registered map[lb.GroupID]int // the task after which a group has its first targets
	healthy    map[lb.GroupID]int // the task after which a group has a healthy target
	// the task that makes a group sticky
	sticky      map[lb.GroupID]int
	notSticky   map[lb.GroupID]int           // the task that makes a group not sticky
	stopNaming  map[lb.GroupID][]int         // the tasks that stop naming a group
	startNaming map[lb.GroupID][]int         // the tasks that begin to name a group
	detached    map[lb.CertificateID][]int   // the tasks that stop naming a certificate
	origins     map[lb.GroupID][]diag.Source // the routes of a group
	changes     []*change

	inUse         map[lb.GroupID]bool // a rule names the group before the plan
	parked        bool                // some steps park target groups
	parkedHealthy map[lb.GroupID]int  // the task after which a parking rule names a healthy group
}

// targetsOf returns the tasks that must precede forwarding to an action's target groups: they need
// targets, healthy ones if the requests are answered already, and must not be sticky if the action
// is not.
func (d *difference) targetsOf(a lb.Action, answered bool) []int {
	var tasks []int
	for _, g := range a.Groups() {
		t, ok := d.healthy[g]
		if !ok || !answered {
			t, ok = d.registered[g]
		}
		if ok {
			tasks = append(tasks, t)
		}
		if t, ok := d.notSticky[g]; ok && a.Shares() && d.caps.StickyAttribute != "" {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// addNaming records that after a task a rule or default action names the target groups of a.
func (d *difference) addNaming(t int, a lb.Action) {
	for _, g := range a.Groups() {
		d.startNaming[g] = append(d.startNaming[g], t)
	}
}

// removeNaming records that after a task a rule or default action no longer names the target groups
// of a. A group that must not be sticky because of that action can be sticky after it.
func (d *difference) removeNaming(t int, a lb.Action) {
	for _, g := range a.Groups() {
		d.stopNaming[g] = append(d.stopNaming[g], t)
		if clings, ok := d.sticky[g]; ok && a.Shares() {
			d.tasks[clings].After = append(d.tasks[clings].After, t)
		}
	}
}

// prefer makes a task wait for another if possible.
func (d *difference) prefer(later, earlier int) {
	if later != earlier {
		d.tasks[later].Preferred = append(d.tasks[later].Preferred, earlier)
	}
}

// digestsDiffer reports whether settings differ. It returns false for digests of different
// versions, and true for a missing one: then the settings were not written completely.
func digestsDiffer(seen, want lb.Digest) bool {
	return seen != want && (seen == "" || version(seen) == version(want))
}

func version(d lb.Digest) string {
	v, _, _ := strings.Cut(string(d), ":")
	return v
}
