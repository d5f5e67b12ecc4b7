package adoption_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

const (
	itsClass   = "ingress.k8s.aws/alb"
	oursClass  = "fairlead.dev/ingress"
	owner      = "fairlead.dev/key"
	itsOwner   = "elbv2.k8s.aws/cluster"
	itsStack   = "ingress.k8s.aws/stack"
	groupMark  = "group.ingress.k8s.aws/all"
	bindingOff = "elbv2.k8s.aws/resources"
)

var (
	errCut  = errors.New("cut off")
	members = []string{"shop/a", "shop/b"}
	key     = lb.Key("alb/shop/@all/internal=k8s-all")
)

// A world has what the controller made, a cloud that has tags alone, and a user that replaces the class. Each write can be
// the last one.
type world struct {
	t       *testing.T
	kube    client.WithWatch
	tags    map[string]map[string]string
	records map[string]adoption.Record
	way     []string
	left    int // how many writes are made before one fails; -1 for all
	wrote   int
	admits  int
	works   bool // the operator has not acknowledged the record
	// meanwhile is what others write between a read of an object and its patch.
	meanwhile func(o client.Object)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, left: -1, records: map[string]adoption.Record{}, tags: map[string]map[string]string{}}
	for _, handle := range []string{"arn:lb", "arn:tg1", "arn:tg2"} {
		w.tags[handle] = map[string]string{itsOwner: "prod", itsStack: "all", "team": "web"}
	}
	s := runtime.NewScheme()
	if err := errors.Join(networkingv1.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	s.AddKnownTypeWithName(bindingKind, &unstructured.Unstructured{})
	s.AddKnownTypeWithName(bindingKind.GroupVersion().WithKind("TargetGroupBindingList"), &unstructured.UnstructuredList{})
	objects := []client.Object{ingressClass(itsClass)}
	for _, name := range []string{"a", "b"} {
		class := "alb"
		objects = append(objects, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Finalizers: []string{groupMark, "example.com/other"}},
			Spec: networkingv1.IngressSpec{IngressClassName: &class}})
	}
	for n, labels := range []map[string]string{{"ingress.k8s.aws/stack": "all"}, {"ingress.k8s.aws/stack": "all"}, {"ingress.k8s.aws/stack": "other"}} {
		objects = append(objects, binding(fmt.Sprintf("k8s-%d", n+1), fmt.Sprintf("arn:tg%d", n+1), labels))
	}
	w.kube = interceptor.NewClient(fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build(), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, more ...client.PatchOption) error {
			if w.meanwhile != nil {
				w.meanwhile(o)
			}
			return w.write(func() error { return c.Patch(ctx, o, p, more...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, more ...client.DeleteOption) error {
			return w.write(func() error { return c.Delete(ctx, o, more...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, more ...client.CreateOption) error {
			return w.write(func() error { return c.Create(ctx, o, more...) })
		},
	})
	return w
}

var bindingKind = schema.GroupVersionKind{Group: "elbv2.k8s.aws", Version: "v1beta1", Kind: "TargetGroupBinding"}

func ingressClass(controller string) *networkingv1.IngressClass {
	return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb", Labels: map[string]string{"from": "helm"}}, Spec: networkingv1.IngressClassSpec{Controller: controller}}
}

func binding(name, arn string, labels map[string]string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"targetGroupARN": arn, "targetType": "ip",
		"serviceRef": map[string]any{"name": "web", "port": int64(80)}}}}
	out.SetGroupVersionKind(bindingKind)
	out.SetNamespace("shop")
	out.SetName(name)
	out.SetLabels(labels)
	out.SetFinalizers([]string{bindingOff})
	return out
}

// write makes a write, unless it is cut off, and looks whether the controller could do harm after it.
func (w *world) write(do func() error) error {
	if w.left == 0 {
		return errCut
	}
	w.left--
	w.wrote++
	if err := do(); err != nil {
		return err
	}
	w.harmless()
	return nil
}

