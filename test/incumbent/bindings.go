package incumbent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file has TargetGroupBindings: what a group makes of them, and the targets that a binding registers and deregisters
// (pkg/deploy/elbv2/target_group_binding_*.go, controllers/elbv2/targetgroupbinding_controller.go, pkg/targetgroupbinding,
// pkg/backend). A binding is reconciled for itself, with or without an Ingress.

// A binding is the spec of a TargetGroupBinding, with its fields in their order: a checkpoint is a hash of it.
type binding struct {
	TargetGroupARN          string                `json:"targetGroupARN,omitempty"`
	TargetGroupName         string                `json:"targetGroupName,omitempty"`
	MultiClusterTargetGroup bool                  `json:"multiClusterTargetGroup,omitempty"`
	TargetType              *string               `json:"targetType,omitempty"`
	TargetGroupProtocol     *string               `json:"targetGroupProtocol,omitempty"`
	ServiceRef              bound                 `json:"serviceRef"`
	Networking              *bindingRules         `json:"networking,omitempty"`
	NodeSelector            *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	IPAddressType           *string               `json:"ipAddressType,omitempty"`
	VpcID                   string                `json:"vpcID,omitempty"`
	IamRoleArnToAssume      string                `json:"iamRoleArnToAssume,omitempty"`
	AssumeRoleExternalID    string                `json:"assumeRoleExternalId,omitempty"`
}

type bound struct {
	Name string             `json:"name"`
	Port intstr.IntOrString `json:"port"`
}

type bindingRules struct {
	Ingress []bindingRule `json:"ingress,omitempty"`
}

type bindingRule struct {
	From  []peer `json:"from"`
	Ports []port `json:"ports"`
}

type peer struct {
	IPBlock *struct {
		CIDR string `json:"cidr"`
	} `json:"ipBlock,omitempty"`
	SecurityGroup *peerGroup `json:"securityGroup,omitempty"`
}

type peerGroup struct {
	GroupID string `json:"groupID"`
}

type port struct {
	Protocol *string             `json:"protocol,omitempty"`
	Port     *intstr.IntOrString `json:"port,omitempty"`
}

// The annotations of a binding that say what was registered, and when (pkg/annotations/constants.go).
const (
	checkpoint     = "elbv2.k8s.aws/checkpoint"
	checkpointTime = checkpoint + "-timestamp"
)

