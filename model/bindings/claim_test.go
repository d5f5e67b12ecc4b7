package bindings_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/bindings"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
)

const arns = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/"

// binding returns a binding of the namespace shop, for port 80 of the Service web.
func binding(edits ...func(*alb.TargetGroupBinding)) *alb.TargetGroupBinding {
	b := &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	b.Spec.TargetGroupARN = arns + "edge/0123456789abcdef"
	b.Spec.ServiceRef = alb.BoundService{Name: "web", Port: intstr.FromInt32(80)}
	for _, edit := range edits {
		edit(b)
	}
	return b
}

// permits returns a class that lets some namespaces have endpoints in some target groups.
func permits(name, namespace string, groups ...string) *ingress.Class {
	entry := v1alpha1.BoundTargetGroups{NamespaceSelector: &metav1.LabelSelector{}, TargetGroups: groups}
	if namespace != "" {
		entry.NamespaceSelector.MatchLabels = map[string]string{"kubernetes.io/metadata.name": namespace}
	}
	return &ingress.Class{Name: name, LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{TargetGroupBindings: []v1alpha1.BoundTargetGroups{entry}}}
}

// A class lets a namespace have endpoints in a target group. Without one, the binding is refused, with what
// to write.
func TestAClassPermitsABinding(t *testing.T) {
	edge := arns + "edge/0123456789abcdef"
	byName := func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupARN, b.Spec.TargetGroupName = "", "edge" }
	for name, c := range map[string]struct {
		binding *alb.TargetGroupBinding
		classes []*ingress.Class
		held    string
		class   string // that permits it
		reason  diag.Reason
		says    string
		instead diag.Reason // why the version or the terms of before hold
	}{
		"in full":                              {binding(), []*ingress.Class{permits("a", "", edge)}, "", "a", "", "", ""},
		"by a glob":                            {binding(), []*ingress.Class{permits("a", "shop", arns+"e*")}, "", "a", "", "", ""},
		"no class":                             {binding(), nil, "", "", diag.TargetGroupNotAllowed, "`targetGroupBindings`", ""},
		"another target group":                 {binding(), []*ingress.Class{permits("a", "", arns+"other/*")}, "", "", diag.TargetGroupNotAllowed, "namespace shop", ""},
		"that of another tenant":               {binding(), []*ingress.Class{permits("a", "bank", edge)}, "", "", diag.TargetGroupNotAllowed, "namespace shop", ""},
		"forwarding is another permission":     {binding(), []*ingress.Class{{Name: "a", LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{AllowedTargetGroups: []string{"*"}}}}, "", "", diag.TargetGroupNotAllowed, "", ""},
		"the first of two":                     {binding(), []*ingress.Class{permits("a", "", edge), permits("b", "", edge)}, "", "a", "", "", ""},
		"the one that has permitted it":        {binding(), []*ingress.Class{permits("a", "", edge), permits("b", "", edge)}, "b", "b", "", "", ""},
		"one that permits it no longer":        {binding(), []*ingress.Class{permits("a", "", edge), permits("b", "")}, "b", "a", "", "", ""},
		"none that permits it any longer":      {binding(), []*ingress.Class{permits("b", "bank", edge)}, "b", "", diag.TargetGroupNotAllowed, "", ""},
		"a mistake, and none that permits it":  {binding(func(b *alb.TargetGroupBinding) { b.Spec.IamRoleArnToAssume = "a" }), []*ingress.Class{permits("b", "bank", edge)}, "b", "", diag.TargetGroupNotAllowed, "", ""},
		"a mistake, and one that is gone":      {binding(func(b *alb.TargetGroupBinding) { b.Spec.IamRoleArnToAssume = "a" }), nil, "b", "b", "", "", diag.BindingUnsupported},
		"one that is renamed":                  {binding(), []*ingress.Class{permits("a", "", edge)}, "b", "a", "", "", ""},
		"by name":                              {binding(byName), []*ingress.Class{permits("a", "", arns+"other/1", edge)}, "", "a", "", "", ""},
		"by name, and a glob":                  {binding(byName), []*ingress.Class{permits("a", "", arns+"*")}, "", "", diag.TargetGroupNotAllowed, "in full", ""},
		"by name, of another tenant":           {binding(byName), []*ingress.Class{permits("a", "bank", edge)}, "", "", diag.TargetGroupNotAllowed, "namespace shop", ""},
		"by name, in two accounts":             {binding(byName), []*ingress.Class{permits("a", "", edge), permits("b", "", strings.Replace(edge, "12:", "13:", 1))}, "", "", diag.Invalid, "2 target groups", ""},
		"by name and ARN, the ARN goes first":  {binding(func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupName = "other" }), []*ingress.Class{permits("a", "", edge, arns+"other/1")}, "", "a", "", "", ""},
		"one that is gone":                     {binding(), nil, "b", "b", "", "", diag.ClassMissing},
		"a mistake":                            {binding(func(b *alb.TargetGroupBinding) { b.Spec.IamRoleArnToAssume = "a" }), []*ingress.Class{permits("b", "", edge)}, "b", "b", "", "", diag.BindingUnsupported},
		"a mistake from the beginning":         {binding(func(b *alb.TargetGroupBinding) { b.Spec.IamRoleArnToAssume = "a" }), []*ingress.Class{permits("b", "", edge)}, "", "", diag.BindingUnsupported, "", ""},
		"a target group that is not permitted": {binding(func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupARN = arns + "other/1" }), []*ingress.Class{permits("b", "", edge)}, "b", "b", "", "", diag.TargetGroupNotAllowed},
		"no selector of namespaces":            {binding(), []*ingress.Class{{Name: "a", LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{TargetGroupBindings: []v1alpha1.BoundTargetGroups{{TargetGroups: []string{edge}}}}}}, "", "", diag.TargetGroupNotAllowed, "", ""},
	} {
		var last *bindings.Last
		if c.held != "" {
			last = &bindings.Last{Spec: binding().Spec, Group: lb.GroupID(edge), Class: &ingress.Class{Name: c.held}}
		}
		got := bindings.NewClaim(c.binding, c.classes, map[string]string{"kubernetes.io/metadata.name": "shop"}, last)
		if c.reason == "" && got.Refused == nil {
			if got.Class == nil || got.Class.Name != c.class || string(got.Group) != edge {
				t.Errorf("%s: class %v permits %s", name, got.Class, got.Group)
			}
			if (got.Instead == nil) != (c.instead == "") || got.Instead != nil && got.Instead.Reason != c.instead {
				t.Errorf("%s: the version of before holds, for %v", name, got.Instead)
			}
			continue
		}
		if got.Refused == nil || got.Refused.Reason != c.reason || !strings.Contains(got.Refused.Message, c.says) || got.Class != nil {
			t.Errorf("%s: class %v permits it; refused: %v", name, got.Class, got.Refused)
		}
	}
}

