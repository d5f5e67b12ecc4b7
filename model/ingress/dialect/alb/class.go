package alb

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/settings"
)

// This file reads IngressClassParams: their fields become those of a class. Facts are from
// apis/elbv2/v1beta1/ingressclassparams_types.go of the controller, and docs/guide/ingress/ingress_class.md.

// ParamsVersion and ParamsKind are the API of IngressClassParams.
var ParamsVersion = schema.GroupVersion{Group: "elbv2.k8s.aws", Version: "v1beta1"}

const ParamsKind = "IngressClassParams"

// IngressClassParams are parameters of an IngressClass of the controller. The spec is kept as text, with the
// fields that its CRD does not have yet.
type IngressClassParams struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec runtime.RawExtension `json:"spec,omitempty"`
}

// IngressClassParamsList is a list of IngressClassParams.
type IngressClassParamsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []IngressClassParams `json:"items"`
}

// DeepCopyObject returns a copy.
func (p *IngressClassParams) DeepCopyObject() runtime.Object { return p.copy() }

func (p *IngressClassParams) copy() *IngressClassParams {
	out := &IngressClassParams{TypeMeta: p.TypeMeta}
	p.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	p.Spec.DeepCopyInto(&out.Spec)
	return out
}

// DeepCopyObject returns a copy.
func (l *IngressClassParamsList) DeepCopyObject() runtime.Object {
	out := &IngressClassParamsList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].copy())
	}
	return out
}

// AddParams adds the kinds of the controller to a scheme.
func AddParams(s *runtime.Scheme) error {
	s.AddKnownTypes(ParamsVersion, &IngressClassParams{}, &IngressClassParamsList{},
		&TargetGroupBinding{}, &TargetGroupBindingList{})
	metav1.AddToGroupVersion(s, ParamsVersion)
	return nil
}

// A classField is a field of IngressClassParams.
type classField struct {
	name string
	// instead are the annotations that it decides in place of Ingresses.
	instead []string
	// read puts what the field makes into an empty class. It returns what a value is that every Ingress
	// has as the annotation, and what is wrong with the value, or a verdict.
	read func(value json.RawMessage, into *v1alpha1.LoadBalancerClassSpec) classMade
}

// classMade is what a field makes besides fields of a class.
type classMade struct {
	annotation string // the value of the annotation that it decides
	selector   *metav1.LabelSelector
	group      string
	result     dialect.Outcome
	message    string
}

func refusedField(format string, args ...any) classMade {
	return classMade{result: dialect.Refused, message: fmt.Sprintf(format, args...)}
}

// classFields are those of IngressClassParamsSpec. Of the web ACLs, the name goes first
// (model_build_load_balancer_addons.go), and so does prefixListsIDs (model_build_listener.go).
var classFields = []classField{
	{"loadBalancerName", []string{"load-balancer-name"},
		textField(func(c *v1alpha1.LoadBalancerClassSpec) *string { return &c.LoadBalancerName })},
	{"certificateArn", []string{"certificate-arn"}, certificateField},
	{"namespaceSelector", nil, namespaceField},
	{"group", []string{"group.name"}, groupField},
	{"scheme", []string{"scheme"},
		textField(func(c *v1alpha1.LoadBalancerClassSpec) *string { return &c.Scheme })},
	{"inboundCIDRs", []string{"inbound-cidrs", "security-group-prefix-lists"}, rangesField},
	{"sslPolicy", []string{"ssl-policy"},
		textField(func(c *v1alpha1.LoadBalancerClassSpec) *string { return &c.TLSPolicy })},
	{"sslRedirectPort", []string{"ssl-redirect"}, redirectField},
	{"subnets", []string{"subnets"}, subnetsField},
	{"ipAddressType", []string{"ip-address-type"},
		textField(func(c *v1alpha1.LoadBalancerClassSpec) *string { return &c.IPFamily })},
	{"tags", nil, tagsField},
	{"targetType", []string{"target-type"},
		textField(func(c *v1alpha1.LoadBalancerClassSpec) *string { return &c.TargetType })},
	{"loadBalancerAttributes", nil, attributesField},
	{"listeners", nil, listenersField},
	{"minimumLoadBalancerCapacity", nil, capacityField},
	{"ipamConfiguration", nil, poolField},
	{"prefixListsIDs", []string{"inbound-cidrs", "security-group-prefix-lists"}, listsField},
	{"PrefixListsIDs", []string{"inbound-cidrs", "security-group-prefix-lists"}, listsField},
	{"wafv2AclName", []string{"wafv2-acl-name", "wafv2-acl-arn"},
		textField(func(c *v1alpha1.LoadBalancerClassSpec) *string { return &c.WAFv2ACL })},
	{"wafv2AclArn", []string{"wafv2-acl-name", "wafv2-acl-arn"},
		textField(func(c *v1alpha1.LoadBalancerClassSpec) *string { return &c.WAFv2ACL })},
}