// harmless fails the test if one controller, started now, would delete the load balancer, or deregister targets; see
// the table of package adoption.
func (w *world) harmless() {
	ctx := context.Background()
	var classes networkingv1.IngressClassList
	var all networkingv1.IngressList
	bindings := unstructured.UnstructuredList{}
	bindings.SetGroupVersionKind(bindingKind)
	if err := errors.Join(w.kube.List(ctx, &classes), w.kube.List(ctx, &all), w.kube.List(ctx, &bindings)); err != nil {
		w.t.Fatal(err)
	}
	its := len(classes.Items) == 1 && classes.Items[0].Spec.Controller == itsClass
	found := w.tags["arn:lb"][itsOwner] != ""
	for _, ing := range all.Items {
		if slices.Contains(ing.Finalizers, groupMark) && !its && found {
			w.t.Error("it would take an Ingress for one that leaves, and delete the load balancer")
		}
	}
	if its && w.tags["arn:lb"][owner] != "" {
		w.t.Error("the operator would delete what has its tags and no Ingress of its class")
	}
	for handle, tags := range w.tags {
		if handle == "arn:lb" && tags[itsOwner] != "" && tags[owner] != "" {
			w.t.Error("the load balancer has two owners")
		}
		if tags["team"] != "web" {
			w.t.Errorf("%s has lost a tag of the user: %v", handle, tags)
		}
	}
	for _, b := range bindings.Items {
		if b.GetDeletionTimestamp() != nil {
			w.t.Error("it would deregister the targets of a binding that is being deleted")
		}
	}
}

func (w *world) taker() *adoption.Taker {
	return &adoption.Taker{Kube: w.kube, Cloud: w, Records: w, Now: time.Now,
		InTheWay: func(context.Context) ([]string, error) { return w.way, nil }}
}

func (w *world) found() *lb.Other {
	out := &lb.Other{Observed: lb.Observed{Handle: "arn:lb", Exists: true}, Name: "k8s-all", Tags: map[string]map[string]string{}}
	out.Read = &lb.ReadSettings{LoadBalancer: &routing.Settings{Scheme: "internal"}}
	for handle, tags := range w.tags {
		out.Tags[handle] = maps.Clone(tags)
		if handle != "arn:lb" {
			out.TargetGroups = append(out.TargetGroups, lb.ObservedTargetGroup{TargetGroup: lb.TargetGroup{ID: lb.GroupID(handle)}, Handle: handle})
		}
	}
	return out
}

func (w *world) candidate() adoption.Candidate {
	return adoption.Candidate{Found: w.found(), Members: members, Wanted: adopt.Wanted{LoadBalancer: lb.LoadBalancer{Key: key}}}
}

// take runs Take, and replaces the class once it says so, until it is done.
func (w *world) take() error {
	for range 5 {
		out, err := w.taker().Take(w.t.Context(), w.candidate())
		if err != nil || out.Done() {
			return err
		}
		if len(out.Obstacles) > 0 {
			return fmt.Errorf("in the way: %q", out.Obstacles)
		}
		w.replaceClass(oursClass)
	}
	return errors.New("it is never done")
}

func (w *world) release() error {
	for range 5 {
		out, err := w.taker().Release(w.t.Context(), w.found(), key, members, false)
		if err != nil || out.Done() {
			return err
		}
		w.replaceClass(itsClass)
	}
	return errors.New("it is never done")
}

// kept says what records have besides that a load balancer was given back.
func (w *world) kept() (out string) {
	for _, r := range w.records {
		if r.State != adoption.Released || r.Since.IsZero() || len(r.Finalizers)+len(r.Bindings)+len(r.Classes) > 0 {
			out += fmt.Sprint(r)
		}
	}
	if len(w.records) == 0 {
		out = "no record says that it was given back"
	}
	return out
}