// A binding that shared its target group does not stop: targets that others have registered would be removed.
func TestABindingGoesOnSharing(t *testing.T) {
	edge := lb.GroupID(arns + "edge/0123456789abcdef")
	shared := binding(func(b *alb.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true })
	last := &bindings.Last{Spec: shared.Spec, Group: edge, Class: &ingress.Class{Name: "a"}}
	for name, c := range map[string]struct {
		edit   func(*alb.TargetGroupBinding)
		shares bool
		reason diag.Reason
	}{
		"it stops":                    {func(*alb.TargetGroupBinding) {}, true, diag.Invalid},
		"it goes on":                  {func(b *alb.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }, true, ""},
		"it has another target group": {func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupARN = arns + "other/1" }, false, ""},
	} {
		got := bindings.NewClaim(binding(c.edit), []*ingress.Class{permits("a", "", "*")}, nil, last)
		if got.Refused != nil || got.Spec.MultiClusterTargetGroup != c.shares || (got.Instead == nil) != (c.reason == "") ||
			got.Instead != nil && got.Instead.Reason != c.reason {
			t.Errorf("%s: it shares: %v; refused: %v; the version of before holds, for %v", name, got.Spec.MultiClusterTargetGroup, got.Refused, got.Instead)
		}
	}
}

// What no class can permit is refused by the name of the field.
func TestFieldsOfABinding(t *testing.T) {
	for name, c := range map[string]struct {
		edit   func(*alb.TargetGroupBinding)
		reason diag.Reason
		field  string
	}{
		"none":            {func(*alb.TargetGroupBinding) {}, "", ""},
		"no target group": {func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupARN = "" }, diag.Invalid, "spec.targetGroupARN"},
		"a load balancer": {func(b *alb.TargetGroupBinding) {
			b.Spec.TargetGroupARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/a/0"
		}, diag.Invalid, "spec.targetGroupARN"},
		"a long ARN": {func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupARN += strings.Repeat("/", 1<<20) }, diag.Invalid, "spec.targetGroupARN"},
		"no Service": {func(b *alb.TargetGroupBinding) { b.Spec.ServiceRef.Name = "" }, diag.Invalid, "spec.serviceRef.name"},
		"a role":     {func(b *alb.TargetGroupBinding) { b.Spec.IamRoleArnToAssume = "arn:aws:iam::1:role/a" }, diag.BindingUnsupported, "spec.iamRoleArnToAssume"},
		"UDP":        {func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupProtocol = "UDP" }, diag.BindingUnsupported, "spec.targetGroupProtocol"},
		"TCP_UDP":    {func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupProtocol = "TCP_UDP" }, diag.BindingUnsupported, "spec.targetGroupProtocol"},
		"TLS":        {func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupProtocol = "TLS" }, "", ""},
		"a function": {func(b *alb.TargetGroupBinding) { b.Spec.TargetType = "lambda" }, diag.Invalid, "spec.targetType"},
		"nodes of addresses": {func(b *alb.TargetGroupBinding) {
			b.Spec.TargetType, b.Spec.NodeSelector = "ip", &metav1.LabelSelector{}
		}, diag.Invalid, "spec.nodeSelector"},
		"a selector with a mistake": {func(b *alb.TargetGroupBinding) {
			b.Spec.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}
		}, diag.Invalid, "spec.nodeSelector"},
		"IPv5": {func(b *alb.TargetGroupBinding) { b.Spec.IPAddressType = "ipv5" }, diag.Invalid, "spec.ipAddressType"},
	} {
		got := bindings.NewClaim(binding(c.edit), []*ingress.Class{permits("a", "", "*")}, nil, nil)
		switch {
		case c.reason == "" && got.Refused != nil,
			c.reason != "" && (got.Refused == nil || got.Refused.Reason != c.reason || got.Refused.Source.Field != c.field):
			t.Errorf("%s: refused: %v", name, got.Refused)
		case got.Refused != nil && len(got.Refused.Message) > 500:
			t.Errorf("%s: the message has %d characters", name, len(got.Refused.Message))
		}
	}
}