// losing are the annotations that the controller reads although a field is set, with what they lose.
var losing = map[string]string{
	"inboundCIDRs security-group-prefix-lists": losesClients,
	"prefixListsIDs inbound-cidrs":             losesClients,
	"PrefixListsIDs inbound-cidrs":             losesClients,
	"wafv2AclArn wafv2-acl-name":               losesWebACL,
}

const (
	losesClients = "its clients cannot connect unless the field admits them; the other controller admits them, too: add them to " +
		"the field"
	losesWebACL = "the Ingress is not served without the web ACL that it names, which the other controller uses: remove it, or " +
		"name it in the field"
)

// Apply returns a class with what the parameters say, where the class says nothing.
func (p *IngressClassParams) Apply(c v1alpha1.LoadBalancerClassSpec) (v1alpha1.LoadBalancerClassSpec, *dialect.Parameters) {
	a := &applied{class: c.DeepCopy(), Parameters: dialect.Parameters{Object: ParamsKind + " " + p.Name,
		Instead: map[string]dialect.Instead{}}}
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(orNull(p.Spec.Raw), &values); err != nil {
		a.say("spec", refusedField("it is no object"))
		return c, &a.Parameters
	}
	if len(values["prefixListsIDs"]) > 0 && len(values["PrefixListsIDs"]) > 0 {
		a.say("spec.PrefixListsIDs", refusedField("spec.prefixListsIDs is set, too: remove one"))
		delete(values, "PrefixListsIDs")
	}
	var selector *metav1.LabelSelector
	group := ""
	for _, f := range classFields {
		value, is := values[f.name]
		delete(values, f.name)
		if !is || empty(value) {
			continue
		}
		one := &v1alpha1.LoadBalancerClassSpec{}
		m := f.read(value, one)
		if m.result != dialect.Refused {
			errs := append(settings.ValidateClass(one, nil), settings.ClassFields.Validate(one, nil)...)
			if len(errs) > 0 {
				m = refusedField("%s", errs[0].ErrorBody())
			}
		}
		if m.result != dialect.Refused {
			a.merge(f, one, &m)
			selector, group = or(m.selector, selector), cmp.Or(m.group, group)
		}
		a.say("spec."+f.name, m)
	}
	a.bound(group, selector)
	a.unknown(values)
	slices.SortStableFunc(a.Verdicts, func(x, y dialect.Verdict) int { return cmp.Compare(x.Key, y.Key) })
	return *a.class, &a.Parameters
}

func or[T any](value, otherwise *T) *T {
	if value == nil {
		return otherwise
	}
	return value
}

