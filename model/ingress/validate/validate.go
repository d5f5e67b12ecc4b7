// Package validate checks Ingresses and IngressClasses as the API server does, because those in
// files were not checked yet. One check is left out: the API server refuses to create an Ingress
// whose class annotation and field differ, but accepts such an update. The compiler warns.
package validate

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/model/diag"
)

// Ingress returns the errors for which the API server would refuse an Ingress.
func Ingress(ing *networkingv1.Ingress) field.ErrorList {
	errs := validateMetadata(&ing.ObjectMeta, true, field.NewPath("metadata"))
	return append(errs, validateSpec(&ing.Spec, field.NewPath("spec"))...)
}

// Class returns the errors for which the API server would refuse an IngressClass.
func Class(class *networkingv1.IngressClass) field.ErrorList {
	errs := validateMetadata(&class.ObjectMeta, false, field.NewPath("metadata"))
	const longest = 250
	at := field.NewPath("spec", "controller")
	if len(class.Spec.Controller) > longest {
		errs = append(errs, field.TooLong(at, class.Spec.Controller, longest))
	}
	errs = append(errs, validation.IsDomainPrefixedPath(at, class.Spec.Controller)...)
	if p := class.Spec.Parameters; p != nil {
		errs = append(errs, validateParameters(p, field.NewPath("spec", "parameters"))...)
	}
	return errs
}

// standardFinalizers are the finalizers without a slash.
var standardFinalizers = []string{
	string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents,
	metav1.FinalizerDeleteDependents,
}

func validateMetadata(meta *metav1.ObjectMeta, namespaced bool, at *field.Path) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(meta, namespaced, apivalidation.NameIsDNSSubdomain, at)
	for i, finalizer := range meta.Finalizers {
		switch {
		case strings.Contains(finalizer, "/"):
		case slices.Contains(standardFinalizers, finalizer):
		default:
			const message = "name is neither a standard finalizer name nor is it fully qualified"
			errs = append(errs, field.Invalid(at.Child("finalizers").Index(i), finalizer, message))
		}
	}
	return errs
}

func validateSpec(spec *networkingv1.IngressSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		const message = "either `defaultBackend` or `rules` must be specified"
		errs = append(errs, field.Invalid(at, spec.Rules, message))
	}
	if class := spec.IngressClassName; class != nil {
		errs = append(errs, Invalid(at.Child("ingressClassName"), *class,
			validation.IsDNS1123Subdomain(*class))...)
	}
	if spec.DefaultBackend != nil {
		errs = append(errs, validateIngressBackend(spec.DefaultBackend, at.Child("defaultBackend"))...)
	}
	for i := range spec.Rules {
		errs = append(errs, validateRule(&spec.Rules[i], at.Child("rules").Index(i))...)
	}
	for i := range spec.TLS {
		errs = append(errs, validateTLS(&spec.TLS[i], at.Child("tls").Index(i))...)
	}
	return errs
}

func validateRule(rule *networkingv1.IngressRule, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if host := at.Child("host"); rule.Host != "" {
		if isIP(rule.Host) {
			errs = append(errs, field.Invalid(host, rule.Host, "must be a DNS name, not an IP address"))
		}
		errs = append(errs, Invalid(host, rule.Host, Host(rule.Host))...)
	}
	if rule.HTTP == nil {
		return errs
	}
	paths := at.Child("http", "paths")
	if len(rule.HTTP.Paths) == 0 {
		errs = append(errs, field.Required(paths, ""))
	}
	for i := range rule.HTTP.Paths {
		errs = append(errs, validatePath(&rule.HTTP.Paths[i], paths.Index(i))...)
	}
	return errs
}

// pathTypes are the types of paths of the API, in its order.
var pathTypes = []networkingv1.PathType{
	networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific,
	networkingv1.PathTypePrefix,
}

func validatePath(path *networkingv1.HTTPIngressPath, at *field.Path) field.ErrorList {
	if path.PathType == nil {
		return field.ErrorList{field.Required(at.Child("pathType"), "pathType must be specified")}
	}
	var errs field.ErrorList
	absolute := strings.HasPrefix(path.Path, "/")
	switch *path.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		if !absolute {
			errs = append(errs, field.Invalid(at.Child("path"), path.Path, "must be an absolute path"))
		}
		errs = append(errs, Invalid(at.Child("path"), path.Path, unnormalised(path.Path))...)
	case networkingv1.PathTypeImplementationSpecific:
		if !absolute && path.Path != "" {
			errs = append(errs, field.Invalid(at.Child("path"), path.Path, "must be an absolute path"))
		}
	default:
		errs = append(errs, field.NotSupported(at.Child("pathType"), *path.PathType, pathTypes))
	}
	return append(errs, validateIngressBackend(&path.Backend, at.Child("backend"))...)
}

// unnormalised returns messages about parts of a path that normalisation removes from requests.
func unnormalised(path string) []string {
	var msgs []string
	for _, part := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(path, part) {
			msgs = append(msgs, fmt.Sprintf("must not contain '%s'", part))
		}
	}
	for _, end := range []string{"/..", "/."} {
		if strings.HasSuffix(path, end) {
			msgs = append(msgs, fmt.Sprintf("cannot end with '%s'", end))
		}
	}
	return msgs
}