func (c *Controller) listBindings(ctx context.Context, options ...client.ListOption) ([]*unstructured.Unstructured, error) {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(c.object("TargetGroupBindingList", "", "").GroupVersionKind())
	if err := c.Client.List(ctx, all, options...); err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for i := range all.Items {
		out = append(out, &all.Items[i])
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return out, nil
}

func readBinding(object *unstructured.Unstructured) (b binding, err error) {
	return b, convert(object.Object["spec"], &b)
}

// binding returns the spec of a target group's binding (model_build_target_group.go:54-160).
func (g *targetGroup) binding(c *Controller, s *stack) (string, binding, error) {
	spec, err := g.spec(c, s)
	if err != nil {
		return "", binding{}, err
	}
	out := binding{TargetGroupARN: s.arns[g.resource], TargetType: &spec.kind, TargetGroupProtocol: &spec.protocol,
		ServiceRef: bound{g.service.Name, g.port}, IPAddressType: &spec.family, VpcID: c.VPC}
	if s.peer != "" {
		out.Networking = &bindingRules{}
		ports := []intstr.IntOrString{g.servicePort.TargetPort}
		if g.kind == "instance" {
			ports[0] = intstr.FromInt32(g.servicePort.NodePort)
		}
		if spec.check.port != "traffic-port" {
			ports = append(ports, intstr.Parse(spec.check.port))
		}
		for _, one := range ports {
			out.Networking.Ingress = append(out.Networking.Ingress, bindingRule{
				From: []peer{{SecurityGroup: &peerGroup{s.peer}}}, Ports: []port{{Protocol: aws.String("TCP"), Port: &one}}})
		}
	}
	nodes, err := pairs(map[string]string{prefix + "target-node-labels": first([]map[string]string{g.service.Annotations, g.of.Annotations}, "target-node-labels", "")}, "target-node-labels")
	if g.kind == "instance" && len(nodes) > 0 {
		out.NodeSelector = &metav1.LabelSelector{MatchLabels: nodes}
	}
	return spec.name, out, err
}

// deployBindings finds the bindings of the stack by their labels, and compares them by target group. It returns those that
// are to be deleted in the end.
func (c *Controller) deployBindings(ctx context.Context, s *stack) (unused []*unstructured.Unstructured, err error) {
	found, err := c.listBindings(ctx, client.MatchingLabels(s.id.stackLabels()))
	if err != nil {
		return nil, err
	}
	byARN := map[string]*unstructured.Unstructured{}
	for _, one := range found {
		b, err := readBinding(one)
		if err != nil {
			return nil, err
		}
		byARN[b.TargetGroupARN] = one
	}
	for _, g := range s.groups {
		name, want, err := g.binding(c, s)
		if err != nil {
			return nil, err
		}
		spec := map[string]any{}
		if err := convert(want, &spec); err != nil {
			return nil, err
		}
		have := byARN[want.TargetGroupARN]
		delete(byARN, want.TargetGroupARN)
		if have == nil {
			have = c.object("TargetGroupBinding", g.service.Namespace, name)
			have.SetLabels(s.id.stackLabels())
			have.Object["spec"] = spec
			if err := c.wrote(c.Client.Create(ctx, have)); err != nil {
				return nil, err
			}
			continue
		}
		is, err := readBinding(have)
		if err != nil {
			return nil, err
		}
		annotations := have.GetAnnotations()
		delete(annotations, checkpoint)
		delete(annotations, checkpointTime)
		// Annotations and labels of others are removed.
		if reflect.DeepEqual(is, want) && maps.Equal(have.GetLabels(), s.id.stackLabels()) && len(annotations) == 0 {
			continue
		}
		before := have.DeepCopy()
		have.SetLabels(s.id.stackLabels())
		have.SetAnnotations(nil)
		have.Object["spec"] = spec
		if err := c.wrote(c.Client.Patch(ctx, have, client.MergeFrom(before))); err != nil {
			return nil, err
		}
	}
	for _, one := range byARN {
		unused = append(unused, one)
	}
	return unused, nil
}

// deleteBinding deletes a binding, and waits until it is cleaned up. One that another finalizer keeps fails the group.
func (c *Controller) deleteBinding(ctx context.Context, object *unstructured.Unstructured) error {
	if err := c.wrote(c.Client.Delete(ctx, object)); err != nil {
		return err
	}
	name := client.ObjectKeyFromObject(object)
	for range 2 {
		err := c.Client.Get(ctx, name, object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = c.reconcileBinding(ctx, object)
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("the binding %s is not deleted", name)
}

// bindings reconciles all bindings, those that the controller has not made too.
func (c *Controller) bindings(ctx context.Context) error {
	all, err := c.listBindings(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, object := range all {
		if err := c.reconcileBinding(ctx, object); err != nil {
			errs = append(errs, fmt.Errorf("binding %s/%s: %w", object.GetNamespace(), object.GetName(), err))
		}
	}
	return errors.Join(errs...)
}

// reconcileBinding cleans a binding up that is deleted, if it has the finalizer: all targets are deregistered. One whose
// finalizer is gone is deleted without that.
func (c *Controller) reconcileBinding(ctx context.Context, object *unstructured.Unstructured) error {
	b, err := readBinding(object)
	if err != nil {
		return err
	}
	name := client.ObjectKeyFromObject(object)
	if object.GetDeletionTimestamp() != nil {
		if !slices.Contains(object.GetFinalizers(), BindingFinalizer) {
			return nil
		}
		if err := c.cleanUp(ctx, name, b); err != nil {
			return err
		}
		return c.hold(ctx, object, BindingFinalizer, false)
	}
	if err := c.hold(ctx, object, BindingFinalizer, true); err != nil {
		return err
	}
	if b.TargetType == nil {
		return errors.New("the binding has no type of targets")
	}
	targets, pods, nodes, err := c.endpoints(ctx, name.Namespace, b)
	if errors.Is(err, errNoBackend) {
		if err := c.cleanUp(ctx, name, b); err != nil {
			return err
		}
		return c.mark(ctx, object, "")
	}
	if err != nil {
		return err
	}
	// What has not changed since the checkpoint is not looked at: neither the targets that AWS has, nor security groups.
	now := checkpointOf(b, targets, pods, nodes)
	late := c.Late && !c.looked[name.String()]
	if object.GetAnnotations()[checkpoint] == now && !late {
		return nil
	}
	if late {
		if c.looked == nil {
			c.looked = map[string]bool{}
		}
		c.looked[name.String()] = true
	}
	// Targets are registered also where rules fail (resource_manager.go:208-214).
	failed := c.admitTo(ctx, name, b, pods, nodes)
	if err := errors.Join(c.register(ctx, b, targets), failed); err != nil {
		return err
	}
	if err := c.mark(ctx, object, now); err != nil {
		return err
	}
	generation := object.GetGeneration()
	if is, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration"); is == generation {
		return nil
	}
	before := object.DeepCopy()
	if err := unstructured.SetNestedField(object.Object, generation, "status", "observedGeneration"); err != nil {
		return err
	}
	return c.wrote(c.Client.Status().Patch(ctx, object, client.MergeFrom(before)))
}

// mark writes the checkpoint.
func (c *Controller) mark(ctx context.Context, object *unstructured.Unstructured, value string) error {
	annotations := object.GetAnnotations()
	if annotations[checkpoint] == value {
		return nil
	}
	before := object.DeepCopy()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[checkpoint], annotations[checkpointTime] = value, strconv.FormatInt(time.Now().Unix(), 10)
	object.SetAnnotations(annotations)
	return c.wrote(c.Client.Patch(ctx, object, client.MergeFrom(before)))
}

// checkpointOf is a hash of the targets, with the times when their Pods or Nodes were made, and of the spec
// (pkg/targetgroupbinding/utils.go, pkg/algorithm/hash.go).
func checkpointOf(b binding, targets []elb.TargetDescription, pods []*corev1.Pod, nodes []*corev1.Node) string {
	var all []string
	for i, t := range targets {
		made := metav1.Time{}
		if pods != nil {
			made = pods[i].CreationTimestamp
		} else {
			made = nodes[i].CreationTimestamp
		}
		all = append(all, fmt.Sprintf("%s:%d", targetName(t), made.UnixMilli()))
	}
	slices.Sort(all)
	raw, _ := json.Marshal(b) //nolint:errchkjson // it has nothing that cannot be written
	digest := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return digest(strings.Join(all, ",")) + "/" + digest(string(raw))
}

func targetName(t elb.TargetDescription) string {
	return fmt.Sprintf("%s:%d", aws.ToString(t.Id), aws.ToInt32(t.Port))
}

// errNoBackend says that the Service, or its port, is not there.
var errNoBackend = errors.New("no backend")

// endpoints returns the targets of a binding, with the Pods or the Nodes that they are.
func (c *Controller) endpoints(ctx context.Context, namespace string, b binding) (targets []elb.TargetDescription, pods []*corev1.Pod, nodes []*corev1.Node, err error) {
	var service corev1.Service
	if err := c.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: b.ServiceRef.Name}, &service); err != nil {
		return nil, nil, nil, missingIs(errNoBackend, err)
	}
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
		if b.ServiceRef.Port.Type == intstr.String {
			return p.Name == b.ServiceRef.Port.StrVal
		}
		return p.Port == b.ServiceRef.Port.IntVal
	})
	if at < 0 {
		return nil, nil, nil, errNoBackend
	}
	if *b.TargetType == "ip" {
		targets, pods, err = c.podTargets(ctx, b, &service, service.Spec.Ports[at])
		return targets, pods, nil, err
	}
	targets, nodes, err = c.nodeTargets(ctx, b, &service, service.Spec.Ports[at])
	return targets, nil, nodes, err
}