func orNull(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

// empty reports whether a value counts as none, as in the controller.
func empty(value json.RawMessage) bool {
	switch strings.Join(strings.Fields(string(value)), "") {
	case "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// applied is a class with parameters.
type applied struct {
	class *v1alpha1.LoadBalancerClassSpec
	dialect.Parameters
	inbound []string // that fields have put into the class
	webACL  string   // the field that did
}

func (a *applied) say(key string, m classMade) {
	a.Verdicts = append(a.Verdicts, dialect.Verdict{Key: key, Outcome: cmp.Or(m.result, dialect.Same), Message: m.message})
}

// merge puts what a field makes into the class, which goes first.
func (a *applied) merge(f classField, one *v1alpha1.LoadBalancerClassSpec, m *classMade) {
	by := "spec." + f.name + " of " + a.Object
	lost := func(what string) {
		by = what + " of the class"
		m.result, m.message = dialect.Dropped, by+" goes first"
	}
	from, to := reflect.ValueOf(one).Elem(), reflect.ValueOf(a.class).Elem()
	for i := range from.NumField() {
		value, field := from.Field(i), to.Field(i)
		name, _, _ := strings.Cut(from.Type().Field(i).Tag.Get("json"), ",")
		switch {
		case value.IsZero() || reflect.DeepEqual(value.Interface(), field.Interface()):
		case name == "inbound":
			a.admit(one.Inbound, lost)
		case name == "ports":
			a.ports(one.Ports, lost)
		case name == "tags" || name == "attributes":
			a.entries(name, value, field, lost)
		case name == "wafv2ACL" && a.webACL != "":
			m.message = a.webACL + " goes first, as in the other controller"
			return
		case name == "subnets" && a.class.SubnetTags != nil:
			lost("subnetTags")
		case name == "subnetTags" && a.class.Subnets != nil:
			lost("subnets")
		case !field.IsZero():
			lost(name)
		default:
			field.Set(value)
			if name == "wafv2ACL" {
				a.webACL = "spec." + f.name
			}
		}
	}
	if f.name == "sslRedirectPort" && a.class.SSLRedirect != "" &&
		strings.TrimSuffix(a.class.SSLRedirect, settings.RedirectsAll) != m.annotation {
		m.annotation = ""
		lost("sslRedirect")
	}
	for _, name := range f.instead {
		loses := losing[f.name+" "+name]
		if before, is := a.Instead[Prefix+name]; is && (before.Loses == "" || loses != "") {
			continue
		}
		a.Instead[Prefix+name] = dialect.Instead{By: by, Value: m.annotation, Loses: loses}
	}
	if m.group != "" && a.class.Hosts != v1alpha1.HostsShared {
		m.result, m.message = dialect.Dropped, "namespaces do not share a host: an Ingress is not served for one that another "+
			"namespace named first; with `hosts: Shared` of a class, all may serve it, as with the other controller"
	}
	if own := everyIngress[f.name]; m.annotation != "" && a.class.Annotations != nil && !slices.ContainsFunc(*a.class.Annotations,
		func(n string) bool { return settings.Full(n) == own }) {
		// It is the class's own word, not that of an author.
		a.class.Annotations = new(append(slices.Clone(*a.class.Annotations), own))
	}
}

// everyIngress has the annotations of Fairlead that a field sets on every Ingress.
var everyIngress = map[string]string{"certificateArn": settings.CertificateARN, "group": settings.Group,
	"sslRedirectPort": settings.SSLRedirect}

// admit adds clients that may connect.
func (a *applied) admit(clients []string, lost func(string)) {
	switch {
	case len(a.class.SecurityGroups) > 0:
		lost("securityGroups")
	case len(a.class.Inbound) > 0 && a.inbound == nil:
		if !slices.Equal(a.class.Inbound, clients) {
			lost("inbound")
		}
	default:
		for _, c := range clients {
			if !slices.Contains(a.inbound, c) {
				a.inbound = append(a.inbound, c)
			}
		}
		a.class.Inbound = a.inbound
	}
}

// entries adds the entries of a map that the class does not have.
func (a *applied) entries(name string, value, field reflect.Value, lost func(string)) {
	out, theirs := maps.Clone(field.Interface().(map[string]string)), value.Interface().(map[string]string)
	if out == nil {
		out = map[string]string{}
	}
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		if mine, is := out[key]; !is {
			out[key] = theirs[key]
		} else if mine != theirs[key] {
			lost(name + "[" + key + "]")
		}
	}
	field.Set(reflect.ValueOf(out))
}

// ports adds attributes of listeners that the class does not have.
func (a *applied) ports(theirs []v1alpha1.PortSettings, lost func(string)) {
	for _, p := range theirs {
		at := slices.IndexFunc(a.class.Ports, func(mine v1alpha1.PortSettings) bool { return mine.Port == p.Port })
		if at < 0 {
			a.class.Ports = append(a.class.Ports, p)
			continue
		}
		mine := &a.class.Ports[at]
		a.entries(fmt.Sprintf("ports[port %d].attributes", p.Port), reflect.ValueOf(p.Attributes),
			reflect.ValueOf(&mine.Attributes).Elem(), lost)
	}
}

// bound keeps Ingresses of other namespaces out: of the group that all are in, or of all hosts.
func (a *applied) bound(group string, selector *metav1.LabelSelector) {
	if group != "" {
		at := slices.IndexFunc(a.class.Groups, func(g v1alpha1.SharedGroup) bool { return g.Name == group })
		if at < 0 {
			a.class.Groups = append(a.class.Groups, v1alpha1.SharedGroup{Name: group})
			at = len(a.class.Groups) - 1
		}
		a.class.Groups[at].NamespaceSelector = both(a.class.Groups[at].NamespaceSelector, selector)
		return
	}
	if selector == nil {
		return
	}
	if a.class.AllowedHosts == nil {
		a.class.AllowedHosts = []v1alpha1.AllowedHosts{{Hosts: []string{"*"}}}
	}
	for i := range a.class.AllowedHosts {
		s := &a.class.AllowedHosts[i].NamespaceSelector
		*s = both(*s, selector)
	}
}

// both returns a selector of what two select; nil selects all.
func both(a metav1.LabelSelector, b *metav1.LabelSelector) metav1.LabelSelector {
	if b == nil {
		return a
	}
	if len(a.MatchLabels)+len(a.MatchExpressions) == 0 {
		return *b.DeepCopy()
	}
	out := a.DeepCopy()
	for _, name := range slices.Sorted(maps.Keys(b.MatchLabels)) {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: name,
			Operator: metav1.LabelSelectorOpIn, Values: []string{b.MatchLabels[name]}})
	}
	out.MatchExpressions = append(out.MatchExpressions, b.DeepCopy().MatchExpressions...)
	return *out
}