func validateIngressBackend(backend *networkingv1.IngressBackend, at *field.Path) field.ErrorList {
	switch {
	case backend.Resource != nil && backend.Service != nil:
		return field.ErrorList{field.Invalid(at, "", "cannot set both resource and service backends")}
	case backend.Resource != nil:
		r := backend.Resource
		return validateReference(r.APIGroup, r.Kind, r.Name, at.Child("resource"))
	case backend.Service != nil:
		return validateService(backend.Service, at)
	}
	return field.ErrorList{field.Invalid(at, "", "resource or service backend is required")}
}

func validateService(service *networkingv1.IngressServiceBackend, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	name, port := at.Child("service", "name"), at.Child("service", "port")
	if service.Name == "" {
		errs = append(errs, field.Required(name, ""))
	} else { // names may start with a digit since Kubernetes 1.36
		errs = append(errs, Invalid(name, service.Name, validation.IsDNS1123Label(service.Name))...)
	}
	switch p := service.Port; {
	case p.Name != "" && p.Number != 0:
		errs = append(errs, field.Invalid(at, "", "cannot set both port name & port number"))
	case p.Name != "":
		errs = append(errs, Invalid(port.Child("name"), p.Name, validation.IsValidPortName(p.Name))...)
	case p.Number != 0:
		errs = append(errs, Invalid(port.Child("number"), p.Number,
			validation.IsValidPortNum(int(p.Number)))...)
	default:
		errs = append(errs, field.Required(at, "port name or number is required"))
	}
	return errs
}

func validateTLS(tls *networkingv1.IngressTLS, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, host := range tls.Hosts {
		errs = append(errs, Invalid(at.Child("hosts").Index(i), host, Host(host))...)
	}
	if name := tls.SecretName; name != "" {
		errs = append(errs, Invalid(at.Child("secretName"), name, validation.IsDNS1123Subdomain(name))...)
	}
	return errs
}

func validateReference(group *string, kind, name string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if group != nil {
		errs = append(errs, Invalid(at.Child("apiGroup"), *group,
			validation.IsDNS1123Subdomain(*group))...)
	}
	for _, part := range []struct{ child, value string }{{"kind", kind}, {"name", name}} {
		child := at.Child(part.child)
		if part.value == "" {
			errs = append(errs, field.Required(child, ""))
			continue
		}
		errs = append(errs, Invalid(child, part.value, content.IsPathSegmentName(part.value))...)
	}
	return errs
}

// The scopes of a reference to parameters.
const (
	namespaced  = networkingv1.IngressClassParametersReferenceScopeNamespace
	clusterWide = networkingv1.IngressClassParametersReferenceScopeCluster
)

func validateParameters(ref *networkingv1.IngressClassParametersReference,
	at *field.Path) field.ErrorList {
	errs := validateReference(ref.APIGroup, ref.Kind, ref.Name, at)
	scope := clusterWide // the API server's default
	if ref.Scope != nil {
		scope = *ref.Scope
	}
	namespace := at.Child("namespace")
	switch {
	case scope == namespaced && ref.Namespace == nil:
		errs = append(errs, field.Required(namespace, "`parameters.scope` is set to 'Namespace'"))
	case scope == namespaced:
		errs = append(errs, Invalid(namespace, *ref.Namespace,
			validation.IsDNS1123Label(*ref.Namespace))...)
	case scope != clusterWide:
		errs = append(errs, field.NotSupported(at.Child("scope"), scope,
			[]string{clusterWide, namespaced}))
	case ref.Namespace != nil:
		errs = append(errs, field.Forbidden(namespace, "`parameters.scope` is set to 'Cluster'"))
	}
	return errs
}

// Host returns why a host is neither a DNS name nor a wildcard in front of one.
func Host(host string) []string {
	if !strings.Contains(host, "*") {
		return validation.IsDNS1123Subdomain(host)
	}
	// The check for wildcards compiles its expression each time, so it only runs for its messages.
	rest, ok := strings.CutPrefix(host, "*.")
	short := len(host) <= validation.DNS1123SubdomainMaxLength
	if ok && short && validation.IsDNS1123Subdomain(rest) == nil {
		return nil
	}
	return validation.IsWildcardDNS1123Subdomain(host)
}

// isIP reports whether the API server takes a host for an IP address. It ignores leading zeros.
func isIP(host string) bool {
	parts := strings.Split(host, ".")
	for i, p := range parts {
		for len(p) > 1 && p[0] == '0' {
			p = p[1:]
		}
		parts[i] = p
	}
	_, err := netip.ParseAddr(strings.Join(parts, "."))
	return err == nil
}

// Invalid returns an error about a field for each message about its value.
func Invalid(at *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, m := range messages {
		errs = append(errs, field.Invalid(at, value, m))
	}
	return errs
}

// Refusals returns a diagnostic for each error about the fields of an object.
func Refusals(object diag.Source, errs field.ErrorList) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, e := range errs {
		out = append(out, diag.Diagnostic{
			Severity: diag.Error, Reason: diag.Invalid, Source: object.At(e.Field), Message: Message(e),
		})
	}
	return out
}

// Message returns the text of an error about a field, with only the beginning of a long value.
func Message(e *field.Error) string {
	short := *e
	if v := reflect.ValueOf(e.BadValue); v.Kind() == reflect.String {
		short.BadValue = diag.Cut(v.String())
	}
	return short.ErrorBody()
}