// podTargets are the ready endpoints of a Service's slices that are Pods.
func (c *Controller) podTargets(ctx context.Context, b binding, service *corev1.Service, of corev1.ServicePort) (targets []elb.TargetDescription, pods []*corev1.Pod, err error) {
	var slicesOf discoveryv1.EndpointSliceList
	if err := c.Client.List(ctx, &slicesOf, client.InNamespace(service.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name}); err != nil {
		return nil, nil, err
	}
	family := discoveryv1.AddressTypeIPv4
	if aws.ToString(b.IPAddressType) == "ipv6" {
		family = discoveryv1.AddressTypeIPv6
	}
	for _, slice := range slicesOf.Items {
		for _, p := range slice.Ports {
			if slice.AddressType != family || of.Name != "" && aws.ToString(p.Name) != of.Name {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.TargetRef == nil || e.TargetRef.Kind != "Pod" || len(e.Addresses) == 0 || e.Conditions.Ready != nil && !*e.Conditions.Ready {
					continue
				}
				pod := &corev1.Pod{}
				err := c.Client.Get(ctx, types.NamespacedName{Namespace: service.Namespace, Name: e.TargetRef.Name}, pod)
				if apierrors.IsNotFound(err) {
					continue
				}
				if err != nil {
					return nil, nil, err
				}
				pods = append(pods, pod)
				targets = append(targets, elb.TargetDescription{Id: &e.Addresses[0], Port: p.Port})
			}
		}
	}
	return targets, pods, nil
}