// replaceClass is what a user does, and, for its own class, the operator: both with a client that never fails.
func (w *world) replaceClass(controller string) {
	left, wrote := w.left, w.wrote
	w.left = -1
	if err := errors.Join(w.kube.Delete(context.Background(), ingressClass("")), w.kube.Create(context.Background(), ingressClass(controller))); err != nil {
		w.t.Fatal(err)
	}
	var all networkingv1.IngressList
	if err := w.kube.List(context.Background(), &all); err != nil {
		w.t.Fatal(err)
	}
	for i := range all.Items {
		if ing := &all.Items[i]; controller == oursClass && !slices.Contains(ing.Finalizers, v1alpha1.IngressFinalizer) {
			ing.Finalizers = append(ing.Finalizers, v1alpha1.IngressFinalizer)
			if err := w.kube.Update(context.Background(), ing); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.left, w.wrote = left, wrote
}

// objects returns all objects as text, without what the API server writes.
func (w *world) objects() map[string]string {
	out := map[string]string{}
	var all networkingv1.IngressList
	bindings := unstructured.UnstructuredList{}
	bindings.SetGroupVersionKind(bindingKind)
	if err := errors.Join(w.kube.List(context.Background(), &all), w.kube.List(context.Background(), &bindings)); err != nil {
		w.t.Fatal(err)
	}
	for _, ing := range all.Items {
		slices.Sort(ing.Finalizers)
		out["Ingress "+ing.Name] = fmt.Sprint(ing.Finalizers)
	}
	for _, b := range bindings.Items {
		out["binding "+b.GetName()] = fmt.Sprint(b.GetLabels(), b.GetFinalizers(), b.Object["spec"])
	}
	return out
}

// The cloud has tags alone.

func (w *world) Found(context.Context, string) (*lb.Other, error) { return w.found(), nil }

func (w *world) Claim(o *lb.Other, t lb.Takeover) (out []lb.TagChange, err error) {
	for _, handle := range []string{"arn:tg1", "arn:tg2", "arn:lb"} {
		was := map[string]string{}
		var gone []string
		for name, value := range o.Tags[handle] {
			if strings.Contains(name, ".k8s.aws/") && !strings.HasPrefix(name, adopt.Was) {
				was[adopt.Was+name], gone = value, append(gone, name)
			}
		}
		if len(was) > 0 {
			out = append(out, lb.TagChange{Handles: []string{handle}, Add: was, Remove: gone})
		}
		if o.Tags[handle][owner] == "" {
			out = append(out, lb.TagChange{Handles: []string{handle}, Add: map[string]string{owner: string(t.Want.Key)}})
		}
	}
	return out, nil
}

func (w *world) Return(o *lb.Other) (out []lb.TagChange) {
	for _, handle := range []string{"arn:lb", "arn:tg1", "arn:tg2"} {
		if o.Tags[handle][owner] != "" {
			out = append(out, lb.TagChange{Handles: []string{handle}, Remove: []string{owner}})
		}
		was := map[string]string{}
		var gone []string
		for name, value := range o.Tags[handle] {
			if former, kept := strings.CutPrefix(name, adopt.Was); kept {
				was[former], gone = value, append(gone, name)
			}
		}
		if len(was) > 0 {
			out = append(out, lb.TagChange{Handles: []string{handle}, Add: was, Remove: gone})
		}
	}
	return out
}

func (w *world) Retag(_ context.Context, _ lb.Key, c lb.TagChange) error {
	for _, handle := range c.Handles {
		if err := w.write(func() error { maps.Copy(w.tags[handle], c.Add); return nil }); err != nil {
			return err
		}
		if err := w.write(func() error {
			for _, name := range c.Remove {
				delete(w.tags[handle], name)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) Admit(context.Context, *lb.Other, lb.Takeover) error { w.admits++; return nil }
func (w *world) Dismiss(context.Context, *lb.Other, lb.Key) (string, error) {
	w.admits--
	return "", nil
}
func (w *world) Discard(_ context.Context, _ lb.Key, groups []string) error {
	for _, g := range groups {
		delete(w.tags, g)
	}
	return nil
}

// The records are kept in memory.

func (w *world) Acknowledged(context.Context, lb.Key) (bool, error) { return !w.works, nil }

func (w *world) Get(_ context.Context, cluster, stack string, _ lb.Key) (*adoption.Record, error) {
	if r, there := w.records[cluster+"/"+stack]; there {
		return &r, nil
	}
	return nil, nil
}

func (w *world) List(context.Context) ([]adoption.Record, error) {
	return slices.Collect(maps.Values(w.records)), nil
}

func (w *world) Put(_ context.Context, r adoption.Record) error {
	return w.write(func() error {
		if before := w.records[r.Cluster+"/"+r.Stack].State; before == adoption.Returned && r.State == adoption.Releasing {
			w.t.Error("what was returned is being released again")
		}
		r.Finalizers = maps.Clone(r.Finalizers)
		w.records[r.Cluster+"/"+r.Stack] = r
		return nil
	})
}

func (w *world) Delete(_ context.Context, r adoption.Record) error {
	return w.write(func() error { delete(w.records, r.Cluster+"/"+r.Stack); return nil })
}

// TestTakenAndGivenBackWhereverItIsCutOff: both directions end the same after they were cut off at each write, and the
// controller can be started after each.
func TestTakenAndGivenBackWhereverItIsCutOff(t *testing.T) {
	whole := newWorld(t)
	before, tags := whole.objects(), fmt.Sprint(whole.tags)
	if err := whole.take(); err != nil {
		t.Fatal(err)
	}
	took, taken := whole.wrote, whole.objects()
	if want := map[string]string{"Ingress a": "[example.com/other fairlead.dev/ingress]", "Ingress b": "[example.com/other fairlead.dev/ingress]", "binding k8s-3": before["binding k8s-3"]}; !maps.Equal(taken, want) {
		t.Fatal(cmp.Diff(want, taken))
	}
	if whole.tags["arn:lb"][owner] != string(key) || whole.tags["arn:lb"][itsOwner] != "" {
		t.Fatalf("the tags are %v", whole.tags)
	}
	if err := whole.release(); err != nil {
		t.Fatal(err)
	}
	gave := whole.wrote - took
	t.Logf("%d writes to take, %d to give back", took, gave)
	for cut := range took + gave {
		for _, again := range []bool{true, false} {
			if cut == 0 && !again {
				continue // nothing was written
			}
			t.Run(fmt.Sprintf("cut off at %d, taken again %t", cut, again), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				switch w.left = cut; {
				case cut >= took:
					w.left = -1
					if err := w.take(); err != nil {
						t.Fatal(err)
					}
					w.left = cut - took
					if err := w.release(); !errors.Is(err, errCut) {
						t.Fatal(err)
					}
				default:
					if err := w.take(); !errors.Is(err, errCut) {
						t.Fatal(err)
					}
					if w.left = -1; again && (w.take() != nil || !maps.Equal(w.objects(), taken)) {
						t.Error(cmp.Diff(taken, w.objects()))
					}
				}
				w.left = -1
				if err := w.release(); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(before, w.objects()); diff != "" || fmt.Sprint(w.tags) != tags || w.kept() != "" {
					t.Errorf("after it was given back: %v %v %s", w.tags, w.records, diff)
				}
			})
		}
	}
}

// TestWhatStandsInTheWay: nothing is written while something does.
func TestWhatStandsInTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world, *adoption.Candidate)
		says   string
	}{
		"the controller runs": {func(w *world, _ *adoption.Candidate) { w.way = []string{"the controller runs"} }, "the controller runs"},
		"something differs": {func(_ *world, c *adoption.Candidate) { c.Comparison.NotUnderstood = []string{"odd"} },
			"--accept " + string(key) + " consents"},
		"it is being given back": {func(w *world, _ *adoption.Candidate) {
			w.records["prod/all"] = adoption.Record{Cluster: "prod", Stack: "all", Key: key, Handle: "arn:lb", State: adoption.Releasing}
		}, "fairlead release --yes finishes it"},
		"the record is of another": {func(w *world, _ *adoption.Candidate) {
			w.records["prod/all"] = adoption.Record{Cluster: "prod", Stack: "all", Key: key, Handle: "arn:other", State: adoption.Prepared}
		}, "the record of all is about arn:other"},
		"another name": {func(_ *world, c *adoption.Candidate) { c.Found.Name = "k8s-other" }, "its name is k8s-other"},
	} {
		w := newWorld(t)
		candidate := w.candidate()
		c.change(w, &candidate)
		out, err := w.taker().Take(t.Context(), candidate)
		if err != nil || w.wrote > 0 || !strings.Contains(strings.Join(out.Obstacles, "; "), c.says) {
			t.Errorf("%s: %v, %d writes, %q", name, err, w.wrote, out.Obstacles)
		}
	}
	w := newWorld(t)
	accepted := w.candidate()
	accepted.Comparison.NotUnderstood, accepted.Accepted = []string{"odd"}, true
	if out, err := w.taker().Take(t.Context(), accepted); err != nil || len(out.Obstacles) > 0 || len(out.Switch) != 2 {
		t.Errorf("with consent: %v, %+v", err, out)
	}
}

// TestTheControllerStartsBeforeTheClassIsReplaced: what it makes again is removed again.
func TestTheControllerStartsBeforeTheClassIsReplaced(t *testing.T) {
	w := newWorld(t)
	if out, err := w.taker().Take(t.Context(), w.candidate()); err != nil || out.State != adoption.Prepared || len(out.Switch) != 2 {
		t.Fatalf("%+v %v", out, err)
	}
	ing := &networkingv1.Ingress{}
	if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}, ing); err != nil {
		t.Fatal(err)
	}
	ing.Finalizers = append(ing.Finalizers, groupMark)
	if err := errors.Join(w.kube.Update(t.Context(), ing), w.kube.Create(t.Context(), binding("k8s-1", "arn:tg1", map[string]string{"ingress.k8s.aws/stack": "all"}))); err != nil {
		t.Fatal(err)
	}
	if err := w.take(); err != nil {
		t.Fatal(err)
	}
	if got := w.objects(); len(got) != 3 || got["Ingress a"] != "[example.com/other fairlead.dev/ingress]" {
		t.Errorf("there are %v", got)
	}
}