// What the controller made for its own Ingresses, Services and Gateways is left alone.
func TestBindingsOfTheController(t *testing.T) {
	for label, others := range map[string]bool{
		"ingress.k8s.aws/stack": true, "ingress.k8s.aws/stack-name": true, "service.k8s.aws/stack-namespace": true,
		"gateway.k8s.aws.nlb/stack-name": true, "gateway.k8s.aws.alb/stack": true,
		"app.kubernetes.io/name": false, "ingress.k8s.aws/team": false, "example.com/stack": false,
	} {
		got := bindings.NewClaim(binding(func(b *alb.TargetGroupBinding) { b.Labels = map[string]string{label: "x"} }), nil, nil, nil)
		if got.Others != others || (got.Refused == nil) != others {
			t.Errorf("%s: of the controller %v, refused: %v", label, got.Others, got.Refused)
		}
	}
}

// A target group has the endpoints of one binding, the oldest that a class permits, unless all share it.
func TestBindingsOfOneTargetGroup(t *testing.T) {
	const edge, other = "edge/0123456789abcdef", "other/1"
	for name, c := range map[string]struct {
		claims []string // name, age, target group, properties
		served string
	}{
		"one":                            {[]string{"a 1 edge"}, "a"},
		"the older of two":               {[]string{"a 2 edge", "b 1 edge"}, "b"},
		"of equal age, by name":          {[]string{"b 1 edge", "a 1 edge"}, "a"},
		"of two target groups":           {[]string{"a 1 edge", "b 1 other"}, "a b"},
		"both share":                     {[]string{"a 1 edge shared", "b 2 edge shared"}, "a b"},
		"one shares":                     {[]string{"a 1 edge shared", "b 2 edge"}, "a"},
		"two share, between one":         {[]string{"a 1 edge shared", "b 2 edge", "c 3 edge shared"}, "a c"},
		"the oldest does not share":      {[]string{"a 1 edge", "b 2 edge shared", "c 3 edge shared"}, "a"},
		"the oldest is not permitted":    {[]string{"a 1 edge refused", "b 2 edge"}, "b"},
		"one has endpoints there":        {[]string{"a 1 edge", "b 2 edge held"}, "b"},
		"both have endpoints there":      {[]string{"a 1 edge held", "b 2 edge held"}, "a"},
		"one is the controller's":        {[]string{"a 1 edge shared", "b 2 edge others"}, "a"},
		"one is the controller's, older": {[]string{"a 2 edge", "b 1 edge others", "c 1 other"}, "a c"},
	} {
		var claims []*bindings.Claim
		for _, text := range c.claims {
			parts := strings.Fields(text)
			claim := bindings.NewClaim(binding(func(b *alb.TargetGroupBinding) {
				b.Name, b.Spec.MultiClusterTargetGroup = parts[0], strings.HasSuffix(text, "shared")
				b.CreationTimestamp = metav1.NewTime(time.Unix(int64(parts[1][0]), 0))
				if b.Spec.TargetGroupARN = arns + edge; parts[2] == "other" {
					b.Spec.TargetGroupARN = arns + other
				}
				if strings.HasSuffix(text, "others") {
					b.Labels = map[string]string{"ingress.k8s.aws/stack": "x"}
				}
			}), []*ingress.Class{permits("a", "", arns+"*")}, nil, nil)
			if strings.HasSuffix(text, "refused") {
				claim = bindings.NewClaim(claim.TargetGroupBinding, nil, nil, nil)
			}
			claim.HasEndpoints = strings.HasSuffix(text, "held")
			claims = append(claims, &claim)
		}
		bindings.Settle(claims)
		var served []string
		for _, claim := range claims {
			if claim.Refused == nil && !claim.Others {
				served = append(served, claim.Name)
			} else if claim.Others && claim.Refused != nil {
				t.Errorf("%s: one of the controller is refused: %v", name, claim.Refused)
			}
		}
		if got := strings.Join(served, " "); got != c.served {
			t.Errorf("%s: %q are served, want %q", name, got, c.served)
		}
	}
}