// unknown says what becomes of the fields that the controller does not have.
func (a *applied) unknown(left map[string]json.RawMessage) {
	for name, value := range left {
		if empty(value) {
			continue
		}
		m := classMade{result: dialect.Dropped, message: "the AWS Load Balancer Controller has no such field"}
		if foreign.LooksRestrictive(name, strings.Trim(string(value), `"`)) {
			m.result = dialect.Refused
			m.message += ", and it reads like a restriction: correct its name, or remove it"
		}
		a.say("spec."+name, m)
	}
}

// fieldOf reads a value of a field.
func fieldOf[T any](value json.RawMessage) (out T, wrong *classMade) {
	if err := json.Unmarshal(value, &out); err != nil {
		m := refusedField("%s is no value of this field", diag.Quote(string(value)))
		return out, &m
	}
	return out, nil
}

func textField(of func(*v1alpha1.LoadBalancerClassSpec) *string) func(json.RawMessage, *v1alpha1.LoadBalancerClassSpec) classMade {
	return func(value json.RawMessage, into *v1alpha1.LoadBalancerClassSpec) classMade {
		text, wrong := fieldOf[string](value)
		if wrong != nil {
			return *wrong
		}
		*of(into) = text
		return classMade{}
	}
}

// asAnnotation returns a value that every Ingress has as an annotation.
func asAnnotation(own, value string) classMade {
	if why := check(own, value); why != "" {
		return refusedField("%s", why)
	}
	return classMade{annotation: value}
}

func certificateField(value json.RawMessage, _ *v1alpha1.LoadBalancerClassSpec) classMade {
	all, wrong := fieldOf[[]string](value)
	if wrong != nil {
		return *wrong
	}
	return asAnnotation(settings.CertificateARN, strings.Join(all, ","))
}

func namespaceField(value json.RawMessage, _ *v1alpha1.LoadBalancerClassSpec) classMade {
	selector, wrong := fieldOf[metav1.LabelSelector](value)
	if wrong != nil {
		return *wrong
	}
	if errs := metavalidation.ValidateLabelSelector(&selector, metavalidation.LabelSelectorValidationOptions{}, nil); len(errs) > 0 {
		return refusedField("%s", errs[0].Error())
	}
	return classMade{selector: &selector}
}

func groupField(value json.RawMessage, _ *v1alpha1.LoadBalancerClassSpec) classMade {
	group, wrong := fieldOf[struct {
		Name string `json:"name"`
	}](value)
	if wrong != nil {
		return *wrong
	}
	m := asAnnotation(settings.Group, group.Name)
	m.group = group.Name
	return m
}