// TestALostRecordIsToldBeforeAnythingIsWritten: without the record, tags alone can be restored.
func TestALostRecordIsToldBeforeAnythingIsWritten(t *testing.T) {
	w := newWorld(t)
	if err := w.take(); err != nil {
		t.Fatal(err)
	}
	clear(w.records)
	wrote := w.wrote
	out, err := w.taker().Release(t.Context(), w.found(), key, members, false)
	if err != nil || w.wrote > wrote || len(out.Lost) != 2 || !strings.Contains(strings.Join(out.Obstacles, ""), "--accept "+string(key)) {
		t.Errorf("%+v, %v, %d writes", out, err, w.wrote-wrote)
	}
	if _, err := w.taker().Release(t.Context(), w.found(), key, members, true); err != nil {
		t.Fatal(err)
	}
	if w.replaceClass(itsClass); w.tags["arn:lb"][itsOwner] != "prod" {
		t.Errorf("the tags are %v", w.tags)
	}
	if err := w.release(); err != nil {
		t.Error(err)
	}
}

// TestTheOperatorHeedsEachState: tags change once it leaves the load balancer alone, and finalizers come back once it has let
// go of the Ingresses.
func TestTheOperatorHeedsEachState(t *testing.T) {
	w := newWorld(t)
	if err := w.take(); err != nil {
		t.Fatal(err)
	}
	step := func(works bool, state adoption.State, waits string) {
		t.Helper()
		w.works = works
		out, err := w.taker().Release(t.Context(), w.found(), key, members, false)
		if err != nil || out.State != state || !strings.Contains(strings.Join(append(out.Obstacles, out.Switch...), ""), waits) {
			t.Fatalf("%+v %v", out, err)
		}
	}
	step(true, adoption.Releasing, "the operator has not said yet")
	if w.tags["arn:lb"][owner] == "" {
		t.Error("the tags have changed")
	}
	step(false, adoption.Returned, "its IngressClass alb is of the controller fairlead.dev/ingress")
	w.replaceClass(itsClass)
	step(true, adoption.Returned, "the operator has not said yet")
	if got := w.objects()["Ingress a"]; strings.Contains(got, groupMark) {
		t.Errorf("the finalizers are %s", got)
	}
	step(false, adoption.Released, "")
	if got := w.objects()["Ingress a"]; !strings.Contains(got, groupMark) || w.kept() != "" {
		t.Errorf("the finalizers are %s, and the records %v", got, w.records)
	}
}

