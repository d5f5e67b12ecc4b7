package ingress

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/settings"
)

// This file reads the annotations of Services: settings of their own ports. They take priority over
// those of the Ingresses that refer to them.

// onServices reports whether an annotation is read on Services.
func onServices(annotation string) bool {
	s := settings.Of(annotation)
	return s != nil && s.About == settings.ServicePorts
}

// A serviceReading has the annotations of a Service that count under a class.
type serviceReading struct {
	asked map[string]string
	wrong []settings.Finding
}

// readService reads the annotations of a Service under a class.
func readService(s *corev1.Service, c *Class) serviceReading {
	out := serviceReading{asked: map[string]string{}}
	for key, value := range s.Annotations {
		if onServices(key) {
			out.asked[key] = value
		}
	}
	if len(out.asked) == 0 {
		return out
	}
	_, out.wrong = settings.Read(out.asked, &c.LoadBalancerClassSpec, true)
	for _, w := range out.wrong {
		if w.Reason != diag.SettingConflict {
			delete(out.asked, w.Annotation)
		}
	}
	return out
}

// settingsOf returns the settings of the ports of a Service: its own, and else those of the member. It
// reports, at a field of the member, what is wrong with those of the Service.
func (v *memberBackends) settingsOf(service Name, field string) settings.Values {
	object := v.Services[service]
	if object == nil || len(object.Annotations) == 0 {
		return v.Settings
	}
	known, done := v.ofServices[service]
	if done {
		return known
	}
	out := v.Settings
	read := readService(object, v.pool.class)
	for _, w := range read.wrong {
		message := w.Message
		if w.Severity == diag.Error {
			message += ", so it is ignored"
		}
		v.addDiagnostic(diag.Warning, w.Reason, field, "annotation "+w.Annotation+" of Service "+service.String()+": "+message)
	}
	if len(read.asked) > 0 {
		all := maps.Clone(v.Annotations)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, read.asked)
		// Mistakes in the annotations of the Ingress were reported.
		merged, _ := settings.Read(all, &v.pool.class.LoadBalancerClassSpec, true)
		out.TargetType, out.Protocol, out.Version = merged.TargetType, merged.Protocol, merged.Version
		out.NodeLabels = merged.NodeLabels
		out.HealthAsked, out.GroupAttributes = merged.HealthAsked, merged.GroupAttributes
	}
	v.ofServices[service] = out
	return out
}

// asksForNodes reports whether a Service asks for targets that are nodes.
func asksForNodes(s *corev1.Service, c *Class) bool {
	return s != nil && s.Annotations[settings.TargetType] != "" &&
		readService(s, c).asked[settings.TargetType] == v1alpha1.TargetTypeInstance
}

// isOnNodes reports whether requests for a member are sent to nodes.
func (s Snapshot) isOnNodes(m Member, services map[Name]*corev1.Service,
	backends map[Name]*v1alpha1.Backend) bool {
	return m.Settings.TargetType == v1alpha1.TargetTypeInstance ||
		slices.ContainsFunc(servicesOf(m, backends), func(r serviceReference) bool {
			return asksForNodes(services[r.service], &s.Class)
		})
}
