package diag

import (
	"path"
	"regexp"
	"strings"
)

// This file lists all reasons. A reason does not change, because alerts, dashboards and scripts
// match it. docs/reference/diagnostics.md is generated from this list.

// A Reason names a kind of diagnostic.
type Reason string

// Doc is the entry of one reason in the reference.
type Doc struct {
	Reason  Reason
	Meaning string
	Remedy  string
}

const (
	// Objects.

	Invalid              Reason = "Invalid"
	ClassMissing         Reason = "ClassMissing"
	ClassForeign         Reason = "ClassForeign"
	ClassUnknown         Reason = "ClassUnknown"
	ClassUnset           Reason = "ClassUnset"
	ClassConflict        Reason = "ClassConflict"
	ClassTaken           Reason = "ClassTaken"
	ParametersMissing    Reason = "ParametersMissing"
	ParametersForeign    Reason = "ParametersForeign"
	AnnotationInvalid    Reason = "AnnotationInvalid"
	AnnotationUnknown    Reason = "AnnotationUnknown"
	AnnotationNotAllowed Reason = "AnnotationNotAllowed"
	AnnotationForeign    Reason = "AnnotationForeign"
	AnnotationMisplaced  Reason = "AnnotationMisplaced"
	PathReadAsText       Reason = "PathReadAsText"
	SettingConflict      Reason = "SettingConflict"
	NotGroupOwner        Reason = "NotGroupOwner"
	Exposed              Reason = "Exposed"
	PortUnavailable      Reason = "PortUnavailable"
	GroupNotAllowed      Reason = "GroupNotAllowed"
	LoadBalancerQuota    Reason = "LoadBalancerQuota"
	HostNotAllowed       Reason = "HostNotAllowed"
	HostTaken            Reason = "HostTaken"
	LastGood             Reason = "LastGood"
	Vanished             Reason = "Vanished"
	ConsentWithdrawn     Reason = "ConsentWithdrawn"
	Rejected             Reason = "Rejected"
	TooComplex           Reason = "TooComplex"
	Omitted              Reason = "Omitted"

	// Backends.

	ServiceMissing       Reason = "ServiceMissing"
	ServicePortMissing   Reason = "ServicePortMissing"
	ServiceUnusable      Reason = "ServiceUnusable"
	ExternalNameRefused  Reason = "ExternalNameRefused"
	EndpointForeign      Reason = "EndpointForeign"
	TargetPortNotAllowed Reason = "TargetPortNotAllowed"

	TargetGroupNotAllowed Reason = "TargetGroupNotAllowed"
	TargetGroupMissing    Reason = "TargetGroupMissing"
	BindingConflict       Reason = "BindingConflict"
	BindingUnsupported    Reason = "BindingUnsupported"
	BindingNetworking     Reason = "BindingNetworking"
	BindingServed         Reason = "BindingServed"
	BindingForgotten      Reason = "BindingForgotten"

	NoEndpoints     Reason = "NoEndpoints"
	NoNodes         Reason = "NoNodes"
	NodesUnread     Reason = "NodesUnread"
	ResourceUnknown Reason = "ResourceUnknown"
	IPFamilyRefused Reason = "IPFamilyRefused"
	ResourceMissing Reason = "ResourceMissing"
	AuthUnavailable Reason = "AuthUnavailable"

	// Certificates.

	CertificateMissing Reason = "CertificateMissing"
	CertificateInvalid Reason = "CertificateInvalid"
	CertificateRefused Reason = "CertificateRefused"
	CertificateQuota   Reason = "CertificateQuota"
	CertificateForeign Reason = "CertificateForeign"
	CertificateUnused  Reason = "CertificateUnused"
	SecretUnread       Reason = "SecretUnread"
	HostNotCovered     Reason = "HostNotCovered"

	// Routing.

	Conflict        Reason = "Conflict"
	DefaultConflict Reason = "DefaultConflict"
	Unreachable     Reason = "Unreachable"
	HostMiss        Reason = "HostMiss"
	RedirectLoop    Reason = "RedirectLoop"
	OpenRoute       Reason = "OpenRoute"

	// Lowering and planning.

	NotExpressible  Reason = "NotExpressible"
	QuotaExceeded   Reason = "QuotaExceeded"
	NetworkUnmet    Reason = "NetworkUnmet"
	SettingsRefused Reason = "SettingsRefused"
	NameTaken       Reason = "NameTaken"
	WebACLMissing   Reason = "WebACLMissing"
	WebACLDiffers   Reason = "WebACLDiffers"
	NoShield        Reason = "NoShield"
	Protected       Reason = "Protected"
	DeleteFirst     Reason = "DeleteFirst"
	RedirectOrder   Reason = "RedirectOrder"
	UnknownRule     Reason = "UnknownRule"
	UnknownListener Reason = "UnknownListener"
	Unparked        Reason = "Unparked"
	Unread          Reason = "Unread"
	Impaired        Reason = "Impaired"

	ExpectationViolated Reason = "ExpectationViolated"
	PlanUnproven        Reason = "PlanUnproven"
	ChangeWaits         Reason = "ChangeWaits"
	HostClosed          Reason = "HostClosed"
)

