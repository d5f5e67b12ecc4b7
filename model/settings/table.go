package settings

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the table: the names of annotations, the fields for their values, and a row for
// each setting. Bounds of attributes must be those of the cloud, as in model/lb/alb.go.

// The names of annotations.
const (
	IngressClass          = "kubernetes.io/ingress.class"
	Group                 = Prefix + "group"
	Order                 = Prefix + "order"
	Scheme                = Prefix + "scheme"
	LoadBalancerName      = Prefix + "load-balancer-name"
	TargetType            = Prefix + "target-type"
	TargetNodeLabels      = Prefix + "target-node-labels"
	BackendProtocol       = Prefix + "backend-protocol"
	BackendVersion        = Prefix + "backend-protocol-version"
	TargetGroupAttributes = Prefix + "target-group-attributes"
	DeregistrationDelay   = Prefix + "deregistration-delay-seconds"
	ListenPorts           = Prefix + "listen-ports"
	SSLRedirect           = Prefix + "ssl-redirect"
	RequestConditions     = Prefix + "conditions"
	Backends              = Prefix + "backends"
	CertificateARN        = Prefix + "certificate-arn"
	TLSPolicy             = Prefix + "tls-policy"
	Inbound               = Prefix + "inbound"
	WAFv2ACL              = Prefix + "wafv2-acl"
	ShieldAdvanced        = Prefix + "shield-advanced"
	IdleTimeout           = Prefix + "idle-timeout-seconds"

	LoadBalancerAttributes = Prefix + "load-balancer-attributes"
	ImplementationSpecific = Prefix + "implementation-specific"
	ListenerAttributes     = Prefix + "listener-attributes"
	MutualAuthentication   = Prefix + "mutual-authentication"
	Tags                   = Prefix + "tags"
	IPFamily               = Prefix + "ip-family"
	Subnets                = Prefix + "subnets"
	SecurityGroups         = Prefix + "security-groups"

	HealthPath      = Prefix + "health-check-path"
	HealthPort      = Prefix + "health-check-port"
	HealthProtocol  = Prefix + "health-check-protocol"
	HealthInterval  = Prefix + "health-check-interval-seconds"
	HealthTimeout   = Prefix + "health-check-timeout-seconds"
	HealthHealthy   = Prefix + "health-check-healthy-threshold"
	HealthUnhealthy = Prefix + "health-check-unhealthy-threshold"
	HealthCodes     = Prefix + "health-check-success-codes"
)

// Values holds the settings of an Ingress: from its annotations, its class, or the defaults.
type Values struct {
	Group            string
	Order            int
	Scheme           string
	LoadBalancerName string
	TargetType       string
	NodeLabels       string           // "name=value,…", sorted: of the nodes that are targets; "" for all
	Protocol         routing.Protocol // of targets; "" if the Ingress does not set it
	Version          routing.Version  // of HTTP of targets; "" if the Ingress does not set it
	Ports            []v1alpha1.ListenPort
	SSLRedirect      int32  // the HTTPS port that requests over HTTP are redirected to; 0: none
	SSLRedirectAll   bool   // those that no rule matches, and those of ACME, too
	TLSPolicy        string // that the Ingress asks for
	TLSPolicyOfClass string // for all ports
	Certificates     []routing.CertificateID
	Inbound          []string // nil: all clients
	WebACL           string
	Shield           string // true, false, or "" if unset
	Conditions       Conditions
	// Backends are those that the Ingress brings, by name.
	Backends map[string]*v1alpha1.BackendSpec
	// ImplementationSpecific is how paths of that type are read; "" is as v1alpha1.ReadFairlead.
	ImplementationSpecific string
	// GroupAttributes are the attributes of target groups that the Ingress asks for, by name.
	GroupAttributes Attributes
	// BalancerAttributes has the attributes of load balancers that the Ingress sets, by name.
	BalancerAttributes Attributes
	// PortAttributes has the attributes of listeners that the Ingress sets, by port and name.
	PortAttributes map[int32]map[string]string
	Mutual         MutualSetting
	Tags           map[string]string // of the load balancer, without those of the class
	IPFamily       string            // of the load balancer
	Subnets        []string          // of the load balancer, by ID or name, sorted
	// SecurityGroups has those that the Ingress asks for by ID or name, sorted, and
	// SecurityGroupsOfClass those of the class.
	SecurityGroups, SecurityGroupsOfClass []string
	// HealthAsked has the Ingress's settings of health checks, by annotation, for HealthCheck.
	HealthAsked map[string]string
	health      routing.HealthCheck

	// Uncounted has the Ingress's settings of whole ports and load balancers, if others decide about
	// these.
	Uncounted *Values
}

// The defaults of waits, which only classes have.
const (
	DefaultWarmTimeout = 5 * time.Minute
	DefaultMoveGrace   = 10 * time.Minute
)

type class = v1alpha1.LoadBalancerClassSpec