// rangesField reads ranges of addresses. Bits behind the length are refused, as by the controller's
// webhook.
func rangesField(value json.RawMessage, into *v1alpha1.LoadBalancerClassSpec) classMade {
	all, wrong := fieldOf[[]string](value)
	if wrong != nil {
		return *wrong
	}
	for _, item := range all {
		if _, err := netip.ParsePrefix(item); err != nil {
			return refusedField("%s is no range of addresses", diag.Quote(item))
		}
	}
	into.Inbound = all
	return classMade{}
}

func listsField(value json.RawMessage, into *v1alpha1.LoadBalancerClassSpec) classMade {
	all, wrong := fieldOf[[]string](value)
	if wrong != nil {
		return *wrong
	}
	for _, item := range all {
		if !strings.HasPrefix(item, "pl-") {
			return refusedField("%s is no prefix list", diag.Quote(item))
		}
	}
	into.Inbound = all
	return classMade{}
}

// redirectField reads a port. One that does not parse switches the redirect off in the controller
// (model_builder.go).
func redirectField(value json.RawMessage, _ *v1alpha1.LoadBalancerClassSpec) classMade {
	text, wrong := fieldOf[string](value)
	if wrong != nil {
		return *wrong
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return refusedField("%s is no port, so the other controller redirects nothing: write the HTTPS port, or remove it",
			diag.Quote(text))
	}
	return asAnnotation(settings.SSLRedirect, strconv.FormatInt(port, 10))
}

func subnetsField(value json.RawMessage, into *v1alpha1.LoadBalancerClassSpec) classMade {
	subnets, wrong := fieldOf[struct {
		IDs  []string            `json:"ids"`
		Tags map[string][]string `json:"tags"`
	}](value)
	switch {
	case wrong != nil:
		return *wrong
	case len(subnets.IDs) > 0 == (len(subnets.Tags) > 0):
		return refusedField("it has either `ids` or `tags`")
	}
	into.Subnets = subnets.IDs
	for _, name := range slices.Sorted(maps.Keys(subnets.Tags)) {
		if values := subnets.Tags[name]; len(values) != 1 || values[0] == "" || strings.ContainsAny(values[0], "*?") {
			return refusedField("tag %s: subnets are selected by one value, without * and ?: write `ids`", diag.Quote(name))
		}
		if into.SubnetTags == nil {
			into.SubnetTags = map[string]string{}
		}
		into.SubnetTags[name] = subnets.Tags[name][0]
	}
	return classMade{}
}

// A pair is a tag or an attribute.
type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// pairsOf returns pairs as a map. Of a key that is there twice, the last one counts, as in the controller.
func pairsOf(all []pair) map[string]string {
	out := map[string]string{}
	for _, p := range all {
		out[p.Key] = p.Value
	}
	return out
}

func tagsField(value json.RawMessage, into *v1alpha1.LoadBalancerClassSpec) classMade {
	all, wrong := fieldOf[[]pair](value)
	if wrong != nil {
		return *wrong
	}
	into.Tags = pairsOf(all)
	for _, name := range slices.Sorted(maps.Keys(into.Tags)) {
		if why := settings.RefusesTag(name, into.Tags[name]); why != "" {
			return refusedField("%s: %s", diag.Quote(name), why)
		}
	}
	return classMade{}
}

func attributesField(value json.RawMessage, into *v1alpha1.LoadBalancerClassSpec) classMade {
	all, wrong := fieldOf[[]pair](value)
	if wrong != nil {
		return *wrong
	}
	into.Attributes = pairsOf(all)
	if _, is := into.Attributes[""]; is {
		return refusedField("an attribute has no key")
	}
	return classMade{}
}

