package preflight

// This file has the assumptions about AWS. docs/contributing/assumptions.md is generated from it.

// An Assumption about AWS has a source, and a consequence for load balancers if it is wrong.
type Assumption struct {
	// ID names it in reports.
	ID string
	// Text is the assumption.
	Text string
	// Source is a document, an SDK model or a public report; "" if AWS does not document it.
	Source string
	// Otherwise is the consequence if the assumption is wrong.
	Otherwise Consequence
	// Then describes the consequence.
	Then string
	// Tests lists tests with and without the assumption, each as "directory TestName".
	Tests []string
}

// A Consequence is the effect of a wrong assumption on load balancers. If it is Wider, a wrong rule can
// answer requests; otherwise none does. A port is never open to clients that are not permitted.
type Consequence string

// The consequences.
const (
	// Tolerated: there is no difference.
	Tolerated Consequence = "tolerated"
	// Slower: changes take longer.
	Slower Consequence = "slower"
	// Unanswered: some requests are answered with 503 for a while.
	Unanswered Consequence = "503 for a while"
	// Refused: the objects that need it are refused by name.
	Refused Consequence = "refused by name"
	// Reported: Fairlead does without it, and reports that.
	Reported Consequence = "reported"
	// Narrower: some requests that authors allow are not made.
	Narrower Consequence = "narrower"
	// Wider: conditions that authors write hold for other requests, too.
	Wider Consequence = "wider"
)

const (
	guide = "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/"
	api   = "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/"
)