// nodeTargets are the ready Nodes, by the port of the Service on them.
func (c *Controller) nodeTargets(ctx context.Context, b binding, service *corev1.Service, of corev1.ServicePort) (targets []elb.TargetDescription, nodes []*corev1.Node, err error) {
	if service.Spec.Type != corev1.ServiceTypeNodePort && service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil, nil, fmt.Errorf("service %s is of type %s", service.Name, service.Spec.Type)
	}
	chosen, err := metav1.LabelSelectorAsSelector(b.NodeSelector)
	if err != nil {
		return nil, nil, err
	}
	var all corev1.NodeList
	if err := c.Client.List(ctx, &all); err != nil {
		return nil, nil, err
	}
	for i := range all.Items {
		n := &all.Items[i]
		has := func(label string) bool { _, has := n.Labels[label]; return has }
		tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == "ToBeDeletedByClusterAutoscaler" || t.Key == "karpenter.sh/disrupted" && t.Effect == corev1.TaintEffectNoSchedule
		})
		ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		if b.NodeSelector != nil && !chosen.Matches(labels.Set(n.Labels)) || tainted || !ready || has("node-role.kubernetes.io/master") ||
			has(corev1.LabelNodeExcludeBalancers) || has("alpha.service-controller.kubernetes.io/exclude-balancer") ||
			n.Labels["eks.amazonaws.com/compute-type"] == "fargate" {
			continue
		}
		nodes = append(nodes, n)
		targets = append(targets, elb.TargetDescription{Id: aws.String(instanceOf(n)), Port: &of.NodePort})
	}
	return targets, nodes, nil
}

// instanceOf returns the instance that a Node is: aws:///eu-west-1a/i-0123.
func instanceOf(n *corev1.Node) string {
	return n.Spec.ProviderID[strings.LastIndex(n.Spec.ProviderID, "/")+1:]
}

// register has a target group have these targets. It first deregisters all others, those included that another program registered.
func (c *Controller) register(ctx context.Context, b binding, want []elb.TargetDescription) error {
	have, err := c.registered(ctx, b.TargetGroupARN)
	if err != nil {
		return err
	}
	without := func(all, these []elb.TargetDescription) (out []elb.TargetDescription) {
		for _, t := range all {
			if !slices.ContainsFunc(these, func(o elb.TargetDescription) bool { return targetName(o) == targetName(t) }) {
				out = append(out, t)
			}
		}
		return out
	}
	if err := c.deregister(ctx, b, without(have, want)); err != nil {
		return err
	}
	for chunk := range slices.Chunk(without(want, have), 200) {
		if _, err := c.ELB.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: &b.TargetGroupARN, Targets: chunk}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) deregister(ctx context.Context, b binding, targets []elb.TargetDescription) error {
	for chunk := range slices.Chunk(targets, 200) {
		if _, err := c.ELB.DeregisterTargets(ctx, &elbv2.DeregisterTargetsInput{TargetGroupArn: &b.TargetGroupARN, Targets: chunk}); err != nil {
			return err
		}
	}
	return nil
}

// registered are the targets that do not drain.
func (c *Controller) registered(ctx context.Context, arn string) (out []elb.TargetDescription, err error) {
	is, err := c.ELB.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &arn})
	if err != nil {
		return nil, err
	}
	for _, d := range is.TargetHealthDescriptions {
		if d.TargetHealth.State != elb.TargetHealthStateEnumDraining {
			out = append(out, *d.Target)
		}
	}
	return out, nil
}

// cleanUp deregisters all targets of a binding, and revokes rules that no binding needs any more. A target group that is not
// there has none.
func (c *Controller) cleanUp(ctx context.Context, name types.NamespacedName, b binding) error {
	have, err := c.registered(ctx, b.TargetGroupARN)
	if err == nil {
		err = c.deregister(ctx, b, have)
	}
	if err != nil && !answered(err, "TargetGroupNotFound") && !answered(err, "ValidationError") {
		return err
	}
	return c.admitAll(ctx, name, nil)
}