// The defaults of a binding are those of its target group, and what it says has to be the same.
func TestABindingIsComparedWithItsTargetGroup(t *testing.T) {
	ip := lb.OthersGroup{TargetType: "ip", Protocol: "HTTP", Family: "ipv4", VPC: "vpc-1"}
	with := func(edit func(*lb.OthersGroup)) *lb.OthersGroup { g := ip; edit(&g); return &g }
	for name, c := range map[string]struct {
		edit   func(*alb.BindingSpec)
		group  *lb.OthersGroup
		reason diag.Reason
		field  string
	}{
		"it says nothing": {func(*alb.BindingSpec) {}, &ip, "", ""},
		"it says the same": {func(s *alb.BindingSpec) {
			s.TargetType, s.IPAddressType, s.VpcID, s.TargetGroupProtocol = "ip", "ipv4", "vpc-1", "HTTP"
		}, &ip, "", ""},
		"there is none":       {func(*alb.BindingSpec) {}, nil, diag.TargetGroupMissing, "spec.targetGroupARN"},
		"another target type": {func(s *alb.BindingSpec) { s.TargetType = "instance" }, &ip, diag.Invalid, "spec.targetType"},
		"another family":      {func(s *alb.BindingSpec) { s.IPAddressType = "ipv6" }, &ip, diag.Invalid, "spec.ipAddressType"},
		"another VPC":         {func(s *alb.BindingSpec) { s.VpcID = "vpc-2" }, &ip, diag.Invalid, "spec.vpcID"},
		"another protocol":    {func(s *alb.BindingSpec) { s.TargetGroupProtocol = "TCP" }, &ip, diag.Invalid, "spec.targetGroupProtocol"},
		"of functions":        {func(*alb.BindingSpec) {}, with(func(g *lb.OthersGroup) { g.TargetType = "lambda" }), diag.BindingUnsupported, "spec.targetGroupARN"},
		"of UDP":              {func(*alb.BindingSpec) {}, with(func(g *lb.OthersGroup) { g.Protocol = "UDP" }), diag.BindingUnsupported, "spec.targetGroupProtocol"},
		"nodes, of addresses": {func(s *alb.BindingSpec) { s.NodeSelector = &metav1.LabelSelector{} }, &ip, diag.Invalid, "spec.nodeSelector"},
		"of a load balancer":  {func(*alb.BindingSpec) {}, with(func(g *lb.OthersGroup) { g.Kept = "it belongs to a" }), diag.BindingConflict, "spec.targetGroupARN"},
	} {
		claim := bindings.NewClaim(binding(func(b *alb.TargetGroupBinding) { c.edit(&b.Spec) }), []*ingress.Class{permits("a", "", "*")}, nil, nil)
		if claim.Compare(c.group); c.reason == "" && claim.Refused != nil ||
			c.reason != "" && (claim.Refused == nil || claim.Refused.Reason != c.reason || claim.Refused.Source.Field != c.field) {
			t.Errorf("%s: refused: %v", name, claim.Refused)
		}
	}
	claim := bindings.NewClaim(binding(func(b *alb.TargetGroupBinding) {
		b.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "edge"}}
		b.Spec.ServiceRef.Port = intstr.FromString("http")
	}), []*ingress.Class{permits("a", "", "*")}, nil, nil)
	got := claim.Target(&lb.OthersGroup{TargetType: "instance", Family: "ipv6"})
	if got.TargetType != "instance" || got.Family != "ipv6" || got.Service != "shop/web" || got.Port != "http" ||
		!strings.HasPrefix(got.NodeLabels, "pool=edge,") || !strings.Contains(got.NodeLabels, "notin (fargate)") {
		t.Errorf("the target group is %+v", got)
	}
	if got := claim.Target(nil); got.TargetType != "ip" || got.Family != "" || got.NodeLabels != "" {
		t.Errorf("without the cloud, the target group is %+v", got)
	}
	if len(claim.Notes()) > 0 {
		t.Errorf("notes: %v", claim.Notes())
	}
	claim.Spec.Networking = &alb.BindingNetworking{Ingress: []runtime.RawExtension{
		{Raw: []byte(`{"from": [{"securityGroup": {"groupID": "sg-1"}}, {"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 8080}, {"protocol": "UDP", "port": "dns"}]}`)},
		{Raw: []byte(`{"from": [{"securityGroup": {"groupID": "sg-2"}}]}`)}, {Raw: []byte(`[]`)}}}
	if notes := claim.Notes(); len(notes) != 1 || notes[0].Reason != diag.BindingNetworking ||
		!strings.HasSuffix(notes[0].Message, "allow TCP 8080 and UDP dns from sg-1 and 10.0.0.0/8; TCP any port from sg-2") {
		t.Errorf("notes: %v", notes)
	}
}
