package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner/rulelist"
	"fairlead.dev/fairlead/model/planner/schedule"
)

// This file holds the steps of a plan before they have an order. Which step waits for which,
// and what would happen if it did not:
//
//	step                    waits for                               or else
//	------------------------------------------------------------------------------------------
//	create load balancer    its first target group                  it is made for nobody, where
//	                                                                the account has no room
//	guard load balancer     the load balancer, or, where there      requests are answered without
//	                        is to be no web ACL any more, all       the web ACL that was asked for
//	                        that goes or changes
//	shield load balancer    the load balancer                       -
//	import certificate      -
//	replace certificate     -
//	create target group     -
//	register targets        its group                               there is nowhere to register
//	modify target group     rules that share requests between it    the cloud refuses
//	                        and others, if it is to keep clients
//	create listener         load balancer with all its settings,    the cloud refuses, or it serves
//	                        its web ACL, its certificates, the      without what guards it
//	                        default's groups
//	                        the one of another protocol goes        the cloud refuses
//	park (create rule)      its groups' first targets, listener     the health check never starts
//	await targets           its parking rule                        it waits for ever
//	respace rules           its listener                            -
//	rule comes, grows,      its listener, the new numbers           the cloud refuses
//	or turns                the load balancer's web ACL             it is answered without it
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
//	                        rules that go, if it drops the          clients are shown another one
//	                        default certificate of their hosts
//	rule shrinks or goes    modify listener, if the default changes the old default answers
//	                        overlapping ones that come or grow,     404, or a rule that neither
//	                        overlapping ones below it               table sends the request to
//	detach certificate      attached ones, modify listener          a host loses its certificate
//	                        rules of its hosts that go              clients are shown another one
//	a redirect to a port    what changes there for its requests     a redirect to an old answer
//	what changes at a port  redirects that leave it alone from now  a redirect to a new answer
//	unpark (delete rule)    the rules that take its groups over     targets lose their health
//	what stops naming a     what begins to name it                  targets lose their health
//	healthy group
//	delete listener         redirects to it that go                 a redirect to a closed port
//	delete target group     whatever named it                       the cloud refuses
//	delete certificate      whatever named it                       the cloud refuses
//	delete firewall         the load balancer goes, or its          the cloud refuses
//	                        settings name others
//
// Besides, at a limit whatever takes a place waits for what makes it (room.go).

// add adds a task behind others, those that are absent left out, and returns its index.
func (d *difference) add(s plan.Step, u schedule.Places, after ...int) int {
	t := schedule.Task{Step: s, Places: u}
	for _, a := range after {
		if a != rulelist.Absent && !slices.Contains(t.After, a) {
			t.After = append(t.After, a)
		}
	}
	d.tasks = append(d.tasks, t)
	return len(d.tasks) - 1
}