// Assumptions lists all assumptions, in the order of the page.
var Assumptions = []Assumption{
	{
		"source-of-parking", "A rule can have the source 192.0.2.1/32, which no request comes from.",
		guide + "rule-condition-types.html",
		Reported, "The change is made without the rule, and the Ingresses get an event (Unparked).",
		[]string{"test/alb TestParkingIsTakenByAWS", "test/alb TestAPathChangesWhereParkingIsRefused"},
	},
	{
		"health-needs-a-rule", "The health of a target group is checked only while a rule names it.",
		guide + "target-group-health-checks.html",
		Tolerated, "A new target group is known to be healthy sooner.",
		[]string{"test/alb TestWindows", "test/moto TestContract"},
	},
	{
		"health-of-a-released-group", "A target group that no rule names for a moment has to be " +
			"checked anew.", "",
		Tolerated, "Some rule names a healthy group all the time, whether that is needed or not.",
		[]string{"model/planner TestAHealthyGroupIsNamedAllTheTime",
			"test/alb TestNoRequestEverGoesAstray"},
	},
	{
		"first-check", "A target gets no requests before its first health check is passed, while " +
			"another one is healthy.", guide + "target-group-health-checks.html",
		Tolerated, "Requests get to targets that are ready for Kubernetes, and not yet for AWS.",
		[]string{"test/alb TestNoRequestEverGoesAstray"},
	},
	{
		"host-of-a-pattern", "A regular expression for hosts sees the host in lower case, or as it was " +
			"sent.", "",
		Tolerated, "Expressions are written for both.",
		[]string{"test/alb TestNoRequestEverGoesAstray", "test/alb TestRulesInAWSAreTheSpecification"},
	},
	{
		"header-of-a-pattern", "A regular expression for a header is case-sensitive.", "",
		Wider, "It matches values in another case, too. One that has to be right in either way has both " +
			"cases of a letter ([aA]).",
		[]string{"test/alb TestConditionsInAWSAreTheSpecification"},
	},
	{
		"star-of-a-host", `A "*" in a condition on the host stands for any text, also with dots.`,
		guide + "rule-condition-types.html",
		Tolerated, "Hosts of rules are written for both. A host in `fairlead.dev/conditions` stands for " +
			"what it does in AWS.",
		[]string{"model/lowering TestRandomTablesAreExactInEveryWorld",
			"test/alb TestConditionsInAWSAreTheSpecification"},
	},
	{
		"host-with-port", "The port of the Host header takes part in matching, or not, on ports other " +
			"than 80 and 443.", "",
		Tolerated, "Conditions are written for both.",
		[]string{"test/alb TestNoRequestEverGoesAstray", "test/alb TestRulesInAWSAreTheSpecification"},
	},
	{
		"path-decoding", "A path is decoded before it is compared, or not.", "",
		Tolerated, "Conditions are written for both.",
		[]string{"test/alb TestNoRequestEverGoesAstray", "test/alb TestRulesInAWSAreTheSpecification"},
	},
	{
		"path-normalisation", "Rules are evaluated after AWS has normalised the URI, which may decode, " +
			"resolve dot segments and join slashes, or not.", guide + "rule-condition-types.html",
		Tolerated, "A request is answered by the rules of its host as one with the path that AWS makes " +
			"of it; docs/explanation/security.md says what that means for sign-ins.",
		[]string{"test/alb TestCrookedPathsAreAnsweredAsWhatAWSMakesOfThem",
			"test/alb TestNoRequestEverGoesAstray"},
	},
	{
		"values-of-a-condition", "A condition takes five values, as AWS's answers say; its guide says " +
			"three.", "https://github.com/aws-cloudformation/cfn-lint/issues/3833",
		Tolerated, "Rules are said again with three, which may take more of them.",
		[]string{"test/alb TestThreeOrFiveValuesInACondition"},
	},
	{
		"regular-expressions", "Conditions take regular expressions, in all partitions.",
		guide + "rule-condition-types.html",
		Tolerated,
		"Rules are said again without, which takes more of them. A rewrite is refused by name.",
		[]string{"test/alb TestAPartitionWithoutRegularExpressions"},
	},
	{
		"rewrite-before-redirect", "A rule can have a rewrite and a redirect, whose #{path} and #{query} are those that the rewrite " +
			"makes.",
		"https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/gateway/l7gateway/",
		Refused, "Only a class with `undocumented: Accept` has such rules. Where AWS takes none, the Ingress is refused by name; " +
			"where a redirect has the path as it was sent, clients are led there.",
		[]string{"test/alb TestARewriteInFrontOfARedirect", "test/check TestProve"},
	},
	{
		"case-flag", "A regular expression with (?i) ignores the case of letters.", "",
		Refused, "Only a class with `undocumented: Accept` has such rules, for paths that are too long with both cases of each " +
			"letter. Where AWS takes none, the Ingress is refused by name; where case counts, paths in another case are answered 404.",
		[]string{"test/alb TestTheFlagForCase", "test/check TestProve"},
	},
	{
		"headers-of-all-answers", "Headers of the attributes of a listener are sent with all answers, also with fixed responses and " +
			"redirects.", guide + "header-modification.html",
		Narrower, "Browsers get no headers with the 204 that preflight requests are answered with, and keep requests of other origins " +
			"that need one (`enable-cors` of ingress-nginx).",
		[]string{"providers/fake TestAnswersHaveTheHeadersOfTheListener"},
	},
	{
		"waf-in-a-partition", "There is AWS WAF in each partition.", "",
		Reported, "The Ingresses that ask for a web ACL by name get an event (WebACLMissing), and the " +
			"others " +
			"are served.",
		[]string{"test/alb TestWhereThereIsNoWAF"},
	},
	{
		"targets-at-once", "RegisterTargets takes all targets of a call or none.", "",
		Tolerated, "The call is repeated with halves, and AWS takes a target again that it has.",
		[]string{"providers/aws TestOneTargetThatIsRefusedLeavesTheOthersIn"},
	},
	{
		"zones-of-targets", "An address in a subnet of the VPC has the zone of that, and any other one " +
			"has to be registered for all zones.",
		"https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3714",
		Reported, "The target is tried the other way, and left out by name where AWS refuses that, too.",
		[]string{"providers/aws TestTargetsOutsideTheSubnets", "test/albsim TestZonesOfTargets"},
	},
	{
		"zones-without-cross-zone", "Where load_balancing.cross_zone.enabled of a target group is false, " +
			"an address outside the VPC cannot be registered for all zones, and the attribute cannot be " +
			"set while one is.",
		guide + "disable-cross-zone.html",
		Reported, "The target is left out by name, with advice; a group that has such targets keeps " +
			"the attribute as it is.",
		[]string{"providers/aws TestTargetsOutsideTheSubnets", "test/albsim TestCrossZoneOff"},
	},
	{
		"names-of-zones", "The name of an availability zone is that of the region and a letter, and no " +
			"Local Zone or Wavelength Zone has such a name.",
		"https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-availability-zones.html",
		Refused, "AWS refuses zones of different types: the class names the subnets.",
		[]string{"test/alb TestSubnetsAreChosen"},
	},
	{
		"rules-of-a-security-group", "A security group takes 60 inbound rules.",
		"https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html", Refused,
		"Where it takes fewer, the Ingress that needs one more is refused by name. Where it takes more, " +
			"clients that need it are placed by the highest quota, and AWS decides.",
		[]string{"test/alb TestNodePortsShareARuleBeforeTheGroupIsFull",
			"test/alb TestOthersUseUpWhatAMemberNeeds", "test/alb TestARaisedQuotaOfRulesIsUsed"},
	},
	{
		"deployment", "Changes of rules are deployed within the time that Fairlead keeps what they " +
			"replace, and those of a few seconds together.",
		"https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3816",
		Unanswered, "A rule that is still deployed forwards to a target group that is gone.",
		[]string{"test/alb TestWindows", "test/alb TestNoRequestEverGoesAstray"},
	},
	{
		"priorities-at-once", "SetRulePriorities changes all priorities that it names, or none.",
		api + "API_SetRulePriorities.html",
		Tolerated, "An error has all rules read again before the next step.",
		[]string{"test/albsim TestPrioritiesAreSetAllOrNone", "test/alb TestRulesAreRenumbered"},
	},
	{
		"internal-dualstack", "Internal load balancers can be dualstack, as the attribute that keeps " +
			"internet gateways out of them says. The SDK's text \"Internal load balancers must use ipv4\" " +
			"is out of date.", api + "API_LoadBalancerAttribute.html",
		Refused, "The load balancer is not made, and the Ingresses get an event (Rejected).",
		[]string{"test/alb TestDualStackStandsInSubnetsWithIPv6"},
	},
	{
		"order-of-lists", "DescribeRules lists rules in no order.", "",
		Tolerated, "They are put in order by their priorities.",
		[]string{"test/alb TestRulesInAWSAreTheSpecification", "test/moto TestContract"},
	},
	{
		"read-back", "A rule is described with the values that it was made with, be it in another " +
			"order, in another case where AWS compares without regard to case, or with ranges of " +
			"addresses in another form.",
		"https://github.com/go-to-k/cdk-real-drift/pull/330",
		Tolerated, "Rules are compared by what they say. One that is described with other values is " +
			"made anew at each look, above the other one before that goes.",
		[]string{"test/alb TestRulesThatAreDescribedOtherwiseAreLeftAlone",
			"test/alb TestRulesDoWhatTheySay", "test/check TestProveCountsWhatItSaw"},
	},
	{
		"create-again", "Creating a load balancer, a target group or a listener that is there with the " +
			"same settings answers with it; with others it is refused by a code that says so. Creating a " +
			"rule again is refused by PriorityInUse.",
		api + "API_CreateLoadBalancer.html",
		Tolerated, "What is there is read, and changed where it differs.",
		[]string{"test/alb TestOneLostAnswer", "test/alb TestCutOffAtEveryCall"},
	},
	{
		"role-just-made", "Until Elastic Load Balancing can use the role that it makes at the first " +
			"load balancer of an account, it denies that load balancer without naming a right, or names " +
			"the role.", "",
		Slower, "For two minutes after the first such answer to this process, or the first load " +
			"balancer that it made, such an answer is waited out. Another one is reported, and the load " +
			"balancer is tried again later.",
		[]string{"test/alb TestTheRoleOfTheFirstLoadBalancerIsYoung", "test/alb TestRealCutOff"},
	},
	{
		"reads-lag", "What was made is found by every call within two minutes. AWS says that calls may " +
			"not find it, and publishes no bound.", "",
		Slower, "Until then the provider waits. After that what is not found is made again, under the " +
			"same name where it has one.",
		[]string{"test/alb TestAWSDoesNotFindYetWhatWasMade", "test/alb TestRealCutOff",
			"test/alb TestRealNoRequestEverGoesAstray"},
	},
	{
		"index-of-tags", "The index of tags follows at some time. Until then it does not list what is " +
			"there, and lists what is gone.", "https://github.com/aws/aws-cli/issues/4173",
		Tolerated, "What belongs to a load balancer is found from the load balancer; the index finds " +
			"what is left over.",
		[]string{"test/alb TestTheFirewallIsKnownWhileTheIndexLags",
			"test/alb TestAGroupThatIsGoneIsNotTakenForTheFirewall",
			"test/alb TestASecretIsImportedOnceWhileTheIndexLags"},
	},
	{
		"default-in-the-list", "The default certificate of a listener can be in its list as well, and counts for none of the " +
			"certificates of a load balancer there.",
		"https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html", Refused,
		"The last certificate that finds no room is refused by name (QuotaExceeded). A default certificate that finds none " +
			"stays outside the list.",
		[]string{"test/alb TestADefaultCertificateServesItsNames",
			"test/alb TestAListenerWithoutItsDefaultCertificateInTheList",
			"providers/aws/listeners TestTheListLacksTheDefaultCertificate"},
	},
	{
		"imports-count", "Certificate Manager imports a certificate as often as it is asked to, and " +
			"counts the imports of a year.",
		"https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html",
		Refused, "Beyond the quota the certificate is refused by name (CertificateRefused), and the " +
			"one before it is served.",
		[]string{"test/alb TestASecretIsImportedOnceWhileTheIndexLags",
			"test/alb TestALostImportIsFoundWhileTheIndexLags", "test/alb TestImportsOfAYear",
			"test/albsim TestQuotasOfOtherServices"},
	},
	{
		"renewals-count", "An import in the place of another certificate counts among the imports of a " +
			"year, or does not.", "",
		Refused, "It is counted when imports of a namespace are paced. Beyond the quota the renewal is " +
			"refused by name (Rejected) and tried again, and the certificate before it is served.",
		[]string{"test/alb TestImportsOfAYear", "test/alb TestImportsOfANamespaceArePaced"},
	},
	{
		"import-keeps-tags", "Importing a certificate in the place of another one keeps its tags.",
		"https://docs.aws.amazon.com/acm/latest/APIReference/API_ImportCertificate.html", Tolerated,
		"The tags are written after the import.",
		[]string{"test/alb TestARenewedCertificateHasTheTagsOfItsClass",
			"test/moto TestDeviationsAreStillThere"},
	},
	{
		"lingering", "What was let go of counts as in use for a while.",
		"https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/deploy/elbv2/target_group_manager.go",
		Slower, "Deleting it is tried again, ever less often.",
		[]string{"test/albsim TestWhatWasInUseLingers",
			"test/alb TestWhatAnotherProcessLetGoOfIsAskedAboutOnce",
			"test/alb TestNoRequestEverGoesAstray"},
	},
	{
		"account-limits", "DescribeAccountLimits says the quotas of the account.",
		api + "API_DescribeAccountLimits.html",
		Refused, "AWS's published quotas count until a call is refused; what does not fit is refused " +
			"by name (QuotaExceeded).",
		[]string{"test/alb TestLimitsOfTheAccountChange", "test/alb TestQuotas",
			"test/moto TestLimitsThatAreAnExampleCountForNothing"},
	},
	{
		"canonical-ranges", "EC2 keeps ranges of addresses in one form, whatever form they are given " +
			"in, and refuses one that it has already.",
		"https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Ipv6Range.html",
		Tolerated, "Ranges are written and compared in that form. One that is refused as a duplicate " +
			"counts as there, and those to be taken away go all the same.",
		[]string{"test/alb TestRangesInAnotherForm"},
	},
	{
		"policy-of-https", "A listener that is changed from HTTP to HTTPS has to be given a security " +
			"policy.", api + "API_ModifyListener.html",
		Tolerated, "It is given the one that new listeners have, unless the class names one.",
		[]string{"test/alb TestAPortThatTurnsToHTTPS"},
	},
	{
		"rates", "Calls within the rates that AWS publishes are not refused.",
		"https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-api-throttling.html",
		Slower, "A refused call halves the rate, which is raised again by and by.",
		[]string{"test/alb TestNobodyAsksFasterThanAWSGrants", "test/alb TestWhoIsRefusedSlowsDown"},
	},
	{
		"new-to-waf", "AWS WAF does not know a load balancer that was made a moment ago, and says so " +
			"by WAFUnavailableEntity or by WAFNonexistentItem.",
		"https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2022",
		Slower, "The load balancer answers nothing that is to be behind the web ACL until this stands " +
			"there.",
		[]string{"test/alb TestAWSDoesNotFindYetWhatWasMade",
			"test/alb TestAWebACLStandsBeforeWhatAsksForIt"},
	},
	{
		"first-load-balancer", "The first load balancer of an account has AWS make a role for Elastic " +
			"Load Balancing, with the rights of the caller.",
		"https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-service-linked-roles.html",
		Tolerated, "The right goes unused.",
		[]string{"test/alb TestTheFirstLoadBalancerOfAnAccount"},
	},
	{
		"tags-at-once", "One call changes the tags of 20 resources.", api + "API_AddTags.html",
		Refused, "A load balancer is not taken over, or not given back: the command, or an event, says what AWS answers. It can be " +
			"repeated.",
		[]string{"test/check TestProveNamesWhatTakingOverAssumes"},
	},
	{
		"taken-name", "A load balancer is not created under the name of one that has other tags.",
		api + "API_CreateLoadBalancer.html",
		Tolerated, "The AWS Load Balancer Controller, started by accident while its load balancers have no owner, is answered with " +
			"one of them, and does not get its tags back.",
		[]string{"test/incumbent TestStarts", "test/check TestProveNamesWhatTakingOverAssumes"},
	},
}
