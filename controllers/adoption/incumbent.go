package adoption

import (
	"context"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// This file reads, removes and restores what the AWS Load Balancer Controller makes in a cluster.

const (
	// Its finalizers of Ingresses: of one without a group, and, followed by its name, of a group (buildGroupFinalizer in its
	// pkg/ingress/finalizer.go).
	singleFinalizer = "ingress.k8s.aws/resources"
	groupFinalizer  = "group.ingress.k8s.aws/"
	// Its finalizer of bindings (pkg/shared_constants/finalizers.go there).
	bindingFinalizer = "elbv2.k8s.aws/resources"
	// Its labels of bindings: of a group, or of an Ingress without one (StackLabels in its pkg/deploy/tracking/provider.go).
	labelGroup     = "ingress.k8s.aws/stack"
	labelNamespace = "ingress.k8s.aws/stack-namespace"
	labelName      = "ingress.k8s.aws/stack-name"
	// classAnnotation names a class, and goes before the field (its pkg/ingress/class_annotation_matcher.go).
	classAnnotation = "kubernetes.io/ingress.class"
	classByName     = "alb"
)

var bindingKind = schema.GroupVersionKind{Group: "elbv2.k8s.aws", Version: "v1beta1", Kind: "TargetGroupBinding"}

// theirs is what the controller has made in the cluster for one load balancer, and the classes of its Ingresses.
type theirs struct {
	finalizers map[string][]string // by Ingress
	bindings   []unstructured.Unstructured
	classes    []networkingv1.IngressClass
}

// finalizerOf returns the finalizer of the Ingresses of a stack.
func finalizerOf(stack string) string {
	if strings.Contains(stack, "/") {
		return singleFinalizer
	}
	return groupFinalizer + stack
}

// ClassByAnnotation reports whether an Ingress names its class by an annotation, which goes before the field.
func ClassByAnnotation(ing *networkingv1.Ingress) bool { return ing.Annotations[classAnnotation] != "" }

// NeedsAnnotationRemoved reports whether some of the Ingresses of an Outcome name their class by an annotation. That of the
// controller stays its own, whatever the IngressClass of that name is.
func (o Outcome) NeedsAnnotationRemoved() bool {
	return slices.ContainsFunc(o.Switch, func(text string) bool { return strings.Contains(text, "its annotation "+classAnnotation) })
}

// HasFinalizer reports whether the controller has put its finalizer on an Ingress.
func HasFinalizer(ing *networkingv1.Ingress) bool {
	return slices.ContainsFunc(ing.Finalizers, func(f string) bool {
		return f == singleFinalizer || strings.HasPrefix(f, groupFinalizer)
	})
}

// read reads what the controller has made for a load balancer.
func (t *Taker) read(ctx context.Context, r Record, c Candidate) (theirs, error) {
	out := theirs{finalizers: map[string][]string{}}
	if r.Cluster == byHand {
		return out, nil
	}
	var ingresses networkingv1.IngressList
	if err := t.Kube.List(ctx, &ingresses); err != nil {
		return out, fmt.Errorf("listing Ingresses: %w", err)
	}
	used := map[string]bool{}
	for i := range ingresses.Items {
		ing := &ingresses.Items[i]
		name := ing.Namespace + "/" + ing.Name
		if slices.Contains(ing.Finalizers, finalizerOf(r.Stack)) && (name == r.Stack || !strings.Contains(r.Stack, "/")) {
			out.finalizers[name] = []string{finalizerOf(r.Stack)}
		}
		if slices.Contains(c.Members, name) && ing.Spec.IngressClassName != nil {
			used[*ing.Spec.IngressClassName] = true
		}
	}
	var classes networkingv1.IngressClassList
	if err := t.Kube.List(ctx, &classes); err != nil {
		return out, fmt.Errorf("listing IngressClasses: %w", err)
	}
	for _, class := range classes.Items {
		if used[class.Name] && class.Spec.Controller == alb.Controller {
			out.classes = append(out.classes, classAsMade(class))
		}
	}
	groups := map[string]bool{}
	for _, g := range c.Found.TargetGroups {
		groups[g.Handle] = true
	}
	bindings, err := t.bindings(ctx)
	for _, b := range bindings {
		arn, _, _ := unstructured.NestedString(b.Object, "spec", "targetGroupARN")
		if StackOf(b.GetLabels()) == r.Stack && groups[arn] {
			out.bindings = append(out.bindings, b)
		}
	}
	return out, err
}

// StackOf returns the stack whose binding has some labels; "" if the controller did not make it for Ingresses.
func StackOf(labels map[string]string) string {
	if namespace := labels[labelNamespace]; namespace != "" {
		return namespace + "/" + labels[labelName]
	}
	return labels[labelGroup]
}

// bindings lists all TargetGroupBindings; none if their kind is not installed.
func (t *Taker) bindings(ctx context.Context) ([]unstructured.Unstructured, error) {
	list := unstructured.UnstructuredList{}
	list.SetGroupVersionKind(bindingKind)
	err := t.Kube.List(ctx, &list)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing TargetGroupBindings: %w", err)
	}
	return list.Items, nil
}

