package incumbent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// This file is the order of things: which Ingresses are the controller's own, their groups and finalizers, and the
// addresses in their status (controllers/ingress/group_controller.go, pkg/ingress/group_loader.go, class_loader.go,
// finalizer.go).

// A Controller is one process of the controller, with its defaults. What it remembers is gone with it, so that another
// Controller is a start of it.
type Controller struct {
	Client client.Client
	ELB    *elbv2.Client
	EC2    *ec2.Client
	ACM    *acm.Client // nil where no certificate is looked for

	ClusterName string // --cluster-name
	VPC         string // --aws-vpc-id
	// NoBackendGroup is --enable-backend-security-group=false.
	NoBackendGroup bool
	// DefaultTags are --default-tags.
	DefaultTags map[string]string
	// Late says that more than 45 minutes have passed since bindings were seen to be as they were: their targets are
	// compared again (controllers/elbv2/targetgroupbinding_deferred_reconciler.go).
	Late bool

	written int             // objects of Kubernetes
	backend backendGroup    // security_groups.go
	rules   endpointRules   // networking.go
	looked  map[string]bool // bindings that were compared again for Late
}

// The finalizers of Ingresses of a group without and with a name (pkg/shared_constants/finalizers.go), and of bindings.
const (
	Finalizer        = "ingress.k8s.aws/resources"
	GroupFinalizer   = "group.ingress.k8s.aws/" // and the group's name
	BindingFinalizer = "elbv2.k8s.aws/resources"
)

const itsController = "ingress.k8s.aws/alb" // pkg/ingress/class_loader.go

// Pass does all that the controller does until its own writes to Kubernetes wake it no more. It fails as the controller
// does, with the failures of all groups and bindings, and does the rest.
func (c *Controller) Pass(ctx context.Context) error {
	for range 20 {
		before := c.written
		if err := c.once(ctx); c.written == before {
			return err
		}
	}
	return errors.New("the controller does not come to rest")
}

func (c *Controller) once(ctx context.Context) error {
	var ingresses networkingv1.IngressList
	if err := c.Client.List(ctx, &ingresses); err != nil {
		return err
	}
	// An event of an Ingress wakes the groups of its finalizers, and the one that it belongs to
	// (controllers/ingress/eventhandlers/ingress_events.go). Nothing else leads to a group.
	var ids []groupID
	for i := range ingresses.Items {
		ing := &ingresses.Items[i]
		for _, f := range ing.Finalizers {
			if name, explicit := strings.CutPrefix(f, GroupFinalizer); explicit {
				ids = append(ids, groupID{name: name})
			} else if f == Finalizer {
				ids = append(ids, groupID{ing.Namespace, ing.Name})
			}
		}
		if id, _, err := c.groupOf(ctx, ing); err == nil && id != (groupID{}) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b groupID) int { return cmp.Compare(a.String(), b.String()) })
	var errs []error
	for _, id := range slices.Compact(ids) {
		if err := c.reconcile(ctx, id); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
		}
	}
	return errors.Join(append(errs, c.bindings(ctx))...)
}

// A groupID names a group: an explicit one by its name, that of one Ingress by the Ingress.
type groupID struct{ namespace, name string }

func (id groupID) String() string { return strings.TrimPrefix(id.namespace+"/"+id.name, "/") }

func (id groupID) finalizer() string {
	if id.namespace == "" {
		return GroupFinalizer + id.name
	}
	return Finalizer
}

// has reports whether an Ingress has the finalizer of the group.
func (id groupID) has(ing *networkingv1.Ingress) bool {
	return slices.Contains(ing.Finalizers, id.finalizer()) && (id.namespace == "" || id == groupID{ing.Namespace, ing.Name})
}

var (
	errClass = errors.New("the IngressClass is wrong")
	errGroup = errors.New("the name of the group is wrong")
)

