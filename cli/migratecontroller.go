package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
)

// This file reads how ingress-nginx is configured, and what is in front of it.

// readConfigMap gives the classes that are taken over the data of the ConfigMap of ingress-nginx.
func (m *migrating) readConfigMap(cmd *cobra.Command, to *side) error {
	namespace, name, ok := strings.Cut(m.configMap, "/")
	if !ok {
		return fmt.Errorf("--config-map %s: write NAMESPACE/NAME", m.configMap)
	}
	cluster, err := m.cluster.Client()
	if err != nil {
		return err
	}
	var found corev1.ConfigMap
	if err := cluster.Get(cmd.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &found); err != nil {
		return fmt.Errorf("--config-map %s: %w", m.configMap, err)
	}
	to.configure(func(n *v1alpha1.NGINX) { n.Config = found.Data })
	return nil
}

// readService gives the classes that are taken over the annotations of the controller's Service, unless they have some.
func (s *side) readService() {
	if service := s.serviceOfController(); service != nil {
		s.configure(func(n *v1alpha1.NGINX) {
			if n.Service == nil {
				n.Service = service.Annotations
			}
		})
	}
}

// serviceOfController returns the Service of ingress-nginx, by the label that its chart gives it; nil if there is none, or several.
func (s *side) serviceOfController() (found *corev1.Service) {
	for _, service := range s.objects.Services {
		if service.Labels[nameLabel] == "ingress-nginx" && service.Spec.Type == corev1.ServiceTypeLoadBalancer {
			if found != nil {
				return nil
			}
			found = service
		}
	}
	return found
}

// configure changes what the classes that are taken over say of ingress-nginx.
func (s *side) configure(change func(*v1alpha1.NGINX)) {
	s.objects.ClusterLoadBalancerClasses = slices.Clone(s.objects.ClusterLoadBalancerClasses)
	for _, class := range s.objects.IngressClasses {
		ref := parametersOf(class)
		if s.objects.Dialects[class.Name] != v1alpha1.DialectNGINX || ref == nil || ref.Kind != v1alpha1.KindClusterLoadBalancerClass {
			continue
		}
		at := slices.IndexFunc(s.objects.ClusterLoadBalancerClasses, func(c *v1alpha1.ClusterLoadBalancerClass) bool {
			return c.Name == ref.Name
		})
		own := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: ref.Name}}
		if at < 0 {
			at = len(s.objects.ClusterLoadBalancerClasses)
			s.objects.ClusterLoadBalancerClasses = append(s.objects.ClusterLoadBalancerClasses, nil)
		} else {
			own = s.objects.ClusterLoadBalancerClasses[at].DeepCopy()
		}
		if own.Spec.NGINX == nil {
			own.Spec.NGINX = &v1alpha1.NGINX{}
		}
		change(own.Spec.NGINX)
		s.objects.ClusterLoadBalancerClasses[at] = own
	}
}

// The annotations of the controller's Service that say where TLS ends and who reaches it: those of the AWS Load Balancer Controller
// (docs/guide/service/annotations.md there), and those of the cloud provider before it.
const (
	ofLoadBalancers = "service.beta.kubernetes.io/aws-load-balancer-"
	schemeOf        = ofLoadBalancers + "scheme"
	internalOf      = ofLoadBalancers + "internal"
	nameLabel       = "app.kubernetes.io/name"
)

// notesOfController says what is assumed of ingress-nginx, and what its Service does in front of it.
func notesOfController(s *side, configMap string) (out []string) {
	for _, class := range s.objects.IngressClasses {
		if s.objects.Dialects[class.Name] != v1alpha1.DialectNGINX {
			continue
		}
		spec := ingress.FindClass(s.objects, s.options, class.Name)
		if spec == nil {
			continue
		}
		if spec.NGINX == nil || spec.NGINX.Config == nil {
			out = append(out, "The ConfigMap of ingress-nginx was not read, so its defaults are assumed: name it with --config-map, or "+
				"write its data into nginx.config of ClusterLoadBalancerClass "+class.Name+".")
		}
		if service := s.serviceOfController(); service != nil {
			out = append(out, noteOfService(service, spec)...)
		}
	}
	if configMap != "" {
		out = append(out, "ConfigMap "+configMap+" is the one of ingress-nginx.")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func noteOfService(s *corev1.Service, class *ingress.Class) (out []string) {
	name := "Service " + s.Namespace + "/" + s.Name
	out = append(out, name+" is the one of ingress-nginx: its annotations say where TLS ends.")
	legacy := s.Annotations[internalOf] // "true", and ranges before
	internal := s.Annotations[schemeOf] == "internal" || s.Annotations[schemeOf] == "" && legacy != "" && legacy != "false"
	if scheme := class.Scheme; !internal && scheme != "internet-facing" {
		out = append(out, name+" may face the internet, and load balancers of class "+class.Name+" are internal: write `scheme: "+
			"internet-facing` into the class if clients are outside.")
	}
	return out
}