// removeBindings removes bindings, without the controller: first the finalizer, then the object, if the finalizer is still
// gone. A binding that is deleted with its finalizer would have the controller deregister its targets.
func (t *Taker) removeBindings(ctx context.Context, all []unstructured.Unstructured) error {
	for i := range all {
		b := &all[i]
		if err := t.withoutFinalizers(ctx, b, bindingFinalizer); err != nil {
			return err
		}
		version := b.GetResourceVersion()
		err := t.Kube.Delete(ctx, b, client.Preconditions{ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting TargetGroupBinding %s/%s: %w", b.GetNamespace(), b.GetName(), err)
		}
	}
	return nil
}

// removeFinalizers removes finalizers from Ingresses.
func (t *Taker) removeFinalizers(ctx context.Context, of map[string][]string) error {
	for name, finalizers := range of {
		ing, err := t.ingress(ctx, name)
		if err != nil {
			return err
		}
		if ing == nil {
			continue
		}
		if err := t.withoutFinalizers(ctx, ing, finalizers...); err != nil {
			return err
		}
	}
	return nil
}

// withoutFinalizers removes finalizers of an object, unless it has changed since it was read.
func (t *Taker) withoutFinalizers(ctx context.Context, o client.Object, finalizers ...string) error {
	return t.setFinalizers(ctx, o, slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool {
		return slices.Contains(finalizers, f)
	}))
}

func (t *Taker) setFinalizers(ctx context.Context, o client.Object, finalizers []string) error {
	if slices.Equal(o.GetFinalizers(), finalizers) {
		return nil
	}
	before := o.DeepCopyObject().(client.Object)
	o.SetFinalizers(finalizers)
	err := t.Kube.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("changing the finalizers of %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

// asMade returns an object without what the API server writes.
func asMade(b unstructured.Unstructured) unstructured.Unstructured {
	out := unstructured.Unstructured{Object: map[string]any{}}
	out.SetGroupVersionKind(bindingKind)
	out.SetNamespace(b.GetNamespace())
	out.SetName(b.GetName())
	out.SetLabels(b.GetLabels())
	out.SetAnnotations(b.GetAnnotations())
	out.SetFinalizers(b.GetFinalizers())
	if spec, there := b.Object["spec"]; there {
		out.Object["spec"] = spec
	}
	return out
}

// classAsMade does the same to an IngressClass.
func classAsMade(c networkingv1.IngressClass) networkingv1.IngressClass {
	out := networkingv1.IngressClass{Spec: c.Spec}
	out.APIVersion, out.Kind = networkingv1.SchemeGroupVersion.String(), "IngressClass"
	out.Name, out.Labels, out.Annotations = c.Name, c.Labels, c.Annotations
	return out
}

// ofController returns those of some Ingresses that are, or are not, of a class of the controller, with the reason.
func (t *Taker) ofController(ctx context.Context, some []string, are bool) (out []string, err error) {
	var classes networkingv1.IngressClassList
	if err := t.Kube.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("listing IngressClasses: %w", err)
	}
	controllers, parameters := map[string]string{}, map[string]string{}
	for _, class := range classes.Items {
		controllers[class.Name] = class.Spec.Controller
		if ref := class.Spec.Parameters; ref != nil && ingress.IsForeign(ref) {
			parameters[class.Name] = ref.Name
		}
	}
	for _, name := range some {
		ing, err := t.ingress(ctx, name)
		if err != nil {
			return nil, err
		}
		if ing == nil {
			continue
		}
		if why, is := isOfController(ing, controllers); is == are {
			if class := ing.Spec.IngressClassName; are && class != nil && parameters[*class] != "" {
				why += "; let the new class refer to its IngressClassParams " + parameters[*class] + ", too"
			}
			out = append(out, fmt.Sprintf("Ingress %s: %s", name, why))
		}
	}
	return out, nil
}

// Endangered returns the Ingresses, other than some, that have a finalizer of the controller and a class of those: if the
// IngressClass of these is replaced, the controller, once started, deletes the load balancers of the ones returned.
func (t *Taker) Endangered(ctx context.Context, some []string) (out []string, err error) {
	var all networkingv1.IngressList
	if err := t.Kube.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("listing Ingresses: %w", err)
	}
	name := func(ing networkingv1.Ingress) string { return ing.Namespace + "/" + ing.Name }
	classes := map[string]bool{}
	for _, ing := range all.Items {
		if slices.Contains(some, name(ing)) && ing.Spec.IngressClassName != nil {
			classes[*ing.Spec.IngressClassName] = true
		}
	}
	for _, ing := range all.Items {
		bound := slices.ContainsFunc(ing.Finalizers, func(f string) bool {
			return f == singleFinalizer || strings.HasPrefix(f, groupFinalizer)
		})
		if bound && !slices.Contains(some, name(ing)) && ing.Spec.IngressClassName != nil && classes[*ing.Spec.IngressClassName] {
			out = append(out, name(ing))
		}
	}
	slices.Sort(out)
	return out, nil
}

// isOfController reports whether an Ingress is of a class of the controller, and why.
func isOfController(ing *networkingv1.Ingress, controllers map[string]string) (why string, is bool) {
	if class, there := ing.Annotations[classAnnotation]; there {
		return fmt.Sprintf("its annotation %s is %s", classAnnotation, class), class == classByName
	}
	if ing.Spec.IngressClassName == nil {
		return "it has no class", false
	}
	class := *ing.Spec.IngressClassName
	return fmt.Sprintf("its IngressClass %s is of the controller %s", class, controllers[class]), controllers[class] == alb.Controller
}
