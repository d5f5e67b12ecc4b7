package ingress

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/settings"
)

// This file validates the parameters of a class: fields that are lists or maps. Fields with a
// single value are rows of the table in package settings.

// validateSpec returns the errors in the parameters of a class.
func validateSpec(spec *v1alpha1.LoadBalancerClassSpec, at *field.Path) field.ErrorList {
	errs := append(settings.ValidateClass(spec, at), settings.ClassFields.Validate(spec, at)...)
	if len(spec.Subnets) > 0 && len(spec.SubnetTags) > 0 {
		errs = append(errs, field.Invalid(at.Child("subnetTags"), spec.SubnetTags,
			"subnets are either named or selected by tags"))
	}
	if len(spec.SecurityGroups) > 0 && len(spec.Inbound) > 0 {
		errs = append(errs, field.Invalid(at.Child("inbound"), spec.Inbound,
			"security groups of one's own say themselves who may connect"))
	}
	errs = append(errs, validateProviderSettings(spec.Provider, at.Child("provider"))...)
	errs = append(errs, settings.ValidateTargetPorts(spec.TargetPorts, at.Child("targetPorts"))...)
	errs = append(errs, validateTags(spec.Tags, at.Child("tags"))...)
	errs = append(errs, validatePorts(spec.Ports, at.Child("ports"))...)
	if spec.WildcardHosts == v1alpha1.WildcardAnyLabels {
		errs = append(errs, validateAnyLabels(spec, at.Child("wildcardHosts"))...)
	}
	errs = append(errs, validateAdoption(spec, at.Child("adoption"))...)
	if spec.ValuesPerCondition < 0 {
		errs = append(errs, field.Invalid(at.Child("valuesPerCondition"), spec.ValuesPerCondition,
			"must not be negative"))
	}
	for name, n := range map[string]int{
		"perNamespace":             spec.LoadBalancers.PerNamespace,
		"certificatesPerNamespace": spec.LoadBalancers.CertificatesPerNamespace,
	} {
		if n < 0 {
			errs = append(errs, field.Invalid(at.Child("loadBalancers", name), n, "must not be negative"))
		}
	}
	errs = append(errs, validateGroups(spec.Groups, at.Child("groups"))...)
	errs = append(errs, validateAllowedHosts(spec.AllowedHosts, at.Child("allowedHosts"))...)
	for i, b := range spec.TargetGroupBindings {
		selector := at.Child("targetGroupBindings").Index(i).Child("namespaceSelector")
		if b.NamespaceSelector == nil {
			errs = append(errs, field.Required(selector, "an empty one, {}, selects all namespaces"))
		}
		errs = append(errs, validateSelector(b.NamespaceSelector, selector)...)
	}
	return append(errs, validateAnnotationNames(spec.Annotations, at.Child("annotations"))...)
}

// validateAnyLabels refuses wildcards that span labels where hosts are compared before paths, and where
// they would answer for hosts of other namespaces.
func validateAnyLabels(spec *v1alpha1.LoadBalancerClassSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.Precedence != v1alpha1.PrecedenceOrder {
		errs = append(errs, field.Invalid(at, spec.WildcardHosts, "it needs precedence: Order"))
	}
	if len(spec.Groups) > 0 && spec.Hosts != v1alpha1.HostsShared {
		errs = append(errs, field.Invalid(at, spec.WildcardHosts,
			"in a class with groups it needs hosts: Shared"))
	}
	return errs
}

// validateAdoption refuses load balancers that are named twice, and those of a controller whose Ingresses
// are not read.
func validateAdoption(spec *v1alpha1.LoadBalancerClassSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	a := spec.Adoption
	if a == nil {
		return nil
	}
	if spec.Dialect != v1alpha1.DialectALB {
		errs = append(errs, field.Invalid(at, a.From, "it needs dialect: alb"))
	}
	if a.KeepOld != nil && a.KeepOld.Duration < 0 {
		errs = append(errs, field.Invalid(at.Child("keepOld"), a.KeepOld.Duration.String(), "must not be negative"))
	}
	for i, n := range a.Names {
		if slices.ContainsFunc(a.Names[:i],
			func(other v1alpha1.AdoptedName) bool { return other.Stack == n.Stack }) {
			errs = append(errs, field.Duplicate(at.Child("names").Index(i).Child("stack"), n.Stack))
		}
	}
	return errs
}

func validatePorts(ports []v1alpha1.PortSettings, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, p := range ports {
		if slices.ContainsFunc(ports[:i],
			func(other v1alpha1.PortSettings) bool { return other.Port == p.Port }) {
			errs = append(errs, field.Duplicate(at.Index(i).Child("port"), p.Port))
		}
		if p.TLSPolicy != "" {
			if err := settings.Of(settings.TLSPolicy).Type.Validate(p.TLSPolicy,
				at.Index(i).Child("tlsPolicy")); err != nil {
				errs = append(errs, err)
			}
		}
		m, under := p.MutualAuthentication, at.Index(i).Child("mutualAuthentication")
		if m == nil {
			continue
		}
		if (m.Mode == v1alpha1.MutualVerify) != (m.TrustStore != "") {
			errs = append(errs, field.Invalid(under.Child("trustStore"), m.TrustStore,
				"`verify` needs a trust store, and no other mode has one"))
		}
		if m.Mode != v1alpha1.MutualVerify && (m.IgnoreExpiry || m.AdvertiseCANames) {
			errs = append(errs, field.Invalid(under, m.Mode,
				"`ignoreExpiry` and `advertiseCANames` are for `verify`"))
		}
	}
	return errs
}

func validateGroups(groups []v1alpha1.SharedGroup, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, g := range groups {
		errs = append(errs, validateSelector(&g.NamespaceSelector,
			at.Index(i).Child("namespaceSelector"))...)
		if slices.ContainsFunc(groups[:i],
			func(other v1alpha1.SharedGroup) bool { return other.Name == g.Name }) {
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), g.Name))
		}
	}
	return errs
}

func validateAllowedHosts(allowed []v1alpha1.AllowedHosts, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, a := range allowed {
		errs = append(errs, validateSelector(&a.NamespaceSelector,
			at.Index(i).Child("namespaceSelector"))...)
		for j, host := range a.Hosts {
			if host != anyHost {
				errs = append(errs, validate.Invalid(at.Index(i).Child("hosts").Index(j), host,
					validate.Host(host))...)
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

// validateTags refuses the tags by which Fairlead identifies its objects, and tags that clouds
// refuse.
func validateTags(tags map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if why := settings.RefusesTag(name, tags[name]); why != "" {
			errs = append(errs, field.Invalid(at.Key(name), name, why))
		}
	}
	return errs
}

// anyHost allows every host, rules without a host, and default backends.
const anyHost = "*"
