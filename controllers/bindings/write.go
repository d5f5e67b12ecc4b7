package bindings

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/model/bindings"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/providers"
)

// This file writes to bindings: a finalizer, an annotation with what is remembered, and a condition. Patches
// carry no field of the spec, which may have fields that this version does not know.

// memory is what a binding has to be left by. It is in an annotation, since the kind has no field for it.
type memory struct {
	Group    lb.GroupID `json:"group"`
	Class    string     `json:"class"` // that has permitted it
	Provider string     `json:"provider,omitempty"`
	// Targets are the binding's own, of a target group that others use, too.
	Targets []lb.Target `json:"-"`
	Text    string      `json:"targets,omitempty"`
}

// mostRemembered is how many bytes an annotation with a memory has at most. All annotations of an object have
// 256 KiB (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/).
const mostRemembered = 200 << 10

// memoryOf returns the memory in an annotation; the zero one if there is none that can be read.
func memoryOf(b *alb.TargetGroupBinding) memory {
	var m memory
	if err := json.Unmarshal([]byte(b.Annotations[v1alpha1.BindingMemory]), &m); err != nil {
		return memory{}
	}
	for text := range strings.SplitSeq(m.Text, " ") {
		if at := strings.LastIndexByte(text, ':'); at > 0 {
			port, err := strconv.ParseUint(text[at+1:], 10, 16)
			if err == nil {
				m.Targets = append(m.Targets, lb.Target{Address: strings.Trim(text[:at], "[]"), Port: int32(port)})
			}
		}
	}
	return m
}

// text returns a memory as an annotation has it.
func (m memory) text() (string, error) {
	var all []string
	for _, t := range m.Targets {
		address := t.Address
		if ip, err := netip.ParseAddr(address); err == nil && ip.Is6() {
			address = "[" + address + "]"
		}
		all = append(all, fmt.Sprintf("%s:%d", address, t.Port))
	}
	slices.Sort(all)
	m.Text = strings.Join(all, " ")
	text, err := json.Marshal(m)
	if len(text) > mostRemembered {
		return "", fmt.Errorf("the annotation %s cannot hold %d targets: without multiClusterTargetGroup none have to be "+
			"remembered", v1alpha1.BindingMemory, len(all))
	}
	return string(text), err
}

func (m memory) equals(o memory) bool {
	return m.Group == o.Group && m.Class == o.Class && m.Provider == o.Provider
}

// hold adds the finalizer and the memory, before there are targets to leave.
func (r *Reconciler) hold(ctx context.Context, b *alb.TargetGroupBinding, m memory) error {
	text, err := m.text()
	if err != nil {
		return err
	}
	finalizers := b.Finalizers
	if !slices.Contains(finalizers, v1alpha1.BindingFinalizer) {
		finalizers = append(slices.Clone(finalizers), v1alpha1.BindingFinalizer)
	}
	return r.patch(ctx, b, finalizers, &text)
}

// release removes the finalizer and the memory.
func (r *Reconciler) release(ctx context.Context, b *alb.TargetGroupBinding) error {
	if _, remembers := b.Annotations[v1alpha1.BindingMemory]; !remembers && !slices.Contains(b.Finalizers, v1alpha1.BindingFinalizer) {
		return nil
	}
	finalizers := slices.DeleteFunc(slices.Clone(b.Finalizers), func(f string) bool { return f == v1alpha1.BindingFinalizer })
	return client.IgnoreNotFound(r.patch(ctx, b, finalizers, nil))
}

// Remember stores the targets that are a binding's own.
func (r *Reconciler) Remember(ctx context.Context, k lb.GroupKey, own []lb.Target) error {
	namespace, name, _ := k.Key.Binding()
	b, err := cluster.Get[alb.TargetGroupBinding](ctx, r.Cache, cluster.RefTo(cluster.KindTargetGroupBinding, namespace, name))
	if err != nil || b == nil {
		return err
	}
	m := memoryOf(b)
	if m.Group != k.ID { // the cache does not have what was written a moment ago
		return fmt.Errorf("TargetGroupBinding %s/%s was not read yet: %w", namespace, name, providers.ErrPending)
	}
	m.Targets = own
	text, err := m.text()
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(r.send(ctx, b, map[string]any{"metadata": map[string]any{"uid": b.UID,
		"annotations": map[string]any{v1alpha1.BindingMemory: text}}}, false))
}

// patch writes finalizers and the annotation of a binding as it was read.
func (r *Reconciler) patch(ctx context.Context, b *alb.TargetGroupBinding, finalizers []string, memory *string) error {
	if finalizers == nil {
		finalizers = []string{}
	}
	return r.send(ctx, b, map[string]any{"metadata": map[string]any{"uid": b.UID, "resourceVersion": b.ResourceVersion,
		"finalizers": finalizers, "annotations": map[string]any{v1alpha1.BindingMemory: memory}}}, false)
}

// send sends a JSON merge patch (RFC 7386) of a binding, or of its status.
func (r *Reconciler) send(ctx context.Context, b *alb.TargetGroupBinding, patch map[string]any, status bool) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("writing TargetGroupBinding %s/%s: %w", b.Namespace, b.Name, err)
	}
	to := &metav1.PartialObjectMetadata{}
	to.Namespace, to.Name = b.Namespace, b.Name
	to.SetGroupVersionKind(alb.ParamsVersion.WithKind(alb.BindingKind))
	of := client.RawPatch(types.MergePatchType, data)
	if status {
		err = r.Writer.Status().Patch(ctx, to, of)
	} else {
		err = r.Writer.Patch(ctx, to, of)
	}
	if err != nil {
		return fmt.Errorf("writing TargetGroupBinding %s/%s: %w", b.Namespace, b.Name, err)
	}
	b.ResourceVersion = to.ResourceVersion // for the next patch
	return nil
}

// report writes the condition of a binding, and sends an event for each problem.
func (r *Reconciler) report(ctx context.Context, claim *bindings.Claim, to lb.TargetGroup, found []diag.Diagnostic) error {
	for _, d := range found {
		if err := r.Events.Send(ctx, events.OfBinding(claim.TargetGroupBinding, d)); err != nil {
			return err
		}
	}
	b := claim.TargetGroupBinding
	said := metav1.Condition{Type: v1alpha1.ConditionServed, Status: metav1.ConditionTrue, Reason: "Served",
		ObservedGeneration: b.Generation, Message: fmt.Sprintf("class %s permits it; the endpoints of Service %s, port %s, "+
			"are registered in target group %s", nameOf(claim), to.Service, to.Port, claim.Group)}
	for i, d := range found {
		if d.Severity == diag.Error && i == 0 {
			said.Status, said.Reason, said.Message = metav1.ConditionFalse, string(d.Reason), d.Message
			continue
		}
		said.Message += "; " + d.Message
	}
	said.Message = printable.Shorten(said.Message)
	conditions := slices.Clone(b.Status.Conditions)
	meta.SetStatusCondition(&conditions, said)
	if b.Status.ObservedGeneration != nil && *b.Status.ObservedGeneration == b.Generation &&
		equality.Semantic.DeepEqual(conditions, b.Status.Conditions) {
		return nil
	}
	return client.IgnoreNotFound(r.send(ctx, b, map[string]any{
		"metadata": map[string]any{"uid": b.UID, "resourceVersion": b.ResourceVersion},
		"status":   map[string]any{"observedGeneration": b.Generation, "conditions": conditions}}, true))
}

func nameOf(claim *bindings.Claim) string {
	if claim.Class == nil {
		return ""
	}
	return claim.Class.Name
}
