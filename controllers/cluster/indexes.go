package cluster

import (
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/settings"
)

// This file has the indexes of the cache: of EndpointSlices by Service and Pods, of Ingresses by
// IngressClass, and of these by parameters.

// An Index lets the cache list the objects of one kind by the values of a field.
type Index struct {
	Of     client.Object
	Field  string
	Values client.IndexerFunc
}

// The fields of the indexes.
const (
	sliceService    = "service"
	slicePods       = "pods"
	IngressClass    = "class"
	ClassParameters = "parameters"
)

// Indexes returns the indexes that an operator's cache has.
func Indexes() []Index {
	return []Index{
		{&discoveryv1.EndpointSlice{}, sliceService, ServiceOfSlice},
		{&discoveryv1.EndpointSlice{}, slicePods, podsOfSlice},
		{&networkingv1.Ingress{}, IngressClass, ClassesOfIngress},
		{&networkingv1.IngressClass{}, ClassParameters, parametersOfClass},
	}
}

// ServiceOfSlice returns the name of the Service of an EndpointSlice, if it has one.
func ServiceOfSlice(o client.Object) []string {
	if name := o.GetLabels()[discoveryv1.LabelServiceName]; name != "" {
		return []string{name}
	}
	return nil
}

// podsOfSlice returns the families of the Pods of an EndpointSlice.
func podsOfSlice(o client.Object) []string {
	var out []string
	for _, e := range o.(*discoveryv1.EndpointSlice).Endpoints {
		pod := endpoints.PodOf(o.(*discoveryv1.EndpointSlice), e)
		if pod != "" && !slices.Contains(out, familyOf(pod)) {
			out = append(out, familyOf(pod))
		}
	}
	return out
}

// familyOf returns the name of a Pod without its last part: that of its ReplicaSet, StatefulSet or
// DaemonSet. An index by the names of all Pods would take more memory than the EndpointSlices.
func familyOf(pod string) string {
	if at := strings.LastIndexByte(pod, '-'); at > 0 {
		return pod[:at]
	}
	return pod
}

// hasEndpointOf reports whether an EndpointSlice has an endpoint of a Pod.
func hasEndpointOf(s *discoveryv1.EndpointSlice, pod string) bool {
	return slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
		return endpoints.PodOf(s, e) == pod
	})
}

// NoClass is the index value of Ingresses without a class. No IngressClass has this name.
const NoClass = "/"

// ClassesOfIngress returns the classes that an Ingress names, by annotation and by field, or
// NoClass.
func ClassesOfIngress(o client.Object) []string {
	ing := o.(*networkingv1.Ingress)
	var out []string
	if named := ing.Annotations[settings.IngressClass]; named != "" {
		out = append(out, named)
	}
	if named := ing.Spec.IngressClassName; named != nil && *named != "" {
		out = append(out, *named)
	}
	if out == nil {
		return []string{NoClass}
	}
	return out
}

// parametersOfClass returns the objects that can be parameters of an IngressClass.
func parametersOfClass(o client.Object) []string {
	var out []string
	for _, r := range ParametersRefs(o.(*networkingv1.IngressClass)) {
		out = append(out, r.Key())
	}
	return out
}
