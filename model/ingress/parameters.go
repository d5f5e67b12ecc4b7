package ingress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/settings"
)

// This file finds the parameters of a class and checks them, spec.provider included, which only the
// provider of a load balancer understands. A class whose parameters cannot be read is not used at
// all, since its restrictions would be missing.

// parameters are the objects that an IngressClass can refer to.
type parameters struct {
	namespaced map[name]*v1alpha1.LoadBalancerClass
	cluster    map[name]*v1alpha1.ClusterLoadBalancerClass
}

func newParameters(o Objects) parameters {
	return parameters{byName(o.LoadBalancerClasses), byName(o.ClusterLoadBalancerClasses)}
}

// find is the spec that a class refers to and the object that it is in, or what is wrong with the
// reference.
func (p parameters) find(ref *networkingv1.IngressClassParametersReference, at *field.Path) (*v1alpha1.LoadBalancerClassSpec, diag.Source, *field.Error) {
	source := diag.Source{Kind: ref.Kind, Name: ref.Name}
	if ref.Namespace != nil {
		source.Namespace = *ref.Namespace
	}
	kinds := []string{v1alpha1.KindClusterLoadBalancerClass, v1alpha1.KindLoadBalancerClass}
	switch {
	case ref.APIGroup == nil || *ref.APIGroup != v1alpha1.Group:
		return nil, source, field.NotSupported(at.Child("apiGroup"), ref.APIGroup, []string{v1alpha1.Group})
	case !slices.Contains(kinds, ref.Kind):
		return nil, source, field.NotSupported(at.Child("kind"), ref.Kind, kinds)
	case ref.Kind == v1alpha1.KindLoadBalancerClass && ref.Namespace == nil:
		return nil, source, field.Required(at.Child("namespace"), "a LoadBalancerClass is in a namespace: set `parameters.scope` to 'Namespace'")
	case ref.Kind == v1alpha1.KindClusterLoadBalancerClass && ref.Namespace != nil:
		return nil, source, field.Forbidden(at.Child("namespace"), "a ClusterLoadBalancerClass is in no namespace: set `parameters.scope` to 'Cluster'")
	}
	n := name{source.Namespace, source.Name}
	if c := p.namespaced[n]; c != nil && ref.Kind == v1alpha1.KindLoadBalancerClass {
		return &c.Spec, source, nil
	}
	if c := p.cluster[n]; c != nil && ref.Kind == v1alpha1.KindClusterLoadBalancerClass {
		return &c.Spec, source, nil
	}
	return nil, source, field.NotFound(at, source.String())
}

// validateClassSpec is what is wrong with the parameters of a class.
func validateClassSpec(spec *v1alpha1.LoadBalancerClassSpec, at *field.Path) field.ErrorList {
	errs := settings.ValidateClass(spec, at)
	if len(spec.Subnets) > 0 && len(spec.SubnetTags) > 0 {
		errs = append(errs, field.Invalid(at.Child("subnetTags"), spec.SubnetTags, "subnets are either named or selected by tags"))
	}
	if len(spec.SecurityGroups) > 0 && len(spec.Inbound) > 0 {
		errs = append(errs, field.Invalid(at.Child("inbound"), spec.Inbound, "security groups of one's own say themselves who may connect"))
	}
	errs = append(errs, validateProviderSettings(spec.Provider, at.Child("provider"))...)
	errs = append(errs, settings.ValidateTargetPorts(spec.TargetPorts, at.Child("targetPorts"))...)
	errs = append(errs, validateTags(spec.Tags, at.Child("tags"))...)
	errs = append(errs, validatePorts(spec.Ports, at.Child("ports"))...)
	if spec.ValuesPerCondition < 0 {
		errs = append(errs, field.Invalid(at.Child("valuesPerCondition"), spec.ValuesPerCondition, "must not be negative"))
	}
	errs = append(errs, validateGroups(spec.Groups, at.Child("groups"))...)
	errs = append(errs, validateAllowedHosts(spec.AllowedHosts, at.Child("allowedHosts"))...)
	return append(errs, validateAnnotationNames(spec.Annotations, at.Child("annotations"))...)
}

func validatePorts(ports []v1alpha1.PortSettings, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, p := range ports {
		if p.Port < 1 || p.Port > 65535 {
			errs = append(errs, field.Invalid(at.Index(i).Child("port"), p.Port, "ports are 1 to 65535"))
		}
		if slices.ContainsFunc(ports[:i], func(other v1alpha1.PortSettings) bool { return other.Port == p.Port }) {
			errs = append(errs, field.Duplicate(at.Index(i).Child("port"), p.Port))
		}
		if p.TLSPolicy != "" {
			if err := settings.Of(settings.TLSPolicy).Type.Validate(p.TLSPolicy, at.Index(i).Child("tlsPolicy")); err != nil {
				errs = append(errs, err)
			}
		}
		m, under := p.MutualAuthentication, at.Index(i).Child("mutualAuthentication")
		if m == nil {
			continue
		}
		if known := []string{v1alpha1.MutualOff, v1alpha1.MutualPassthrough, v1alpha1.MutualVerify}; !slices.Contains(known, m.Mode) {
			errs = append(errs, field.NotSupported(under.Child("mode"), m.Mode, known))
		}
		if (m.Mode == v1alpha1.MutualVerify) != (m.TrustStore != "") {
			errs = append(errs, field.Invalid(under.Child("trustStore"), m.TrustStore, "a trust store is what `verify` needs, and nothing else does"))
		}
		if m.Mode != v1alpha1.MutualVerify && (m.IgnoreExpiry || m.AdvertiseCANames) {
			errs = append(errs, field.Invalid(under, m.Mode, "`ignoreExpiry` and `advertiseCANames` are for `verify`"))
		}
	}
	return errs
}