// groupOf returns the group that an Ingress belongs to, or an empty one.
func (c *Controller) groupOf(ctx context.Context, ing *networkingv1.Ingress) (groupID, Class, error) {
	if ing.DeletionTimestamp != nil {
		return groupID{}, Class{}, nil
	}
	class := Class{}
	if old, has := ing.Annotations["kubernetes.io/ingress.class"]; has {
		if old != "alb" { // --ingress-class
			return groupID{}, class, nil
		}
	} else {
		known, err := c.classOf(ctx, ing)
		if err != nil || known == nil {
			return groupID{}, class, err
		}
		class = *known
	}
	name, has := ing.Annotations[prefix+"group.name"]
	if class.params != nil && class.params.Group != nil {
		name, has = class.params.Group.Name, true
	}
	switch {
	case !has:
		return groupID{ing.Namespace, ing.Name}, class, nil
	case len(name) > 63 || !groupName.MatchString(name):
		return groupID{}, class, errGroup
	}
	return groupID{name: name}, class, nil
}

// params are the fields of IngressClassParams that are read (apis/elbv2/v1beta1/ingressclassparams_types.go).
type params struct {
	LoadBalancerName       string
	CertificateArn         []string
	NamespaceSelector      *metav1.LabelSelector
	Group                  *struct{ Name string }
	Scheme, IPAddressType  *string
	InboundCIDRs           []string
	SSLPolicy              string
	SSLRedirectPort        string
	Subnets                *struct{ IDs []string }
	Tags                   []struct{ Key, Value string }
	TargetType             string
	LoadBalancerAttributes []struct{ Key, Value string }
}

// classOf returns the IngressClass of an Ingress, or nil if it is not the controller's.
func (c *Controller) classOf(ctx context.Context, ing *networkingv1.Ingress) (*Class, error) {
	name := ing.Spec.IngressClassName
	if name == nil {
		var all networkingv1.IngressClassList
		if err := c.Client.List(ctx, &all); err != nil {
			return nil, err
		}
		for _, one := range all.Items {
			if one.Annotations["ingressclass.kubernetes.io/is-default-class"] == "true" {
				if name != nil {
					return nil, errors.New("there are several default IngressClasses")
				}
				name = &one.Name
			}
		}
		if name == nil {
			return nil, nil
		}
	}
	var class networkingv1.IngressClass
	if err := c.Client.Get(ctx, types.NamespacedName{Name: *name}, &class); err != nil {
		return nil, missingIs(errClass, err)
	}
	ref := class.Spec.Parameters
	if class.Spec.Controller != itsController {
		return nil, nil
	}
	if ref == nil {
		return &Class{Name: class.Name}, nil
	}
	if ref.APIGroup == nil || *ref.APIGroup != itsGroup || ref.Kind != "IngressClassParams" {
		return nil, errClass
	}
	object := c.object("IngressClassParams", "", ref.Name)
	if err := c.Client.Get(ctx, types.NamespacedName{Name: ref.Name}, object); err != nil {
		return nil, missingIs(errClass, err)
	}
	p := &params{}
	if err := convert(object.Object["spec"], p); err != nil {
		return nil, err
	}
	if p.NamespaceSelector != nil {
		var namespace corev1.Namespace
		if err := c.Client.Get(ctx, types.NamespacedName{Name: ing.Namespace}, &namespace); err != nil {
			return nil, err
		}
		if chosen, err := metav1.LabelSelectorAsSelector(p.NamespaceSelector); err != nil || !chosen.Matches(labels.Set(namespace.Labels)) {
			return nil, errClass
		}
	}
	return &Class{Name: class.Name, TargetType: p.TargetType, SSLRedirectPort: p.SSLRedirectPort, CertificateARNs: p.CertificateArn, params: p}, nil
}

func missingIs(this, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", this, err)
	}
	return err
}

// load returns the members of a group, and the Ingresses that have its finalizer alone. One that has the finalizer and no
// IngressClass any more fails the group; one whose IngressClass is another controller's is no member any more.
func (c *Controller) load(ctx context.Context, id groupID) (members []member, left []*networkingv1.Ingress, err error) {
	var ingresses networkingv1.IngressList
	if err := c.Client.List(ctx, &ingresses); err != nil {
		return nil, nil, err
	}
	for i := range ingresses.Items {
		ing := &ingresses.Items[i]
		of, class, err := c.groupOf(ctx, ing)
		switch {
		case errors.Is(err, errClass) && !id.has(ing):
		case errors.Is(err, errGroup), err == nil && of != id:
			if id.has(ing) {
				left = append(left, ing)
			}
		case err != nil:
			return nil, nil, err
		default:
			members = append(members, member{Ingress: ing, class: class})
		}
	}
	b := builder{members: members}
	return b.members, left, b.sortMembers()
}

