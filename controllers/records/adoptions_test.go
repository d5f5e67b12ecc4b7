package records

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/lb"
)

func adoptionOfStack(stack string) *Adoption {
	a := &Adoption{AdoptionMemory: v1alpha1.AdoptionMemory{From: v1alpha1.AdoptALB, ClusterName: "prod", Stack: stack,
		Key: "alb/" + stack + "/internal=k8s-a", Handle: "arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/k8s-a/1", Name: "k8s-a"}}
	a.Enter(v1alpha1.AdoptionRecorded, noon)
	return a
}

func newAdoptions(t *testing.T, scope string) (*AdoptionStore, client.Client) {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(cluster.NewScheme()).WithStatusSubresource(&v1alpha1.LoadBalancer{}).Build()
	return NewAdoptionStore(c, c, scope), c
}

// fill gives each field a value, so that one that is not stored is missed.
func fill(v reflect.Value, n *int) {
	*n++
	switch at := v.Addr().Interface().(type) {
	case *metav1.Time:
		*at = metav1.NewTime(noon.Add(time.Duration(*n) * time.Second)).Rfc3339Copy()
		return
	case *runtime.RawExtension:
		at.Raw = fmt.Appendf(nil, `{"n":%d}`, *n)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.String:
		v.SetString(fmt.Sprintf("text-%d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	default:
		panic("no value for " + v.Type().String())
	}
}

func TestARecordOfAnAdoptionIsReadAsItWasWritten(t *testing.T) {
	s, c := newAdoptions(t, "")
	a, n := &Adoption{}, 0
	fill(reflect.ValueOf(&a.AdoptionMemory).Elem(), &n)
	if err := s.Put(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), lb.Key(a.Key))
	if err != nil || got == nil {
		t.Fatalf("there is %v, error %v", got, err)
	}
	if diff := cmp.Diff(a.AdoptionMemory, got.AdoptionMemory); diff != "" {
		t.Errorf("it is read otherwise (-written +read):\n%s", diff)
	}
	if got.Version() != a.Version() || got.Version() == "/" {
		t.Errorf("the version that was written is %s, and that is read %s", a.Version(), got.Version())
	}
	for i, stack := range []string{"shop/web", "all"} {
		if err := s.Put(t.Context(), adoptionOfStack(stack)); err != nil {
			t.Fatal(err)
		}
		if all, err := s.List(t.Context()); err != nil || len(all) != i+2 {
			t.Errorf("there are %d records, error %v", len(all), err)
		}
	}
	if found, err := s.Find(t.Context(), "prod", "all"); err != nil || found == nil || found.Stack != "all" {
		t.Errorf("of a group there is %v, error %v", found, err)
	}
	if found, err := s.Find(t.Context(), "staging", "all"); err != nil || found != nil {
		t.Errorf("of another cluster there is %v, error %v", found, err)
	}
	for _, load := range []Store{NewStore(c, c, ""), NewBindingStore(c, c, ""), NewPlannedStore(c, c, "")} {
		if of, err := load.Load(t.Context()); err != nil || len(of) > 0 {
			t.Errorf("it is taken for a record of load balancers, or of bindings: %v, error %v", of, err)
		}
	}
	if other, err := NewAdoptionStore(c, c, "shop").List(t.Context()); err != nil || len(other) > 0 {
		t.Errorf("the operator of a namespace has %v, error %v", other, err)
	}
	if err := s.Delete(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), lb.Key(a.Key)); err != nil || got != nil {
		t.Errorf("after its deletion there is %v, error %v", got, err)
	}
}

// Two who write the same record do not undo each other's writes: the operator, and people with the command line.
func TestTwoWritersOfAnAdoption(t *testing.T) {
	s, c := newAdoptions(t, "")
	first, second := adoptionOfStack("shop/web"), adoptionOfStack("shop/web")
	if err := s.Put(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), second); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second one is written: error %v", err)
	}
	second, err := s.Get(t.Context(), lb.Key(first.Key))
	if err != nil {
		t.Fatal(err)
	}
	first.Enter(v1alpha1.AdoptionPrepared, noon)
	if err := s.Put(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second.Enter(v1alpha1.AdoptionReleasing, noon)
	if err := s.Put(t.Context(), second); !apierrors.IsConflict(err) {
		t.Errorf("what has changed since is overwritten: error %v", err)
	}
	first.Enter(v1alpha1.AdoptionTaken, noon)
	first.Bindings, first.Finalizers = nil, nil
	if err := s.Put(t.Context(), first); err != nil {
		t.Errorf("a second write of the same one: %v", err)
	}
	// A writer that was cut off has left an object without a record.
	left := first.object.DeepCopy()
	left.Status = v1alpha1.LoadBalancerStatus{}
	if err := c.Status().Update(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), lb.Key(first.Key)); err != nil || got != nil {
		t.Errorf("what was cut off is read as %v, error %v", got, err)
	}
	if err := s.Put(t.Context(), adoptionOfStack("shop/web")); err != nil {
		t.Errorf("after a write that was cut off: %v", err)
	}
	s.InTerm(func() error { return errRefused })
	if err := s.Put(t.Context(), adoptionOfStack("shop/api")); err == nil {
		t.Error("a record is written without the lease")
	}
}

