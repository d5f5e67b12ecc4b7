package cli

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file explains the reasons of the conditions of a LoadBalancer.

// A conditionReason is a row of the reference: what a condition means that has one of some reasons.
type conditionReason struct {
	condition, status string
	reasons           []string
	meaning           string
	page              string // that says more, in docs; "" for none
}

const sameAsAbove = "The same as above, at Accepted or Programmed."

const enforcing, troubleshooting, vanishing = "how-to/enforce-expectations.md", "how-to/troubleshoot.md", "explanation/vanished.md"

// conditionReasons are those that ask for attention.
var conditionReasons = []conditionReason{
	{v1alpha1.ConditionAccepted, "False", []string{v1alpha1.ReasonMembersRefused},
		"An Ingress asks for something that cannot be served. The diagnostics name the Ingress and the field. The other " +
			"Ingresses are served.", ""},
	{v1alpha1.ConditionAccepted, "False", []string{v1alpha1.ReasonClassMissing},
		"The IngressClass is gone or cannot be used. The load balancer stays as it is until the class is back; deletions " +
			"are still carried out. Degraded is True, too.", ""},

	{v1alpha1.ConditionProgrammed, "False",
		[]string{v1alpha1.ReasonProviderRefused, v1alpha1.ReasonProviderDenied, v1alpha1.ReasonProviderFailed},
		"The cloud refused a step or did not answer. Degraded is True with the same reason: see there.", ""},
	{v1alpha1.ConditionProgrammed, "False", []string{v1alpha1.ReasonPending},
		"The operator waits for the cloud, or for the health checks of new targets: at most the `warmTimeout` of the class.", ""},
	{v1alpha1.ConditionProgrammed, "False", []string{v1alpha1.ReasonProgramming},
		"The operator was stopped in the middle of a plan.", ""},
	{v1alpha1.ConditionProgrammed, "False", []string{v1alpha1.ReasonPaused, v1alpha1.ReasonReadOnly},
		"A setting, an annotation or the mode of the operator forbids changes.", "how-to/pause.md"},
	{v1alpha1.ConditionProgrammed, "False", []string{v1alpha1.ReasonProtected},
		"No Ingress asks for the load balancer any more, but its class or the cloud protects it from deletion. It keeps " +
			"serving, and is deleted when the class no longer protects it.", ""},
	{v1alpha1.ConditionProgrammed, "False", []string{v1alpha1.ReasonExpectation},
		"Changes are held back, as requests would violate an expectation of the class. Degraded is True, too, also while " +
			"requests violate one already, or a host is closed because of one.", enforcing},
	{v1alpha1.ConditionProgrammed, "False", []string{v1alpha1.ReasonExpectations},
		"The expectations of the class cannot be read, and changes that would add something are held back. Degraded is " +
			"True for as long as they cannot be read.", enforcing},
	{v1alpha1.ConditionProgrammed, "False", []string{v1alpha1.ReasonPlanUnproven},
		"The check of the plan says that requests would get a wrong answer on its way. Degraded is True, too.",
		troubleshooting + "#a-plan-is-not-proven"},
	{v1alpha1.ConditionProgrammed, "False", []string{v1alpha1.ReasonUnconfirmed},
		"The plan deletes so much that a second reading has to confirm the deletions.", ""},
	{v1alpha1.ConditionProgrammed, "False", []string{v1alpha1.ReasonRecordLost},
		"The LoadBalancer object was deleted while the load balancer existed.", vanishing},
	{v1alpha1.ConditionProgrammed, "False", []string{v1alpha1.ReasonTakingOver, v1alpha1.ReasonGivingBack},
		"The load balancer is being taken over from another controller, or given back to it. Nothing is changed until that is " +
			"done: `fairlead adopt` goes on with it.", ""},
	{v1alpha1.ConditionProgrammed, "False", []string{v1alpha1.ReasonDisputed},
		"Another writer undoes the operator's changes. Degraded is True, too.",
		troubleshooting + "#when-another-writer-undoes-changes"},

	{v1alpha1.ConditionDegraded, "True", []string{v1alpha1.ReasonProviderRefused},
		"The cloud refused a step. The condition names the Ingress, which is served in its last accepted version. If a " +
			"shared quota is used up, the operator retries every ten minutes.", "how-to/aws-errors.md"},
	{v1alpha1.ConditionDegraded, "True", []string{v1alpha1.ReasonProviderDenied},
		"The operator's credentials do not permit a call. It retries every minute.", "how-to/aws-errors.md#denied"},
	{v1alpha1.ConditionDegraded, "True", []string{v1alpha1.ReasonProviderFailed},
		"The cloud fails for an unknown reason. The operator retries, with a backoff of up to a minute.", ""},
	{v1alpha1.ConditionDegraded, "True", []string{v1alpha1.ReasonVanished},
		"An Ingress is gone, and the operator did not remove its finalizer.", vanishing},
	{v1alpha1.ConditionDegraded, "True",
		[]string{v1alpha1.ReasonClassMissing, v1alpha1.ReasonDisputed, v1alpha1.ReasonExpectation, v1alpha1.ReasonExpectations,
			v1alpha1.ReasonPlanUnproven},
		sameAsAbove, ""},

	{v1alpha1.ConditionWaiting, "True", []string{v1alpha1.ReasonRateLimited},
		"Calls wait for their turn: the operator limits their rate (`--aws-rates`, `--cloud-rate`), and how many are in " +
			"flight at a slow cloud. The message estimates when the plan is done.", "explanation/failures.md#a-slow-cloud"},
	{v1alpha1.ConditionWaiting, "True", []string{v1alpha1.ReasonThrottled},
		"The cloud refuses calls because there are too many. The operator slows down.", ""},
	{v1alpha1.ConditionWaiting, "True", []string{v1alpha1.ReasonTargetHealth},
		"New targets have to be healthy before they get requests. The message says when they get them at the latest.", ""},
	{v1alpha1.ConditionWaiting, "True", []string{v1alpha1.ReasonCloud},
		"The cloud is still creating or releasing something.", ""},
	{v1alpha1.ConditionWaiting, "True", []string{v1alpha1.ReasonQuota},
		"A quota is used up. The operator retries the rest every ten minutes.", ""},
	{v1alpha1.ConditionWaiting, "True", []string{v1alpha1.ReasonQueued},
		"All workers are busy with other load balancers (`--workers`).", ""},
}

// lookUpCondition explains a reason of conditions, with the page that says more.
func lookUpCondition(word string) (name, bool) {
	rows := conditionsWith(word)
	if len(rows) == 0 {
		return nil, false
	}
	n, page := name{}, "docs/reference/conditions.md"
	for _, row := range conditionReasons {
		if at := row.has(word); at >= 0 && len(n) == 0 {
			n = append(n, [2]string{"reason", row.reasons[at]})
			if row.page != "" {
				page = "docs/" + row.page
			}
		}
	}
	return append(append(n, rows...), [2]string{"page", page}), true
}

// conditionsWith returns what the conditions with a reason mean.
func conditionsWith(word string) name {
	var out name
	for _, row := range conditionReasons {
		if row.has(word) < 0 || row.meaning == sameAsAbove {
			continue
		}
		out = append(out, [2]string{"condition", row.condition + " is " + row.status},
			[2]string{"it means", strings.ReplaceAll(row.meaning, "`", "")})
	}
	return out
}

// has returns the index of a reason; -1 if the row does not have it.
func (c *conditionReason) has(word string) int {
	return slices.IndexFunc(c.reasons, func(r string) bool { return strings.EqualFold(r, word) })
}