func validateGroups(groups []v1alpha1.SharedGroup, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, g := range groups {
		errs = append(errs, validate.Invalid(at.Index(i).Child("name"), g.Name, validation.IsDNS1123Label(g.Name))...)
		errs = append(errs, validateSelector(&g.NamespaceSelector, at.Index(i).Child("namespaceSelector"))...)
		if g.Owner != "" {
			errs = append(errs, validate.Invalid(at.Index(i).Child("owner"), g.Owner, validation.IsDNS1123Label(g.Owner))...)
		}
		if slices.ContainsFunc(groups[:i], func(other v1alpha1.SharedGroup) bool { return other.Name == g.Name }) {
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), g.Name))
		}
	}
	return errs
}

func validateAllowedHosts(allowed []v1alpha1.AllowedHosts, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, a := range allowed {
		errs = append(errs, validateSelector(&a.NamespaceSelector, at.Index(i).Child("namespaceSelector"))...)
		for j, host := range a.Hosts {
			if host != anyHost {
				errs = append(errs, validate.Invalid(at.Index(i).Child("hosts").Index(j), host, validate.Host(host))...)
			}
		}
	}
	return errs
}

func validateAnnotationNames(names *[]string, at *field.Path) field.ErrorList {
	if names == nil {
		return nil
	}
	var errs field.ErrorList
	for i, n := range *names {
		if settings.Of(settings.Full(n)) == nil {
			errs = append(errs, field.NotFound(at.Index(i), n))
		}
	}
	return errs
}

func validateSelector(s *metav1.LabelSelector, at *field.Path) field.ErrorList {
	return metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, at)
}

// What tags may be. Clouds take 50 of each object, of which Fairlead's own are never more than ten.
const (
	mostTags      = 40
	longestTag    = 128
	longestTagged = 256
)

// tagCharacters are those that clouds take in the names and values of tags.
var tagCharacters = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// validateTags keeps what Fairlead knows its own by out of what a class may write, and what a cloud
// would refuse of every object.
func validateTags(tags map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(tags) > mostTags {
		errs = append(errs, field.TooMany(at, len(tags), mostTags))
	}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		why := ""
		switch value := tags[name]; {
		case strings.HasPrefix(name, settings.Prefix):
			why = "names that start with " + settings.Prefix + " are Fairlead's own"
		case strings.HasPrefix(strings.ToLower(name), "aws:"):
			why = "names that start with aws: are the cloud's own"
		case name == "" || utf8.RuneCountInString(name) > longestTag:
			why = fmt.Sprintf("names have 1 to %d characters", longestTag)
		case utf8.RuneCountInString(value) > longestTagged:
			why = fmt.Sprintf("values have at most %d characters", longestTagged)
		case !tagCharacters.MatchString(name) || !tagCharacters.MatchString(value):
			why = "names and values are of letters, digits, spaces and _.:/=+-@"
		default:
			continue
		}
		errs = append(errs, field.Invalid(at.Key(name), name, why))
	}
	return errs
}

// The bounds of such settings.
const (
	longestSettings = 16 << 10 // bytes of JSON
	deepestSettings = 32       // objects and lists within one another
)

// validateProviderSettings is what is wrong with settings before their provider sees them.
func validateProviderSettings(settings *runtime.RawExtension, at *field.Path) field.ErrorList {
	if settings == nil {
		return nil
	}
	if len(settings.Raw) > longestSettings {
		return field.ErrorList{field.TooLong(at, "", longestSettings)}
	}
	if _, err := inOneForm(settings.Raw); err != nil {
		return field.ErrorList{field.Invalid(at, "", err.Error())}
	}
	return nil
}

// providerSettings are valid settings in the one form that equal settings have; "" for none.
func providerSettings(settings *runtime.RawExtension) string {
	if settings == nil {
		return ""
	}
	text, err := inOneForm(settings.Raw)
	if err != nil {
		return "" // validateProviderSettings has said so
	}
	return text
}

// inOneForm is a JSON object without spaces and with its names in order; "" for an empty one.
func inOneForm(raw []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return "", fmt.Errorf("it has to be an object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("it has to be one object")
	}
	if depth(object) > deepestSettings {
		return "", fmt.Errorf("it has more than %d objects and lists within one another", deepestSettings)
	}
	if len(object) == 0 {
		return "", nil
	}
	text, err := json.Marshal(object)
	return string(text), err
}

// depth is how many objects and lists there are within one another.
func depth(value any) int {
	deepest := 0
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
	case []any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
	default:
		return 0
	}
	return deepest + 1
}

// anyHost allows every host, and what is for no host in particular.
const anyHost = "*"