// The API server takes no object of more than 1.5 MiB (https://etcd.io/docs/latest/dev-guide/limit/).
func TestARecordHoldsAThousandMembersAndBindings(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 1))
	word := func(n int) string {
		out := make([]byte, n)
		for i := range out {
			out[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[draw.IntN(36)]
		}
		return string(out)
	}
	for name, c := range map[string]struct {
		namespace, ingress func() string
		most               int
	}{
		"names as they are":   {func() string { return "team-" + word(5) }, func() string { return "shop-" + word(12) }, 300 << 10},
		"the longest and odd": {func() string { return word(63) }, func() string { return word(253) }, v1alpha1.MaxSize},
	} {
		a := adoptionOfStack("all")
		var objects []json.RawMessage
		for range 1000 {
			namespace, ingress := c.namespace(), c.ingress()
			a.Finalizers = append(a.Finalizers, v1alpha1.IngressFinalizers{Ingress: namespace + "/" + ingress, Finalizers: []string{"group.ingress.k8s.aws/all"}})
			binding := fmt.Sprintf(`{"apiVersion":"elbv2.k8s.aws/v1beta1","kind":"TargetGroupBinding","metadata":{"name":"k8s-%s-%s","namespace":%q,`+
				`"labels":{"ingress.k8s.aws/stack":"all"},"annotations":{"elbv2.k8s.aws/checkpoint":"%s","elbv2.k8s.aws/checkpoint-timestamp":"17%08d"},`+
				`"finalizers":["elbv2.k8s.aws/resources"]},"spec":{"ipAddressType":"ipv4","networking":{"ingress":[{"from":[{"securityGroup":{"groupID":"sg-0123456789abcdef0"}}],`+
				`"ports":[{"port":%d,"protocol":"TCP"}]}]},"serviceRef":{"name":%q,"port":80},"targetGroupARN":"arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/k8s-%s-%s/%s",`+
				`"targetType":"ip","vpcID":"vpc-0123456789abcdef0"}}`, ingress[:8], word(10), namespace, word(43), draw.IntN(1e8), 1024+draw.IntN(60000), word(63), ingress[:8], word(10), word(16))
			objects = append(objects, json.RawMessage(binding))
		}
		if err := a.SetBindings(objects); err != nil {
			t.Fatal(err)
		}
		s, _ := newAdoptions(t, "")
		if err := s.Put(t.Context(), a); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := s.Get(t.Context(), lb.Key(a.Key))
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(got.object)
		if err != nil {
			t.Fatal(err)
		}
		read, err := got.BindingObjects()
		if err != nil || !slices.EqualFunc(objects, read, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Errorf("%s: the bindings are others, error %v", name, err)
		}
		t.Logf("%s: %d KiB, and %d KiB of bindings in place of %d KiB", name, len(text)>>10, len(a.Bindings)>>10, len(objects)*len(objects[0])>>10)
		if len(text) > c.most {
			t.Errorf("%s: the object has %d bytes", name, len(text))
		}
	}
	a := adoptionOfStack("all")
	a.Bindings = make([]byte, v1alpha1.MaxSize)
	s, c := newAdoptions(t, "")
	if err := s.Put(t.Context(), a); err == nil || !strings.Contains(err.Error(), "can be stored") {
		t.Errorf("a record that is too large: error %v", err)
	}
	var left v1alpha1.LoadBalancerList
	if err := c.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
		t.Errorf("of a record that is too large, %d objects are written, error %v", len(left.Items), err)
	}
	if _, err := a.BindingObjects(); err == nil {
		t.Error("what is no list is read")
	}
}