// TestOneThatIsPreparedIsGivenBack: the way back is there from each state, with the class that the Ingresses never lost.
func TestOneThatIsPreparedIsGivenBack(t *testing.T) {
	w := newWorld(t)
	before, tags := w.objects(), fmt.Sprint(w.tags)
	if out, err := w.taker().Take(t.Context(), w.candidate()); err != nil || out.State != adoption.Prepared {
		t.Fatalf("%+v %v", out, err)
	}
	if out, err := w.taker().Release(t.Context(), w.found(), key, members, false); err != nil || !out.Done() {
		t.Fatalf("%+v %v", out, err)
	}
	if diff := cmp.Diff(before, w.objects()); diff != "" || fmt.Sprint(w.tags) != tags || w.kept() != "" {
		t.Errorf("%s %v %v", diff, w.tags, w.records)
	}
}

// TestFinishLeavesNothingToGiveBack: what no rule names is deleted, and the record with it.
func TestFinishLeavesNothingToGiveBack(t *testing.T) {
	w := newWorld(t)
	if out, err := w.taker().Finish(t.Context(), w.found(), adoption.Record{Stack: "all", State: adoption.Prepared}); err != nil || len(out.Obstacles) != 1 || w.wrote > 0 {
		t.Errorf("before it is taken: %+v %v", out, err)
	}
	if err := w.take(); err != nil {
		t.Fatal(err)
	}
	found := w.found()
	found.Listeners = []lb.ObservedListener{{Port: 80, Default: lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: "arn:tg1", Weight: 1}}}}}
	if out, err := w.taker().Finish(t.Context(), found, w.records["prod/all"]); err != nil || !out.Done() || len(w.records) > 0 {
		t.Errorf("%+v %v %v", out, err, w.records)
	}
	if w.tags["arn:tg2"] != nil || w.tags["arn:tg1"] == nil {
		t.Errorf("these are left: %v", w.tags)
	}
}