// Ends of messages about requests for a backend without targets that another one has answered.
const (
	unlessServed = ", or go on to the backend that answered them before, for as long as the class's " +
		"`warmTimeout`."
	unlessMissed = ", or go on to the backend that answered them before, for half a minute."
)

// Plain writes each link as its words and its page in parentheses.
func (d Doc) Plain() Doc {
	plain := func(text string) string {
		return link.ReplaceAllStringFunc(text, func(found string) string {
			words, page, _ := strings.Cut(strings.Trim(found, "[)"), "](")
			return words + " (" + path.Join("docs/reference", page) + ")"
		})
	}
	return Doc{d.Reason, plain(d.Meaning), plain(d.Remedy)}
}

// link is one of Markdown, relative to the reference.
var link = regexp.MustCompile(`\[[^]]*\]\([^)]*\)`)

// Reasons has every reason with its documentation, in the order of the reference.
var Reasons = []Doc{
	{Invalid,
		"The API server would refuse the object; it is refused here for the same reason.",
		"Correct the field that the message names."},
	{ClassMissing,
		"The Ingress names an IngressClass that does not exist, in `spec.ingressClassName` or in the " +
			"annotation `kubernetes.io/ingress.class`. Its last accepted version stays served under the " +
			"class.",
		"Create the class, or name one that exists."},
	{ClassForeign,
		"The Ingress names an IngressClass of another controller, which is left to serve it. Its last " +
			"accepted version stays served until the class's `moveGrace` is over.",
		"Nothing, if another controller is to serve it. Else name a class of Fairlead's."},
	{ClassUnknown,
		"The annotation `kubernetes.io/ingress.class` has a name that no IngressClass has. Other " +
			"controllers take such names, so the Ingress is left alone, and only the command line says so.",
		"Nothing, if another controller is to serve it. Else name a class of Fairlead's."},
	{ClassUnset,
		"The Ingress names no class, so it is left alone. Its last accepted version stays served until " +
			"the class's `moveGrace` is over.",
		"Set `spec.ingressClassName`, or run the operator with `--watch-ingress-without-class`."},
	{ClassConflict,
		"`spec.ingressClassName` and the annotation `kubernetes.io/ingress.class` disagree; the " +
			"annotation decides.",
		"Remove the annotation."},
	{ClassTaken,
		"The IngressClass that `--manage-ingress-class` names belongs to another controller; it is " +
			"left as it is.",
		"Give `--manage-ingress-class` another name, or remove the other controller's class."},
	{ParametersMissing,
		"The IngressClass refers to parameters that do not exist or are of an unknown kind.",
		"Create the parameters object, or correct `spec.parameters` of the class."},
	{ParametersForeign,
		"A field of an IngressClassParams of the AWS Load Balancer Controller, which a class with `dialect: alb` reads, " +
			"has another effect than there. An error is a field that cannot be followed: Ingresses of the class stay " +
			"served as they were last accepted.",
		"The message says what to write."},
	{AnnotationInvalid,
		"The value of an annotation cannot be understood.",
		"Write the value as the annotation reference shows."},
	{AnnotationUnknown,
		"No annotation of this name exists under the prefix `fairlead.dev/`, or the prefix is missing " +
			"or misspelt. The Ingress is served without it, unless it seems to say who may connect or " +
			"what requests have to fulfil: then more would be exposed than was asked for.",
		"Check the spelling against the annotation reference; the message says what may have been " +
			"meant."},
	{AnnotationNotAllowed,
		"The class does not let authors of Ingresses use this annotation.",
		"Ask the owner of the class."},
	{AnnotationForeign,
		"The Ingress, or a Service that it refers to, has annotations of another controller, which " +
			"Fairlead does not read. Where one of them restricts who is answered, the Ingress is not " +
			"served as it is, since more would be exposed than was asked for: an error. Otherwise it is " +
			"served without them: a warning.",
		"The message names what stands for them here, where something does, and so does the " +
			"[table](foreign-annotations.md). `foreignAnnotations` of the class can be `Warn` or `Ignore` " +
			"for Ingresses that two controllers serve on purpose."},
	{AnnotationMisplaced,
		"A Service has annotations of Fairlead that are read on Ingresses only: they are not about the " +
			"ports of a Service alone.",
		"Put them on the Ingress."},
	{PathReadAsText,
		"A path looks like a regular expression, or like a template, and its characters are compared " +
			"as they are.",
		"Set `implementationSpecific: Regex` on the class and the type ImplementationSpecific on the " +
			"path. A regular expression is compared with the whole path, the leading slash included."},
	{SettingConflict,
		"Members of one load balancer ask for different values of one setting; the oldest decides.",
		"Make the members agree, or set the value on the class."},
	{NotGroupOwner,
		"A setting of a whole port or load balancer does not count in a group across namespaces: it is " +
			"neither the class's nor that of the namespace that owns the group.",
		"Ask the owner of the class to set it there, or to name the namespace as `owner` of the group; " +
			"or use a load balancer of your own."},
	{Exposed,
		"The port has a setting that would expose the Ingress more than it asks for, so it is not " +
			"served there.",
		"Ask for what the message says is in force, use another port, or use a load balancer of your " +
			"own."},
	{PortUnavailable,
		"The port speaks another protocol, or the group does not have it, so the Ingress is not served " +
			"there.",
		"Use another port, or have the class or the owner of the group list the port."},
	{GroupNotAllowed,
		"The class does not let this namespace join the group.",
		"Ask the owner of the class to list the namespace."},
	{LoadBalancerQuota,
		"The class bounds how many load balancers a namespace may have (`loadBalancers.perNamespace`), " +
			"and the Ingress needs one more. Those count, too, that are kept without Ingresses, that " +
			"Ingresses are moving away from, or whose Ingresses vanished. An Ingress that was served " +
			"before is served where it was.",
		"The message has the load balancers that count. Use one of them: with the annotation " +
			"`fairlead.dev/group`, or, if it is kept, by an Ingress of the same name or group. Or ask the " +
			"owner of the class to raise the bound, or to delete one that is kept. The Ingress is served " +
			"as soon as there is room."},
	{HostNotAllowed,
		"The class does not let this namespace serve the host.",
		"Ask the owner of the class, or use an allowed host."},
	{HostTaken,
		"In a group across namespaces, the host belongs to the namespace that named it first, or that " +
			"the class grants it. The namespace that asks for it too is not served there; its owner " +
			"gets an event.",
		"Use another host, or ask the owner of the class to grant the host in `allowedHosts`, or to " +
			"set `hosts: Shared`."},
	{LastGood,
		"The object as it is now is not accepted; its last accepted version keeps being served.",
		"Correct the object; the other diagnostics say what is wrong."},
	{Vanished,
		"The Ingress or TargetGroupBinding is gone, and Fairlead has not released it: its finalizer was " +
			"removed by force, or the API server was restored from an older state. An Ingress is served as it " +
			"was last accepted until `--vanished-grace` is over, and the targets of a TargetGroupBinding stay " +
			"as long. Where three or more namespaces have lost Ingresses within that time, theirs are served " +
			"until that is confirmed on the LoadBalancer.",
		"Make the object again if it is to stay. If it is to go, wait, or confirm it with the " +
			"annotation `fairlead.dev/confirm-vanished` that the condition Degraded of the LoadBalancer " +
			"names."},
	{ConsentWithdrawn,
		"The class does not permit any more what was last accepted of the Ingress: its namespace in " +
			"the group, its hosts, or an annotation without which more would be exposed. It is not served " +
			"so any longer, from the moment on when the class, or the labels of the namespace, changed.",
		"Ask the owner of the class, or ask for what the class permits; the message says what it does " +
			"not."},
	{Rejected,
		"The cloud refused what this Ingress asks for.",
		"The message carries the cloud's words; change the Ingress or the limit that it names. If room " +
			"may become free, it is tried again within ten minutes."},
	{TooComplex,
		"A part of the Ingress takes more memory or time than one Ingress may take, so it is left out. " +
			"Where all of the Ingress is left out, its last accepted version keeps being served, unless " +
			"the load balancer has no room for it among its members.",
		"The message names what to simplify."},
	{Omitted,
		"There is more to say about the object than is kept: the first of each reason is, and errors " +
			"before the rest.",
		"Correct what the other diagnostics say; the rest follows."},
	{ServiceMissing, "The Service does not exist. Until it does requests are answered 503" +
		unlessMissed, "Create the Service or correct the name."},
	{ServicePortMissing, "The Service has no such port. Until it does requests are answered 503" +
		unlessMissed + " If the port is one for health checks, requests are answered, and targets are " +
		"checked on the port that serves.", "Correct the port's name or number."},
	{ServiceUnusable,
		"The Service cannot be a backend in the way it is asked for.",
		"The message says which combination does not work."},
	{ExternalNameRefused,
		"A Service of type ExternalName is a backend only where the class allows it, and where the " +
			"cloud sends requests to names: AWS sends them to addresses only.",
		"Use a Service with endpoints, or set `allowExternalNames` on the class."},
	{EndpointForeign,
		"Endpoints of the Service are left out: they are not the addresses of Pods of its namespace, " +
			"by the `targetRef` of the endpoint and the status of the Pod; or they are loopback, " +
			"link-local, unspecified or multicast, which are never targets. Where targets are instances, " +
			"nothing is sent to such a Service at all, since nodes pass requests on to any endpoint.",
		"Use a Service with a selector, or ask the owner of the class for `foreignEndpoints: true`. " +
			"For information: there are no Pods among the files, so endpoints are taken for what they say."},
	{TargetPortNotAllowed,
		"The class does not let load balancers reach targets on this port, whether to send requests " +
			"there or to check health; or the namespace has targets on as many ports as it may have. " +
			"Firewalls are not opened for it.",
		"Use a port that the message names, or ask the owner of the class to add it to `targetPorts`."},
	{TargetGroupNotAllowed,
		"The class does not let Backends forward to this target group, which others made. Requests for " +
			"the Backend are answered 503. Or no class lets a TargetGroupBinding of this namespace have " +
			"endpoints registered there.",
		"Ask the owner of the class to add the ARN to `allowedTargetGroups`, or, for a " +
			"TargetGroupBinding, to `targetGroupBindings`."},
	{TargetGroupMissing,
		"The target group of a TargetGroupBinding does not exist in the account and region.",
		"Create it, or correct the ARN; it is found within ten minutes."},
	{BindingConflict,
		"The target group of a TargetGroupBinding has targets of another one, of the AWS Load Balancer " +
			"Controller, or of a load balancer of Fairlead's. Each would remove the targets of the other.",
		"Use another target group. Bindings that all say `multiClusterTargetGroup: true` can share one."},
	{BindingUnsupported,
		"Fairlead cannot do what the TargetGroupBinding asks for, so it registers no targets.",
		"Leave the binding to the AWS Load Balancer Controller, or change what the message names."},
	{BindingNetworking,
		"The TargetGroupBinding is served, and the rules of security groups that it asks for are not made.",
		"Add rules to the security groups of the nodes or Pods, so that the load balancer reaches them."},
	{BindingServed,
		"The endpoints of the Service of a TargetGroupBinding are registered in its target group.",
		"For information."},
	{BindingForgotten,
		"The LoadBalancer that remembers the targets of a TargetGroupBinding was deleted. Targets that were " +
			"registered for the binding before, and are no endpoints of its Service any more, stay in the " +
			"target group.",
		"Deregister these targets. Leave LoadBalancers with the label `fairlead.dev/target-group-binding` to the operator."},
	{NoEndpoints, "The Service has no ready endpoint. Until it has one requests are answered 503" +
		unlessServed, "Check the Service's selector and its pods."},
	{NoNodes, "Targets are instances, and no node can be sent requests for the Service. Until one " +
		"can they are answered 503" + unlessServed, "Check that nodes are there, have an internal " +
		"address, and lack the label `node.kubernetes.io/exclude-from-external-load-balancers`; with " +
		"`externalTrafficPolicy: Local`, that they run a ready pod."},
	{ResourceUnknown,
		"The backend refers to a kind of resource that is not supported.",
		"Use a Service, or a `Backend` of `fairlead.dev`."},
	{ResourceMissing,
		"The resource that the backend refers to does not exist.",
		"Create it in the Ingress's namespace."},
	{IPFamilyRefused,
		"The Service has IPv6 addresses only, and the load balancer has IPv4 addresses only, so the " +
			"cloud sends it no requests: they are answered 503.",
		"Set `ipFamily: dualstack` in the class, or give the Service IPv4 addresses."},
	{NodesUnread,
		"Targets are instances, and Nodes could not be read. Served routes stay, with their targets, " +
			"and an Ingress that is new or has changed waits. Other Ingresses are served as ever. They " +
			"are read again within a minute.",
		"Give the operator the rights to list and to watch Nodes, or use target type `ip`."},
	{AuthUnavailable,
		"Users would have to sign in and cannot; requests are answered 503, and never let through.",
		"Create the Secret with the keys `clientID` and `clientSecret`, or have the host served over " +
			"HTTPS."},
	{CertificateMissing,
		"No certificate is found for the host, so it is left out of the HTTPS port; other ports serve " +
			"it.",
		"Create the Secret; it is picked up when it appears."},
	{CertificateInvalid,
		"The Secret holds no certificate with its key, or one that has expired: the one that it held " +
			"last goes on being served, and without one the host is left out of the HTTPS port. Or it " +
			"holds one for other hosts, which is served all the same.",
		"Store a PEM certificate chain in `tls.crt` and its key in `tls.key`."},
	{CertificateRefused,
		"The cloud did not take the certificate of the Secret: the one that it held last goes on being " +
			"served, and without one the host is left out of the HTTPS port; other ports serve it.",
		"The message carries the cloud's words; give the Secret another certificate, or make room for " +
			"it."},
	{CertificateQuota,
		"The class bounds how many certificates of Secrets a namespace may have in the cloud " +
			"(`loadBalancers.certificatesPerNamespace`), and this would be one more. It is not " +
			"imported, and the host is left out of the HTTPS port; other ports serve it. Certificates " +
			"that the cloud has stay, and are renewed.",
		"Use one certificate for several hosts, or remove entries of `spec.tls` without need. Or ask " +
			"the owner of the class to raise the bound. The certificate is imported within ten " +
			"minutes when there is room."},
	{CertificateForeign,
		"The certificate has a name that its namespace may not serve here: one that the class's " +
			"`allowedHosts` do not have, or, in a group across namespaces, one for a host of another " +
			"namespace. The certificate that the Secret held last goes on being served if it may be, and " +
			"without one the host is left out of the HTTPS port. Or a certificate of another namespace " +
			"that has a name for the host was there first: then it is the host that is left out of the " +
			"HTTPS port. The other side gets an event for information.",
		"Use a certificate that has no other names than the hosts of its namespace, or ask the owner " +
			"of the class to grant the hosts in `allowedHosts`. In a group with `hosts: Shared` " +
			"certificates are not compared with hosts."},
	{SecretUnread,
		"The Secret could not be read. The certificate, or the client for signing in, that it held " +
			"last goes on being served; without one the host is left out of the HTTPS port, and requests " +
			"that need to be signed in are answered 503. Other Ingresses are served as ever. It is read " +
			"again within a minute.",
		"The message carries the API server's words. Give the operator the right to read the Secret, " +
			"or make a Secret anew that the API server cannot decrypt."},
	{CertificateUnused,
		"A host in `spec.tls` is answered by no rule of the Ingress, neither one for the host, nor one " +
			"for its wildcard, nor one without a host, and there is no default backend: nothing is served " +
			"for it over HTTPS.",
		"Add a rule for the host, or list no hosts to cover everything."},
	{HostNotCovered,
		"An HTTPS port is asked for, but no entry of `spec.tls` covers this host.",
		"List the host in `spec.tls`."},
	{Conflict,
		"Two routes match exactly the same requests; one of them answers.",
		"Remove one of them; the message names the winner and a request."},
	{DefaultConflict,
		"Two default backends stand for the same requests; the oldest answers.",
		"Remove one of them."},
	{Unreachable,
		"More specific routes match every request that this route could, or no request has a path that " +
			"it matches.",
		"Remove it, or narrow the others; the message says which."},
	{HostMiss,
		"Requests for this host that match none of its paths do not fall through to a less specific " +
			"host.",
		"Add the path to the more specific host, or set `hostMiss: LessSpecific` on the class. Where " +
			"hosts have owners, misses go on to hosts of the same namespace only."},
	{RedirectLoop,
		"A redirect sends requests of a port to where they come from. One that does so with all of them is " +
			"left out on that port, and they go on to the next path.",
		"If that is not meant, redirect from an Ingress that is not served on that port, or change more of the URL."},
	{OpenRoute,
		"Users sign in before they reach a Service, and an open route of the same load balancer leads " +
			"to it as well. Paths are compared byte by byte, so that `/%61dmin`, `//admin` and `/ADMIN` " +
			"are not `/admin` here, and may be to the Service.",
		"Authenticate on the open route too, which is `/` in most cases; give what is to stay open an " +
			"Exact path or a Service of its own; or have the Service check the token that the load " +
			"balancer sends along."},
	{NotExpressible,
		"The cloud's rules cannot say this exactly, so it is not served.",
		"The message says which limit is in the way."},
	{QuotaExceeded,
		"The load balancer has no room for this. What was served before stays, unless its namespace " +
			"takes more than an equal share of the quota, and another one needs its own.",
		"Raise the quota, remove routes, or use another group."},
	{NetworkUnmet,
		"The cloud has no such network as the class asks for: subnets or security groups are missing, " +
			"or a security group of the nodes takes no rule; or there is none such as an Ingress asks for. A " +
			"load balancer that is there keeps its subnets and its groups, and none is made without the " +
			"security groups that it is to have.",
		"The message says what is missing, or why; create it, or correct the class or the Ingress."},
	{SettingsRefused,
		"The provider does not take what `spec.provider` of the class or of the Backend says. Of a " +
			"class, what asks for the load balancer anew is not served, and what was served before stays; " +
			"requests for a Backend are answered 503.",
		"The message says what is wrong and where; docs/how-to/provider.md says what each provider takes."},
	{NameTaken,
		"Another load balancer has the name that this one is to have. A new Ingress that asks for it " +
			"is not served; Ingresses that are served stay.",
		"Ask for another name, or let the other load balancer go; a name that is free is found to be " +
			"so within ten minutes."},
	{WebACLMissing,
		"There is no such web ACL to stand before the load balancer. A new Ingress that asks for it is " +
			"not served without it; Ingresses that are served stay.",
		"Create the web ACL in the load balancer's region, or correct its name; it is found within ten " +
			"minutes."},
	{WebACLDiffers,
		"Another web ACL stands before the load balancer than the one that the Ingress asks for. A new " +
			"Ingress that asks for it is not served; Ingresses that are served stay as they were, unless " +
			"they ask for another one, too.",
		"Ask for the same web ACL, set one on the class, or use a load balancer of your own."},
	{NoShield,
		"The load balancer cannot have the protection that is asked for, and is served without it.",
		"Subscribe to AWS Shield Advanced, or do not ask for it."},
	{Protected,
		"No Ingress asks for the load balancer any more, but it is protected from being deleted: it " +
			"stays as it is, and goes on answering.",
		"Take the protection away where it comes from, in the attributes of the class or in the cloud, " +
			"if it is to go."},
	{DeleteFirst,
		"The load balancer is full, so a rule is removed before its successor exists.",
		"Keep room for a rule below the quota, or apply at a quiet hour."},
	{RedirectOrder,
		"Ports that redirect to each other change in ways that no order of steps keeps apart.",
		"Change one port at a time, or apply at a quiet hour."},
	{UnknownRule,
		"Another writer has created a rule in a listener of the load balancer. It is removed, or " +
			"stays, as `unknownRules` of the class says.",
		"Say it with an Ingress; or set `unknownRules: Keep` on the class, and mind that such a rule " +
			"goes before those behind it."},
	{UnknownListener,
		"Others made a listener of the load balancer before it was taken over from them, or since. It stays as it is while no " +
			"Ingress asks for its port, and the load balancer stays with it, unless `unknownListeners` of the class says Remove. " +
			"If an Ingress asks for the port, the listener gets the rules of the Ingresses.",
		"To keep it, change no Ingress to ask for its port. To have it go, delete it, or set `unknownListeners: Remove` on the " +
			"class."},
	{Unparked,
		"There is no room for the rule that has the cloud check the health of a backend's targets " +
			"before they are sent requests, or the cloud refused it. The change is made without it: " +
			"requests that another backend answered before may be answered 503 until a target is healthy.",
		"Keep room for a rule below the quota. Where the cloud refused the rule, the message carries " +
			"its words, which are worth a report."},
	{Unread,
		"The cloud does not let settings of the load balancer be read, or what its Ingresses ask for " +
			"be looked up, so changes from elsewhere are not found. Routes are kept as ever, and these " +
			"settings are assumed to be as they were written, or as they were found before. They are read " +
			"again within an hour.",
		"Give the operator the right that the message names, or take away what is in its way."},
	{Impaired,
		"The load balancer answers requests, and the cloud says that it lacks resources to grow with " +
			"them. It is served as ever.",
		"Take away the cause that the message names: on AWS, subnets without free addresses."},
	{PlanUnproven, "The check of a plan, which is independent of the planner, says that requests " +
		"would get another answer on its way than before or after it. Nothing is changed, unless " +
		"`unprovenPlans: CarryOut` of the class says so.",
		"See [what to do](../how-to/troubleshoot.md#a-plan-is-not-proven), and report the plan, which is in the " +
			"log."},
	{ChangeWaits, "A change of this Ingress, or its deletion, is not carried out yet. Until then it " +
		"is served as it was last accepted; an Ingress that was never accepted is not served.",
		"The message has the reason, and who can end it."},
	{ExpectationViolated, "Requests that this answers are answered as an " +
		"[expectation](../how-to/verify.md) of the class rules out, or would be by a plan that is not " +
		"carried out. The message has a request and says what is wrong.",
		"Change the Ingress so that the expectation holds, or ask the owner of the class to change it."},
	{HostClosed, "A wildcard or a rule without a host of this Ingress does not answer for a host that " +
		"another namespace has given up: an [expectation](../how-to/verify.md) of the class rules its " +
		"answer out, or expectations cannot be read. Requests for the host are answered 404. Other hosts " +
		"are served.",
		"Name the host in an Ingress, with answers for which the expectation holds, or leave it closed. " +
			"The owner of the class can change the expectation, or `allowedHosts`."},
}