// Table has all settings, in the order of the reference page.
var Table = []Setting{
	{
		Annotation: IngressClass, Type: text("name of a class", nil), Without: "`spec.ingressClassName`",
		About: Placement, Merge: Own, Example: "fairlead",
		Doc: "The class, as it was written before `spec.ingressClassName`. It takes priority over the " +
			"field. It means the IngressClass of that name, with its parameters. Where there is none the " +
			"Ingress gets the event `ClassMissing` if the value is `fairlead`, a name that a setting of the " +
			"operator has, or what Fairlead served it under, and what is served stays as it was last " +
			"accepted; any other value is left to other controllers. Only with " +
			"[`--ingress-class-literal`](run.md) does a value stand for a class without parameters where " +
			"no IngressClass has that name. A class cannot forbid the annotation: it leads to no more " +
			"than the field does.",
	},
	{
		Annotation: Group, Type: Type{Bound: groupName,
			words: "name: lower-case letters, digits, dashes and dots, at most 63"},
		Without: "a load balancer of its own",
		About:   Placement, Merge: Own, Example: "shop",
		Doc: "Ingresses of one namespace and class that name the same group share a load balancer. " +
			"Across namespaces they do so where the class lists the group and its selector selects the " +
			"namespace.",
		Good: []string{"a", "shop-1", "shop.example.com"},
		Bad:  []string{"", "Shop", "a.", "@a", "a/b", "-a", "a_b"},
		put:  func(v *Values, text string) error { v.Group = text; return nil },
	},
	{
		Annotation: Order, Type: number(-1000, 1000), Default: "0",
		About: Ingress, Merge: Own, Example: "-10",
		Doc: "Which Ingress comes first where several claim the same requests or settings: the lower " +
			"order, before age is looked at. It never changes which path is more specific. The class has " +
			"to permit it with `order: true`.",
		Good: []string{"0", "-1000", "1000"}, Bad: []string{"", "1001", "1.5", "first"},
		put: func(v *Values, text string) (err error) {
			v.Order, err = strconv.Atoi(text)
			return err
		},
		forbidden: func(c *class) bool { return !c.Order },
	},
	{
		Annotation: Scheme, Class: "scheme", Type: oneOf(v1alpha1.SchemeInternal,
			v1alpha1.SchemeInternetFacing), Default: v1alpha1.SchemeInternal,
		About: Placement, Merge: OwnLoadBalancer, Decides: ClassDecides,
		Example: v1alpha1.SchemeInternetFacing,
		Doc: "Where the load balancer can be reached from. Where the class sets a scheme, no other can " +
			"be asked for. A change is a move to another load balancer.",
		Good: []string{"internal", "internet-facing"}, Bad: []string{"", "public", "Internal"},
		Restricts: true, OtherNames: []string{"loadbalancerscheme", "visibility", "exposure",
			"networktype", "loadbalancertype"},
		put:     func(v *Values, text string) error { v.Scheme = text; return nil },
		ofClass: fieldOf(func(c *class) string { return c.Scheme }),
		exposes: func(value string, given Values) bool {
			return value != v1alpha1.SchemeInternetFacing && given.Scheme != v1alpha1.SchemeInternal
		},
	},
	{
		Annotation: LoadBalancerName, Class: "loadBalancerName", Type: loadBalancerName,
		Without: "one that is made of its key", About: Placement, Merge: OwnLoadBalancer,
		Decides: ClassDecides, Example: "shop-edge",
		Doc: "The name of the load balancer in the cloud. Where the class sets a name, no other can be " +
			"asked for. It has no dash at either end, and begins with neither `fl-`, as the others do, " +
			"nor `internal-`. Nothing else in the account may have it: an Ingress that asks for a name " +
			"that is taken gets an event, and is served once it is free. A change is a move to another load " +
			"balancer, and so is a change of the group or the scheme, with which the name has to change.",
		Good: []string{"Shop-1", "a"},
		Bad: []string{"", "shop-", "-shop", "shop_edge", "Internal-1", "fl-shop", "a b",
			"a-name-of-thirty-three-characters"},
		put:     func(v *Values, text string) error { v.LoadBalancerName = text; return nil },
		ofClass: fieldOf(func(c *class) string { return c.LoadBalancerName }),
	},
	{
		Annotation: TargetType, Class: "targetType",
		Type: oneOf(v1alpha1.TargetTypeIP, v1alpha1.TargetTypeInstance), Default: v1alpha1.TargetTypeIP,
		About: ServicePorts, Merge: OwnTargets, Needs: "targets of that type",
		Example: v1alpha1.TargetTypeIP,
		Doc: "The targets of requests: the addresses of pods, or the node port of a Service of type " +
			"NodePort or LoadBalancer, on every node that is ready; with `externalTrafficPolicy: Local`, " +
			"on those that run a ready pod of the Service. Nodes that are being removed or shut down, or " +
			"carry the label `node.kubernetes.io/exclude-from-external-load-balancers`, are left out; " +
			"cordoned ones are not.",
		Good: []string{"ip", "instance"}, Bad: []string{"", "IP", "lambda"},
		put:     func(v *Values, text string) error { v.TargetType = text; return nil },
		ofClass: fieldOf(func(c *class) string { return c.TargetType }),
	},
	{
		Annotation: TargetNodeLabels, Type: list("list of `name=value`", 1, mostNodeLabels, nil),
		Without: "all nodes", About: ServicePorts, Merge: OwnTargets,
		Needs: "targets of type `instance`", Example: "pool=web,node.kubernetes.io/instance-type=m7g.large",
		Doc: "The labels of the nodes that requests are sent to: a node has to have all of them. It counts " +
			"for target type `instance`; with another one, the author gets an event. Without a node that " +
			"has them, requests are answered 503. A node that loses such a label is removed from the " +
			"targets.",
		Good: []string{"pool=web", "a.b/c=d, node-role.kubernetes.io/worker="},
		Bad:  []string{"", "pool", "=web", "pool=a b", "po/o/l=web", "pool=a,pool=b"},
		put: func(v *Values, text string) (err error) {
			v.NodeLabels, err = parseNodeLabels(text)
			return err
		},
	},
	{
		Annotation: BackendProtocol, Type: oneOf(v1alpha1.ProtocolHTTP, v1alpha1.ProtocolHTTPS),
		Without: "what `appProtocol` of the Service's port says, else `HTTP`",
		About:   ServicePorts, Merge: OwnTargets, Example: v1alpha1.ProtocolHTTPS,
		Doc: "Whether targets are spoken to in the clear or over TLS. Their certificates are not " +
			"verified. Of `appProtocol`, `https` and `kubernetes.io/wss` say HTTPS.",
		Good: []string{"HTTP", "HTTPS"}, Bad: []string{"", "http", "TCP"},
		put: func(v *Values, text string) error { v.Protocol = routing.Protocol(text); return nil },
	},
	{
		Annotation: BackendVersion, Type: oneOf(routing.VersionHTTP1, routing.VersionHTTP2,
			routing.VersionGRPC), Without: "what `appProtocol` of the Service's port says, else `HTTP1`",
		About: ServicePorts, Merge: OwnTargets, Needs: "`HTTP2` and `GRPC`: on AWS, an HTTPS port",
		Example: string(routing.VersionGRPC),
		Doc: "The version of HTTP that targets speak. Of `appProtocol`, `kubernetes.io/h2c` says HTTP2 " +
			"and `grpc` says GRPC. Where the cloud cannot serve them on a port, they are refused there, " +
			"by name.",
		Good: []string{"HTTP1", "HTTP2", "GRPC"}, Bad: []string{"", "HTTP/2", "grpc"},
		put: func(v *Values, text string) error { v.Version = routing.Version(text); return nil },
	},
	{
		Annotation: TargetGroupAttributes, Type: list("list of `name=value`", 0, mostAttributes, nil),
		Without: "the cloud's defaults",
		About:   ServicePorts, Merge: OldestPerTargets,
		Needs:   "attributes of target groups of these names, which AWS has",
		Example: "deregistration_delay.timeout_seconds=30,stickiness.enabled=true",
		Doc: "Attributes of target groups, in the cloud's own terms. They change in place, and one " +
			"that is removed goes back to the cloud's default. One that the cloud does not have, or not " +
			"with that value, is left out, and its author gets an event.",
		Good: []string{"a=b", "deregistration_delay.timeout_seconds=30, stickiness.enabled=true"},
		Bad:  []string{"", "a", "a=", "=b", "a=b,a=c"},
		put:  putListed(TargetGroupAttributes, groupAttributes),
	},
	ofTargetGroups("deregistration_delay.timeout_seconds", Setting{
		Annotation: DeregistrationDelay, Type: seconds(0, 3600), Example: "30",
		Doc: "How long requests under way may take, once their target is removed, before the load " +
			"balancer closes their connections.",
		Good: []string{"0", "30", "3600"}, Bad: []string{"", "-1", "3601", "30s"},
	}),
	{
		Annotation: ListenPorts, Class: "listenPorts",
		Type: list("list of `HTTP:port` and `HTTPS:port`, or the same as JSON", 1, mostPorts,
			checkPortsText), Default: "HTTP:80",
		About: Ingress, Merge: Own, Merged: "each Ingress is served on its own; where two want " +
			"different protocols on a port, the oldest decides, and the other is not served there",
		Example: "HTTP:80,HTTPS:443",
		Doc: "The ports that serve the Ingress, at most 50. Hosts that `spec.tls` covers are served on " +
			"the HTTPS ports besides, on 443 if none is listed. `[{\"HTTP\":80},{\"HTTPS\":443}]` says " +
			"the same as the example. In a group across namespaces there are HTTP on 80 and HTTPS on 443, " +
			"the `listenPorts` of the class, and what Ingresses of the group's owner ask for; an Ingress " +
			"chooses among them, and is not served on any other port.",
		Good:    []string{"HTTP:80", "HTTP:80,HTTPS:443"},
		Bad:     []string{"", "80", "http:80", "HTTP:0", "HTTP:65536", "HTTP:80,HTTPS:80", "TCP:80"},
		put:     func(v *Values, text string) (err error) { v.Ports, err = ParsePorts(text); return err },
		ofClass: func(c *class) (string, bool) { return portsText(c.ListenPorts), c.ListenPorts != nil },
		exposes: func(value string, given Values) bool { return opensOtherPorts(value, given.Ports) },
	},
	{
		Annotation: SSLRedirect, Class: "sslRedirect", Type: redirectPort,
		Without: "requests over HTTP are answered like those over HTTPS",
		About:   Ingress, Merge: Own, Example: "443",
		Doc: "The HTTPS port to which requests on the HTTP ports of the Ingress are redirected, with " +
			"status 301. They are those of its paths and its default backend, for each host that it serves " +
			"on that port. Requests below `/.well-known/acme-challenge/` are not redirected. A redirect " +
			"ranks like the path. An Ingress that names a port on which it does not listen for HTTPS is " +
			"refused; a port of the class is for the Ingresses that do. `443,all` redirects those below that path, " +
			"too, and what no rule matches: on the hosts of the Ingress, and of any other host, where its " +
			"namespace may answer for these. There, it counts as a default backend over HTTP: the oldest answers.",
		Good:      []string{"443", "1", "65535", "443,all"},
		Bad:       []string{"", "true", "0", "65536", "0443", "HTTPS:443", "all", "443, all", "443,none"},
		Restricts: true, OtherNames: []string{"forcesslredirect", "httpsredirect", "redirecttohttps",
			"httptohttps", "forcehttps", "sslredirectport"},
		put: func(v *Values, text string) error {
			number, all := strings.CutSuffix(text, RedirectsAll)
			port, err := integer(number, 1, 65535)
			v.SSLRedirect, v.SSLRedirectAll = int32(port), all
			return err
		},
		ofClass: fieldOf(func(c *class) string { return c.SSLRedirect }),
		exposes: func(value string, given Values) bool {
			port, all := strings.CutSuffix(value, RedirectsAll)
			return port != strconv.Itoa(int(given.SSLRedirect)) || all && !given.SSLRedirectAll
		},
	},
	{
		Annotation: RequestConditions, Type: text("list of entries, in YAML or JSON", nil),
		Without: "host and path decide alone",
		About:   Ingress, Merge: Own, Example: `[{"backend": "canary", "header": {"X-Canary": ` +
			`["always"]}}]`,
		Doc: "Conditions of requests besides host and path. An entry is about the paths of a " +
			"`backend`, which is the name of a Service or Backend, about a `path`, about a `ruleHost` (\"\" " +
			"for rules without one), both as they are spelt in the spec, about all of these, or about all " +
			"paths of the Ingress. It has `header` and `query`, each a name with its values, and the lists " +
			"`method`, `source`, `host` and `queryStrings`. A request fulfils all of them, " +
			"each by one of its values, and those of every entry that is about the path. Entries that " +
			"give a path two conditions on one header, on one query parameter, on the method, the host or the " +
			"source are refused: write all values in one. In the values of headers, hosts and query " +
			"parameters `*` stands for any text and `?` for one character, and case makes no " +
			"difference. A query string is `name=value`, or a value of any parameter. `headerRegex` and " +
			"`hostRegex` have regular expressions in place of such values, which match the whole text; case " +
			"makes a difference for headers, and none for hosts. Those of hosts have `^` and `$` at the ends of " +
			"branches alone. A condition on the host is for rules without " +
			"a host: there `*.example.com` stands for any number of labels. A path of a rule for a host that " +
			"does not fulfil it answers nothing. Sources are ranges of addresses. Of two routes with one host " +
			"and path " +
			"the one with more conditions goes first; what fulfils none goes on as if the path were not " +
			"there. A default backend has no conditions, so an entry that would be about it too is " +
			"refused.",
		Good: []string{`[{"method": ["GET"]}]`, "- path: /\n  source: [10.0.0.1]",
			`[{"ruleHost": "a.com", "host": ["*"], "headerRegex": {"X": ["^a[0-9]$"]}, "queryStrings": ["a=1", "b"]}]`,
			`[{"hostRegex": ["^(a|b)\\.com$"]}]`, `[{"hostRegex": ["^a$|^b\\.com$"]}]`},
		Bad: []string{"", "[]", "{}", "[{}]", `[{"method": ["get"]}]`, `[{"host": ["a b"]}]`,
			`[{"host": ["a.com"], "hostRegex": ["b.com"]}]`, `[{"headerRegex": {"X": ["(?=a)"]}}]`,
			`[{"headerRegex": {"X": ["\\pL"]}}]`, `[{"queryStrings": ["a="]}]`, `[{"hostRegex": ["(^a|b)\\.com"]}]`},
		Restricts: true,
		put: func(v *Values, text string) (err error) {
			v.Conditions, err = ReadConditions(text)
			return err
		},
		exposes: func(string, Values) bool { return true },
	},
	{
		Annotation: Backends, Type: text("map of names to specs of Backends, in YAML or JSON", nil),
		Without: "resources of the Ingress are objects of kind Backend",
		About:   Ingress, Merge: Own, Example: `{"moved": {"redirect": {"host": "www.example.com"}}}`,
		Doc: "Backends that only this Ingress has, at most 100. A path names one as it names an object: " +
			"`resource: {apiGroup: fairlead.dev, kind: Backend, name: moved}`. An object of the same name is " +
			"not used. They change with the Ingress, in one step.",
		Longest: LongestBackends,
		Good: []string{`{"a": {"fixedResponse": {"statusCode": 404}}}`,
			"moved: {redirect: {scheme: https, statusCode: 301}}"},
		Bad: []string{"", "{}", "[]", `{"A": {"fixedResponse": {"statusCode": 404}}}`, `{"a": null}`,
			`{"a": {"fixedresponse": {"statusCode": 404}}}`},
		put: func(v *Values, text string) (err error) {
			v.Backends, err = ReadBackends(text)
			return err
		},
	},
	{
		Annotation: ImplementationSpecific, Class: "implementationSpecific",
		Type: oneOf(v1alpha1.ReadFairlead, v1alpha1.ReadGlob, v1alpha1.ReadRegex,
			v1alpha1.ReadRegexPrefix),
		Default: v1alpha1.ReadFairlead, About: Ingress, Merge: Own, Example: v1alpha1.ReadGlob,
		Doc: "How paths of type ImplementationSpecific are read. `Fairlead`: a glob if there is a `*` or " +
			"`?` in it, else a Prefix. `Glob`: always a glob over the whole path, so that `/a` matches only " +
			"itself. `Regex`: a regular expression over the whole path. `RegexPrefix`: one over the " +
			"beginning of the path, as in nginx; of several that match, the longest text answers, then the one that " +
			"sorts last. `(?i)` ignores case. An Ingress is not served with another reading than the one that it asks for.",
		Good: []string{"Fairlead", "Glob", "Regex", "RegexPrefix"}, Bad: []string{"", "Prefix", "glob"},
		Restricts: true,
		put:       func(v *Values, text string) error { v.ImplementationSpecific = text; return nil },
		ofClass:   fieldOf(func(c *class) string { return c.ImplementationSpecific }),
		// Each reading matches requests that another one does not.
		exposes: func(value string, given Values) bool { return value != given.ImplementationSpecific },
	},
	{
		Annotation: CertificateARN, Type: text("list of ARNs of certificates", nil),
		Without: "certificates are found by host",
		About:   Ingress, Merge: Own, Needs: "certificates of ACM or IAM",
		Example: "arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012",
		Doc: "The certificates for those entries of `spec.tls` that name no Secret, and where there is " +
			"no entry, for all of the Ingress. The first counts as the certificate of each of its hosts; " +
			"clients are shown the one that fits. Nothing is searched for. In a group across namespaces, " +
			"and where the class has `allowedHosts`, every name in them has to be one that the namespace " +
			"may serve; else none of them is served.",
		Good: []string{
			"arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012",
			"arn:aws:iam::123456789012:server-certificate/a",
		},
		Bad: []string{"", "shop", "arn:aws:acm:eu-west-1:123456789012:certificate/a,", "arn:aws:s3:::a"},
		put: func(v *Values, text string) (err error) {
			v.Certificates, err = parseARNs(text)
			return err
		},
	},
	{
		Annotation: TLSPolicy, Class: "tlsPolicy", Type: tlsPolicy, Without: "the cloud's default",
		About: Port, Merge: OldestPerPort, Decides: ClassDecidesByPort,
		Example: "ELBSecurityPolicy-TLS13-1-2-2021-06",
		Doc: "The protocols and ciphers that are accepted on the HTTPS ports of the Ingress. Where the " +
			"class sets a policy, for all ports or for one, that holds instead: an Ingress cannot weaken " +
			"it. Where the class allows no policy and sets none, or sets one that accepts older versions " +
			"of TLS than the one that is asked for, the Ingress is not served over HTTPS with less. An " +
			"Ingress whose policy does not count in a group across namespaces is not served on HTTPS " +
			"ports that have another one.",
		Good:    []string{"ELBSecurityPolicy-TLS13-1-2-2021-06", "modern"},
		Bad:     []string{"", "TLS 1.2", "a/b"},
		put:     func(v *Values, text string) error { v.TLSPolicy = text; return nil },
		ofClass: fieldOf(func(c *class) string { return c.TLSPolicy }),
		exposes: func(value string, given Values) bool {
			return given.TLSPolicyOfClass == "" || StricterPolicy(value, given.TLSPolicyOfClass)
		},
	},
	{
		Annotation: MutualAuthentication, Type: text("list of ports, in YAML or JSON", nil),
		Without: "`ports[].mutualAuthentication` of the class, else clients show no certificates",
		About:   Port, Merge: OldestPerPort,
		Merged: "per port; the oldest Ingress decides, and those that differ are not served on the port, " +
			"unless they ask for the mode `off`",
		Needs:   "certificates of clients",
		Example: `[{"port": 443, "mode": "verify", "trustStore": "partners"}]`,
		Doc: "How certificates of clients are used on HTTPS ports of the Ingress. An entry has a `port` " +
			"and what `ports[].mutualAuthentication` of the class has: `mode`, which is `off`, " +
			"`passthrough` or `verify`, and for `verify` the `trustStore`, by name or ARN, `ignoreExpiry` " +
			"and `advertiseCANames`. An Ingress is never served on a port with less: where the class, or an " +
			"Ingress that decides, says otherwise, it is not served on that port. A port of the class is " +
			"decided. An Ingress that names a port on which it does not listen for HTTPS is refused. So is " +
			"one that would be served over HTTP, too, only because 80 is the default: set `listen-ports`, " +
			"or `ssl-redirect`.",
		Good: []string{`[{"port": 443, "mode": "off"}]`, "- port: 443\n  mode: passthrough",
			`[{"port": 443, "mode": "verify", "trustStore": "a", "ignoreExpiry": true, "advertiseCANames": false}]`},
		Bad: []string{"", "443", "[]", `[{"port": 443}]`, `[{"port": 0, "mode": "off"}]`,
			`[{"port": 443, "mode": "on"}]`, `[{"port": 443, "mode": "verify"}]`,
			`[{"port": 443, "mode": "off", "trustStore": "a"}]`,
			`[{"port": 443, "mode": "passthrough", "ignoreExpiry": true}]`,
			`[{"port": 443, "mode": "off"}, {"port": 443, "mode": "passthrough"}]`,
			`[{"port": 443, "mode": "verify", "trustStore": "a", "ignoreExpiry": "yes"}]`},
		Restricts: true, OtherNames: []string{"mtls", "mutualtls", "clientcertificate",
			"clientcertificates", "verifyclient", "tlsverifyclient", "truststore"},
		put: func(v *Values, text string) (err error) {
			v.Mutual, err = parseMutual(text)
			return err
		},
		exposes: func(value string, _ Values) bool { return restrictsClients(value) },
	},
	{
		Annotation: ListenerAttributes,
		Type:       list("list of `port:name=value`", 0, mostPortAttributes, nil),
		Without:    "`ports[].attributes` of the class, else the cloud's defaults",
		About:      Port, Merge: OldestPerPort,
		Merged:  "per port and attribute; the oldest Ingress decides, the others get an event",
		Needs:   "attributes of listeners of these names, which AWS has",
		Example: "443:routing.http.response.server.enabled=false",
		Doc: "Attributes of the listeners of the Ingress's ports, in the cloud's own terms: headers " +
			"that responses get, and names of headers about TLS. A comma in a value is written `\\,`. " +
			"One that the class has for the port stays as it is there. One that the cloud does not have, " +
			"or not with that value, is left out, and its author gets an event. An Ingress that names a " +
			"port on which it does not listen is refused.",
		Good: []string{"443:a=b", "80:a=b, 443:a=c", `80:a=GET\,POST`},
		Bad: []string{"", "a=b", "443", "443:a", "443:=b", "443:a=", "0:a=b", "65536:a=b", "80:a=b,80:a=c",
			"80:a=b,c=d"},
		put: func(v *Values, text string) (err error) {
			v.PortAttributes, err = parsePortAttributes(text)
			return err
		},
	},
	{
		Annotation: Inbound, Class: "inbound",
		Type: list("list of ranges of addresses, and of lists of them that the cloud keeps", 0,
			mostSources, checkInboundText), Without: "all clients",
		About: Port, Merge: OldestPerPort, Merged: "per port, the oldest Ingress first: one that asks " +
			"for a part of the ranges narrows them for all, one that asks for more gets an event, and any other " +
			"is not served on the port",
		Decides: ClassDecides, Needs: "a firewall for each port",
		Example: "10.0.0.0/8, pl-0123456789abcdef0",
		Doc: "Which clients may connect to the ports of the Ingress, at most 50 ranges and lists. An " +
			"Ingress is never served on a port to which more clients may connect. Where the class says " +
			"which may, or brings security groups of its own, nothing else can be asked for. A cloud that " +
			"cannot keep clients out does not serve the port.",
		Good:      []string{"10.0.0.0/8", "0.0.0.0/0, ::/0", "pl-0123456789abcdef0,2001:db8::/32"},
		Bad:       []string{"", "10.0.0.1/8", "10.0.0.1", "10.0.0.0/33", "pl-x", "all", "10.0.0.0/8,"},
		Restricts: true, OtherNames: []string{"allow", "allowfrom", "allowed", "allowedips", "allowips",
			"sourceip", "sourceips", "sources", "sourcecidrs"},
		put: func(v *Values, text string) (err error) {
			v.Inbound, err = parseInbound(text)
			return err
		},
		ofClass:   inboundOfClass,
		forbidden: func(c *class) bool { return len(c.Inbound) > 0 || len(c.SecurityGroups) > 0 },
		exposes: func(value string, given Values) bool {
			sources := itemsOf(value)
			return len(sources) > mostSources || !Within(given.Inbound, sources)
		},
	},
	{
		Annotation: WAFv2ACL, Class: "wafv2ACL", Type: webACL,
		Without: "what another Ingress of the load balancer says", About: LoadBalancer, Merge: OneForAll,
		Merged: "one for all, that of the oldest Ingress that names one and is served; an Ingress that " +
			"names another one is not served, and `none` gives way", Decides: ClassDecides,
		Needs: "web ACLs, which AWS WAF has", Example: "shop-edge",
		Doc: "The web ACL that stands before the load balancer. The Ingress is not served without it, " +
			"or behind another one: where there is no such web ACL it is refused, and where it is being " +
			"put there its routes wait. Where the class names one, no other can be asked for. `none` " +
			"takes away what stands there. A load balancer for which no Ingress and no class says " +
			"anything is left as it is, and where none says anything any more, the web ACL that Fairlead " +
			"associated is taken away.",
		Good: []string{"shop-edge_1", "none",
			"arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/edge/11111111-1111-1111-1111-111111111111"},
		Bad: []string{"", "two words",
			"arn:aws:wafv2:us-east-1:123456789012:global/webacl/edge/11111111-1111-1111-1111-111111111111"},
		Restricts: true,
		put:       func(v *Values, text string) error { v.WebACL = text; return nil },
		ofClass:   fieldOf(func(c *class) string { return c.WAFv2ACL }),
		exposes: func(value string, given Values) bool {
			return IsWebACL(value) && !IsWebACL(given.WebACL)
		},
	},
	{
		Annotation: ShieldAdvanced, Class: "shieldAdvanced", Type: oneOf("true", "false"),
		Without: "another Ingress of the load balancer decides",
		About:   LoadBalancer, Merge: OneForAll,
		Merged:  "one for all: `true` if any Ingress says so; those that say `false` get an event",
		Decides: ClassDecides, Needs: "AWS Shield Advanced, and a subscription to it", Example: "true",
		Doc: "Whether the load balancer has the protection of AWS Shield Advanced. Where there is none " +
			"to be had, requests are served without it, and the author gets an event. `false` takes away a " +
			"protection that Fairlead made, and no other.",
		Good: []string{"true", "false"}, Bad: []string{"", "yes", "True"},
		put:     func(v *Values, text string) error { v.Shield = text; return nil },
		ofClass: shieldOfClass,
	},
	ofLoadBalancers("idle_timeout.timeout_seconds", Setting{
		Annotation: IdleTimeout, Type: seconds(1, 4000), Example: "300",
		Doc: "How long a connection of a client or to a target may be open without data before the " +
			"load balancer closes it. It has to be longer than the longest wait for an answer.",
		Good: []string{"1", "60", "4000"}, Bad: []string{"", "0", "4001", "60s"},
	}),
	{
		Annotation: LoadBalancerAttributes,
		Type:       list("list of `name=value`", 0, mostAttributes, nil),
		Without:    "`attributes` of the class, else the cloud's defaults",
		About:      LoadBalancer, Merge: OldestForAll,
		Merged: "per load balancer and attribute; the oldest Ingress decides, the others get an event",
		Needs:  "attributes of load balancers of these names, which AWS has",
		Example: "routing.http.drop_invalid_header_fields.enabled=true," +
			"client_keep_alive.seconds=600",
		Doc: "Attributes of the load balancer, in the cloud's own terms. They change in place, and one " +
			"that is removed goes back to the cloud's default. One that `attributes` of the class has " +
			"stays as it is there, and so do all about a kind of logs where the class has one of them. " +
			"An Ingress cannot set `waf.fail_open.enabled=true` where the class names a web ACL; " +
			"`ipv6.deny_all_igw_traffic=false` is the class's alone. " +
			"`deletion_protection.enabled` holds as long as an Ingress asks for it. One that the cloud " +
			"does not have, or not with that value, is left out, and its author gets an event.",
		Good: []string{"a=b", "idle_timeout.timeout_seconds=30, routing.http2.enabled=false"},
		Bad:  []string{"", "a", "a=", "=b", "a=b,a=c"},
		put:  putListed(LoadBalancerAttributes, balancerAttributes),
	},
	{
		Annotation: IPFamily, Class: "ipFamily", Type: oneOf(v1alpha1.IPFamilyIPv4,
			v1alpha1.IPFamilyDualStack, v1alpha1.IPFamilyDualStackPrivateIPv4),
		Without: "the cloud's default", About: LoadBalancer, Merge: OldestForAll, Decides: ClassDecides,
		Needs: "IP families", Example: v1alpha1.IPFamilyDualStack,
		Doc: "The families of addresses that the load balancer has. It changes in place. " +
			"`dualstack-without-public-ipv4` is for load balancers that face the internet. Where the class " +
			"has an `ipFamily`, no other can be asked for.",
		Good: []string{"ipv4", "dualstack"}, Bad: []string{"", "ipv6", "IPv4"},
		put:     func(v *Values, text string) error { v.IPFamily = text; return nil },
		ofClass: fieldOf(func(c *class) string { return c.IPFamily }),
	},
	{
		Annotation: Subnets, Type: list("list of subnets, by ID or name", 0, 0, nil),
		Without: "`subnets` or `subnetTags` of the class, else Fairlead chooses",
		About:   LoadBalancer, Merge: OldestForAll, Needs: "subnets",
		Example: "subnet-0a1b2c3d4e5f60718, private-b",
		Doc: "The subnets that the load balancer is in. They change in place. Where the class names " +
			"subnets or their tags, none can be asked for. Where the cloud lacks one, the load balancer " +
			"is as without the annotation, or stays in its subnets, and the author gets an event.",
		Good: []string{"subnet-0a1b2c3d4e5f60718", "private a, private b"}, Bad: []string{"", "a,", "a,a"},
		put: func(v *Values, text string) (err error) {
			v.Subnets, err = parseNames(text, ClassFields["subnets"].MostItems)
			return err
		},
		forbidden: func(c *class) bool { return len(c.Subnets) > 0 || len(c.SubnetTags) > 0 },
	},
	{
		Annotation: SecurityGroups, Type: list("list of security groups, by ID or name", 0, 0, nil),
		Without: "`securityGroups` of the class, else Fairlead keeps one",
		About:   LoadBalancer, Merge: OneForAll,
		Merged: "one list for all, that of the oldest Ingress that asks for groups or for `inbound` and is " +
			"served; one that asks for others, or for `inbound` beside them, is not served",
		Needs: "security groups", Example: "sg-0a1b2c3d4e5f60718",
		Doc: "At most five security groups that the load balancer has instead of the one that Fairlead " +
			"keeps. Their owner decides which clients may connect, and lets load balancers reach targets. " +
			"The Ingress is not served without them, or with others: where one is missing it is refused. " +
			"It cannot have `inbound`, too. Where the class has `securityGroups` or `inbound`, none can " +
			"be asked for.",
		Good: []string{"sg-0a1b2c3d4e5f60718", "edge, office"},
		Bad:  []string{"", "a,", "a,a", "a,b,c,d,e,f"}, Restricts: true,
		OtherNames: []string{"securitygroup", "sg", "sgs", "firewall"},
		put: func(v *Values, text string) (err error) {
			v.SecurityGroups, err = parseNames(text, ClassFields["securityGroups"].MostItems)
			return err
		},
		forbidden: func(c *class) bool { return len(c.Inbound) > 0 || len(c.SecurityGroups) > 0 },
		exposes: func(value string, given Values) bool { // each group admits more
			asked, ofClass := itemsOf(value), given.SecurityGroupsOfClass
			return len(ofClass) == 0 || slices.ContainsFunc(ofClass, func(g string) bool {
				return !slices.Contains(asked, g)
			})
		},
	},
	{
		Annotation: Tags, Type: list("list of `name=value`", 0, 0, nil),
		Without: "`tags` of the class alone",
		About:   LoadBalancer, Merge: OldestForAll,
		Merged:  "per load balancer and name; the oldest Ingress decides, the others get an event",
		Example: "team=shop,cost-centre=4711",
		Doc: "Tags besides those of the class, for the load balancer and all that is made for it alone: " +
			"its listeners, target groups, security group and imported certificates. One that `tags` of " +
			"the class has stays as it is there. The names that the class cannot have cannot be set here " +
			"either: those that start with `fairlead.dev/` or `aws:`. Nor can those by which controllers " +
			"of Kubernetes recognise objects: `kubernetes.io/`, `k8s.io/` and `k8s.aws/`, with any domain " +
			"before them. There are 40 at most, with those of the class: what the oldest Ingresses ask " +
			"for holds.",
		Good: []string{"a=b", "team=shop, cost-centre=4711", "a=", "a=b=c"},
		Bad: []string{"", "a", "=b", "a=b,a=c", "fairlead.dev/key=a", "AWS:a=b", "a=b;c",
			"kubernetes.io/cluster/shop=owned", "elbv2.k8s.aws/cluster=shop"},
		put: func(v *Values, text string) (err error) {
			v.Tags, err = parseTags(text)
			return err
		},
	},
	{
		Annotation: HealthPath, Class: "healthCheck.path", Type: healthPath, Default: "/",
		About: ServicePorts, Merge: OldestPerTargets, Example: "/healthz",
		Doc: "The path that is requested to find out whether a target can serve. For targets that " +
			"speak gRPC it is `/AWS.ALB/healthcheck` unless it is set.",
		Good: []string{"/", "/a?b=c"}, Bad: []string{"", "a", "/a b", "/ü"},
		put:     func(v *Values, text string) error { v.health.Path = text; return nil },
		ofClass: fieldOf(func(c *class) string { return c.HealthCheck.Path }),
	},
	{
		Annotation: HealthPort, Class: "healthCheck.port", Type: healthPort, Default: trafficPort,
		About: ServicePorts, Merge: OldestPerTargets, Example: "8081",
		Doc: "The port that is asked: the one that serves requests, or another one of the target, " +
			"which `targetPorts` of the class have to allow. The name of a port of the Service stands " +
			"for its `targetPort`, which has to be a number, and with target type `instance` for its " +
			"node port. A Service without it is checked on the port that serves, and the author gets an " +
			"event. The field of the class takes no name.",
		Good:    []string{"traffic-port", "80", "1024", "65535"},
		Bad:     []string{"", "Health", "a_b", "0", "65536"},
		put:     func(v *Values, text string) error { v.health.Port = text; return nil },
		ofClass: fieldOf(func(c *class) string { return c.HealthCheck.Port }),
	},
	{
		Annotation: HealthProtocol, Class: "healthCheck.protocol",
		Type: oneOf(v1alpha1.ProtocolHTTP, v1alpha1.ProtocolHTTPS), Default: v1alpha1.ProtocolHTTP,
		About: ServicePorts, Merge: OldestPerTargets, Example: v1alpha1.ProtocolHTTPS,
		Doc:  "The protocol of health checks. Unless it is set, it is that of requests.",
		Good: []string{"HTTP", "HTTPS"}, Bad: []string{"", "http", "TCP"},
		put:     func(v *Values, text string) error { v.health.Protocol = text; return nil },
		ofClass: fieldOf(func(c *class) string { return c.HealthCheck.Protocol }),
	},
	{
		Annotation: HealthInterval, Class: "healthCheck.intervalSeconds", Type: seconds(5, 300),
		Default: "15",
		About:   ServicePorts, Merge: OldestPerTargets, Example: "30",
		Doc:  "How often each target is asked. It has to be longer than the timeout.",
		Good: []string{"6", "300"}, Bad: []string{"", "4", "301", "15s", "1.5"},
		put: func(v *Values, text string) (err error) {
			v.health.IntervalSeconds, err = strconv.Atoi(text)
			return err
		},
		ofClass: fieldOf(func(c *class) string { return digits(c.HealthCheck.IntervalSeconds) }),
	},
	{
		Annotation: HealthTimeout, Class: "healthCheck.timeoutSeconds", Type: seconds(2, 120),
		Default: "5",
		About:   ServicePorts, Merge: OldestPerTargets, Example: "10",
		Doc:  "How long an answer may take.",
		Good: []string{"2", "14"}, Bad: []string{"", "1", "121", "x"},
		put: func(v *Values, text string) (err error) {
			v.health.TimeoutSeconds, err = strconv.Atoi(text)
			return err
		},
		ofClass: fieldOf(func(c *class) string { return digits(c.HealthCheck.TimeoutSeconds) }),
	},
	{
		Annotation: HealthHealthy, Class: "healthCheck.healthyThreshold", Type: number(2, 10),
		Default: "2",
		About:   ServicePorts, Merge: OldestPerTargets, Example: "3",
		Doc:  "How many good answers in a row make a target healthy.",
		Good: []string{"2", "10"}, Bad: []string{"", "1", "11"},
		put: func(v *Values, text string) (err error) {
			v.health.HealthyThreshold, err = strconv.Atoi(text)
			return err
		},
		ofClass: fieldOf(func(c *class) string { return digits(c.HealthCheck.HealthyThreshold) }),
	},
	{
		Annotation: HealthUnhealthy, Class: "healthCheck.unhealthyThreshold", Type: number(2, 10),
		Default: "2",
		About:   ServicePorts, Merge: OldestPerTargets, Example: "3",
		Doc:  "How many bad answers in a row make a target unhealthy.",
		Good: []string{"2", "10"}, Bad: []string{"", "1", "11"},
		put: func(v *Values, text string) (err error) {
			v.health.UnhealthyThreshold, err = strconv.Atoi(text)
			return err
		},
		ofClass: fieldOf(func(c *class) string { return digits(c.HealthCheck.UnhealthyThreshold) }),
	},
	{
		Annotation: HealthCodes, Class: "healthCheck.successCodes", Type: successCodes, Default: "200",
		About: ServicePorts, Merge: OldestPerTargets, Example: "200,204,300-399",
		Doc:     "The statuses that count as a good answer; for gRPC, 12 unless it is set.",
		Good:    []string{"200", "200,204", "200-299", "200-299,304", "12", "0-99"},
		Bad:     []string{"", "2xx", "199", "500", "299-200", "200-", "200,"},
		put:     func(v *Values, text string) error { v.health.SuccessCodes = text; return nil },
		ofClass: fieldOf(func(c *class) string { return c.HealthCheck.SuccessCodes }),
	},

	// The fields of the class without an annotation.
	{Class: "providerName", Type: providerName, Good: []string{"edge", "a"},
		Bad:     []string{"Edge", "edge-", "1a"},
		ofClass: fieldOf(func(c *class) string { return c.ProviderName })},
	{Class: "hosts", Type: oneOf(v1alpha1.HostsOwned, v1alpha1.HostsShared),
		Default: v1alpha1.HostsOwned,
		Good:    []string{"Owned", "Shared"}, Bad: []string{"owned"},
		ofClass: fieldOf(func(c *class) string { return c.Hosts })},
	{Class: "hostMiss", Type: oneOf(v1alpha1.HostMissAnswer, v1alpha1.HostMissLessSpecific),
		Default: v1alpha1.HostMissAnswer,
		Good:    []string{"Answer", "LessSpecific"}, Bad: []string{"lessSpecific"},
		ofClass: fieldOf(func(c *class) string { return c.HostMiss })},
	{Class: "dialect", Type: oneOf(v1alpha1.DialectALB, v1alpha1.DialectNGINX), Good: []string{"alb", "nginx"},
		Bad:     []string{"ALB", "ingress-nginx"},
		ofClass: fieldOf(func(c *class) string { return c.Dialect })},
	{Class: "precedence", Type: oneOf(v1alpha1.PrecedenceSpecification, v1alpha1.PrecedenceOrder),
		Default: v1alpha1.PrecedenceSpecification,
		Good:    []string{"Specification", "Order"}, Bad: []string{"order"},
		ofClass: fieldOf(func(c *class) string { return c.Precedence })},
	{Class: "wildcardHosts", Type: oneOf(v1alpha1.WildcardOneLabel, v1alpha1.WildcardAnyLabels),
		Default: v1alpha1.WildcardOneLabel,
		Good:    []string{"OneLabel"}, Bad: []string{"anyLabels"}, // another one needs further fields
		ofClass: fieldOf(func(c *class) string { return c.WildcardHosts })},
	{Class: "foreignAnnotations", Type: oneOf(v1alpha1.ForeignRefuse, v1alpha1.ForeignWarn,
		v1alpha1.ForeignIgnore), Default: v1alpha1.ForeignRefuse,
		Good: []string{"Refuse", "Warn", "Ignore"}, Bad: []string{"refuse"},
		ofClass: fieldOf(func(c *class) string { return c.ForeignAnnotations })},
	{Class: "unknownRules", Type: oneOf(v1alpha1.UnknownRulesRemove, v1alpha1.UnknownRulesKeep),
		Good: []string{"Remove", "Keep"}, Bad: []string{"Ignore"},
		ofClass: fieldOf(func(c *class) string { return c.UnknownRules })},
	{Class: "unknownListeners", Type: oneOf(v1alpha1.UnknownListenersKeep, v1alpha1.UnknownListenersRemove),
		Good: []string{"Keep", "Remove"}, Bad: []string{"Ignore"},
		ofClass: fieldOf(func(c *class) string { return c.UnknownListeners })},
	{Class: "unprovenPlans",
		Type: oneOf(v1alpha1.UnprovenPlansWithhold, v1alpha1.UnprovenPlansCarryOut),
		Good: []string{"Withhold", "CarryOut"}, Bad: []string{"Ignore"},
		ofClass: fieldOf(func(c *class) string { return c.UnprovenPlans })},
	{Class: "undocumented", Type: oneOf(v1alpha1.UndocumentedRefuse, v1alpha1.UndocumentedAccept),
		Good: []string{"Refuse", "Accept"}, Bad: []string{"accept"},
		ofClass: fieldOf(func(c *class) string { return c.Undocumented })},
	{Class: "deletionPolicy", Type: oneOf(v1alpha1.DeletionPolicyDelete,
		v1alpha1.DeletionPolicyRetain), Default: v1alpha1.DeletionPolicyDelete,
		Good: []string{"Delete", "Retain"}, Bad: []string{"Keep"},
		ofClass: fieldOf(func(c *class) string { return c.DeletionPolicy })},
	{Class: "warmTimeout", Type: duration, Default: "5m", Good: []string{"90s", "0s", "1h30m"},
		Bad:     []string{"-1s", "soon", "1d"},
		ofClass: func(c *class) (string, bool) { return waitOfClass(c.WarmTimeout) }},
	{Class: "moveGrace", Type: duration, Default: "10m", Good: []string{"90s", "0s", "1h30m"},
		Bad:     []string{"-1s", "soon", "1d"},
		ofClass: func(c *class) (string, bool) { return waitOfClass(c.MoveGrace) }},
}

// Of returns the row of an annotation; nil if there is none.
func Of(annotation string) *Setting { return byAnnotation[annotation] }

var byAnnotation = func() map[string]*Setting {
	out := map[string]*Setting{}
	for i := range Table {
		if name := Table[i].Annotation; name != "" {
			out[name] = &Table[i]
		}
	}
	return out
}()

func checkLabel(name string) error { return joinMessages(validation.IsDNS1123Label(name)) }