// TestOthersOfTheClass: the class must not be replaced while Ingresses of it have a finalizer of the controller.
func TestOthersOfTheClass(t *testing.T) {
	w := newWorld(t)
	if got, err := w.taker().Endangered(t.Context(), members[:1]); err != nil || !slices.Equal(got, members[1:]) {
		t.Errorf("before b is prepared: %q, %v", got, err)
	}
	if out, err := w.taker().Take(t.Context(), w.candidate()); err != nil || len(out.Switch) != 2 {
		t.Fatal(out, err)
	}
	if got, err := w.taker().Endangered(t.Context(), members[:1]); err != nil || len(got) > 0 {
		t.Errorf("once all are prepared: %q, %v", got, err)
	}
}

// TestTakenAgainAfterItWasGivenBack: also by another class, and one that the controller has made anew since.
func TestTakenAgainAfterItWasGivenBack(t *testing.T) {
	w := newWorld(t)
	if err := errors.Join(w.take(), w.release()); err != nil {
		t.Fatal(err)
	}
	wrote := w.wrote
	if out, err := w.taker().Release(t.Context(), w.found(), key, members, false); err != nil || !out.Done() || out.State != adoption.Released || w.wrote > wrote {
		t.Errorf("given back twice: %+v, %v", out, err)
	}
	if r, err := w.taker().Owned(t.Context(), w.found()); err != nil || r.Key != "" {
		t.Errorf("it is still taken over: %+v, %v", r, err)
	}
	r := w.records["prod/all"]
	r.Key, r.Handle = "canary/shop/@all/internal=k8s-all", "arn:former"
	w.records["prod/all"] = r
	if err := w.take(); err != nil || w.records["prod/all"].Key != key || w.records["prod/all"].State != adoption.Taken {
		t.Errorf("taken again: %+v, %v", w.records, err)
	}
}

// TestOthersChangeObjectsMeanwhile: a change by others between a read of an object and its change stays, in both directions,
// and the command ends as if it had come later.
func TestOthersChangeObjectsMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world) error
		in     client.Object
	}{
		"an Ingress, taken":      {(*world).take, &networkingv1.Ingress{}},
		"an Ingress, given back": {(*world).release, &networkingv1.Ingress{}},
		"a binding, taken":       {(*world).take, &unstructured.Unstructured{}},
	} {
		w := newWorld(t)
		if name == "an Ingress, given back" {
			if err := w.take(); err != nil {
				t.Fatal(err)
			}
		}
		added := 0
		w.meanwhile = func(o client.Object) {
			if reflect.TypeOf(o) != reflect.TypeOf(c.in) || added > 0 {
				return
			}
			added++
			now := o.DeepCopyObject().(client.Object)
			if err := w.kube.Get(t.Context(), client.ObjectKeyFromObject(o), now); err != nil {
				t.Fatal(err)
			}
			if name == "a binding, taken" {
				now.SetLabels(map[string]string{"ingress.k8s.aws/stack": "all", "example.com/third": "yes"})
			} else {
				now.SetFinalizers(append(now.GetFinalizers(), "example.com/third"))
			}
			if err := w.kube.Update(t.Context(), now); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.change(w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.meanwhile = nil
		if err := w.release(); err != nil {
			t.Errorf("%s, then given back: %v", name, err)
		}
		if all := fmt.Sprint(w.objects()); added != 1 || !strings.Contains(all, "example.com/third") {
			t.Errorf("%s, the objects are %s", name, all)
		}
	}
}