// listenersField reads attributes of listeners. Of entries for the same one, the first counts
// (model_build_listener.go).
func listenersField(value json.RawMessage, into *v1alpha1.LoadBalancerClassSpec) classMade {
	all, wrong := fieldOf[[]struct {
		Protocol   string `json:"protocol"`
		Port       int32  `json:"port"`
		Attributes []pair `json:"listenerAttributes"`
	}](value)
	if wrong != nil {
		return *wrong
	}
	protocols := map[int32]string{}
	for _, l := range all {
		before, twice := protocols[l.Port]
		switch {
		case l.Port < 1 || l.Port > 65535:
			return refusedField("%d is not a port", l.Port)
		case l.Protocol != v1alpha1.ProtocolHTTP && l.Protocol != v1alpha1.ProtocolHTTPS:
			return refusedField("%s is neither HTTP nor HTTPS", diag.Quote(l.Protocol))
		case twice && before != l.Protocol:
			return refusedField("port %d has one protocol: remove the entry for the other one", l.Port)
		case !twice:
			into.Ports = append(into.Ports, v1alpha1.PortSettings{Port: l.Port, Attributes: pairsOf(l.Attributes)})
		}
		protocols[l.Port] = l.Protocol
	}
	return classMade{}
}

func capacityField(value json.RawMessage, _ *v1alpha1.LoadBalancerClassSpec) classMade {
	capacity, wrong := fieldOf[struct {
		Units int32 `json:"capacityUnits"`
	}](value)
	switch {
	case wrong != nil:
		return *wrong
	case capacity.Units == 0:
		return classMade{} // none is reserved
	}
	return refusedField("no capacity is reserved: remove it, or leave the class to the other controller")
}

func poolField(json.RawMessage, *v1alpha1.LoadBalancerClassSpec) classMade {
	return refusedField("addresses are not taken from a pool of IPAM: remove it, or leave the class to the other controller")
}

// insteadOf returns what holds in place of an annotation.
func insteadOf(p *dialect.Parameters, key string) (dialect.Instead, bool) {
	if p == nil {
		return dialect.Instead{}, false
	}
	instead, is := p.Instead[key]
	return instead, is
}

// decidedBy says what decides in place of an annotation.
func decidedBy(i dialect.Instead) string {
	out := i.By + " decides"
	if i.Loses != "" {
		out += "; " + i.Loses
	}
	return out
}

// decided returns an Ingress with the annotations that the parameters decide.
func (r *reader) decided(ing *networkingv1.Ingress) *networkingv1.Ingress {
	if r.Parameters == nil || len(r.Parameters.Instead) == 0 {
		return ing
	}
	out := *ing
	out.Annotations = maps.Clone(ing.Annotations)
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	for key, instead := range r.Parameters.Instead {
		if delete(out.Annotations, key); instead.Value != "" {
			out.Annotations[key] = instead.Value
		}
	}
	return &out
}

// tellDecided says of annotations of the author that the parameters decide.
func (r *reader) tellDecided(author *networkingv1.Ingress) {
	if r.Parameters == nil {
		return
	}
	for i := range r.out.Verdicts {
		v := &r.out.Verdicts[i]
		instead, is := r.Parameters.Instead[v.Key]
		if is && v.Message != "" && v.Service == "" && author.Annotations[v.Key] != instead.Value {
			v.Message = "it is " + instead.By + ": " + v.Message
		}
	}
	for key, instead := range r.Parameters.Instead {
		value, is := author.Annotations[key]
		if !is || value == instead.Value {
			continue
		}
		v := dialect.Verdict{Key: key, Outcome: dialect.Same, Message: decidedBy(instead)}
		switch instead.Loses {
		case losesClients:
			v.Outcome = dialect.Dropped
		case losesWebACL:
			if v.Outcome = r.webACLOutcome(value); v.Outcome != dialect.Refused {
				v.Message = instead.By + " decides, and its web ACL stays"
			}
		}
		r.say(v)
	}
}

// webACLOutcome returns what becomes of the name of a web ACL where the class has one by ARN. It is the same
// if the ARN has the name (arn:aws:wafv2:REGION:ACCOUNT:regional/webacl/NAME/ID), and no web ACL is dropped.
func (r *reader) webACLOutcome(name string) dialect.Outcome {
	parts := strings.Split(r.Class.WAFv2ACL, "/")
	switch {
	case name == "" || name == r.Class.WAFv2ACL || len(parts) == 4 && parts[2] == name:
		return dialect.Same
	case !settings.IsWebACL(name):
		return dialect.Dropped
	}
	return dialect.Refused
}