// reconcile brings a group about: finalizers first, then AWS and the bindings, then the status; Ingresses that have left it
// lose the finalizer last.
func (c *Controller) reconcile(ctx context.Context, id groupID) error {
	members, left, err := c.load(ctx, id)
	if err != nil {
		return err
	}
	for _, m := range members {
		if err := c.hold(ctx, m.Ingress, id.finalizer(), true); err != nil {
			return err
		}
	}
	s, err := c.stackOf(ctx, id, members, left)
	if err != nil {
		return err
	}
	if err := c.deploy(ctx, s); err != nil {
		return err
	}
	if err := c.release(ctx, s); err != nil {
		return err
	}
	for _, m := range members {
		if err := c.publish(ctx, m.Ingress, s); err != nil {
			return err
		}
	}
	for _, ing := range left {
		if err := c.hold(ctx, ing, id.finalizer(), false); err != nil {
			return err
		}
	}
	return nil
}

// hold adds a finalizer or removes it (pkg/k8s/finalizer.go).
func (c *Controller) hold(ctx context.Context, of client.Object, finalizer string, add bool) error {
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(of), of); err != nil {
		return err
	}
	before := of.DeepCopyObject().(client.Object) //nolint:forcetypeassert // the copy is of its type
	change := controllerutil.RemoveFinalizer
	if add {
		change = controllerutil.AddFinalizer
	}
	if !change(of, finalizer) {
		return nil
	}
	return c.wrote(c.Client.Patch(ctx, of, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// wrote counts what was written to Kubernetes.
func (c *Controller) wrote(err error) error {
	if err == nil {
		c.written++
	}
	return err
}

// publish writes the address and the ports of the load balancer into the status: one entry, whatever there was.
func (c *Controller) publish(ctx context.Context, ing *networkingv1.Ingress, s *stack) error {
	before := ing.DeepCopy()
	var ports []networkingv1.IngressPortStatus
	for _, l := range s.listeners {
		ports = append(ports, networkingv1.IngressPortStatus{Port: l.port})
	}
	host := strings.ToLower(s.balancer.dns)
	if is := ing.Status.LoadBalancer.Ingress; len(is) != 1 || is[0].IP != "" || is[0].Hostname != host {
		ing.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: host, Ports: ports}}
	} else {
		is[0].Ports = ports
	}
	if samePorts(before.Status.LoadBalancer.Ingress, ing.Status.LoadBalancer.Ingress) {
		return nil
	}
	return c.wrote(c.Client.Status().Patch(ctx, ing, client.MergeFrom(before)))
}

// samePorts compares entries by name and numbers of ports, as isIngressStatusEqual does.
func samePorts(a, b []networkingv1.IngressLoadBalancerIngress) bool {
	byHost := func(all []networkingv1.IngressLoadBalancerIngress) string {
		var out []string
		for _, one := range all {
			var ports []int32
			for _, p := range one.Ports {
				ports = append(ports, p.Port)
			}
			slices.Sort(ports)
			if one.Hostname != "" {
				out = append(out, fmt.Sprint(one.Hostname, slices.Compact(ports)))
			}
		}
		slices.Sort(out)
		return strings.Join(out, "\n")
	}
	return len(a) == len(b) && byHost(a) == byHost(b)
}

// itsGroup is the API group of its kinds, of version v1beta1.
const itsGroup = "elbv2.k8s.aws"

// object returns an object of one of its kinds.
func (c *Controller) object(kind, namespace, name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: itsGroup, Version: "v1beta1", Kind: kind})
	out.SetNamespace(namespace)
	out.SetName(name)
	return out
}

// convert reads a part of an object into a type, whatever the case of field names.
func convert(from, into any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
