package operator

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	awsclient "fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/kube"
)

// This file has a load balancer of others become the operator's, and others' again, by its tags and by the record of that.

// The operator asks within ten minutes whether a name is still taken. Once the load balancer that has it was taken over, it is
// served within seconds.
func TestALoadBalancerOfOthersIsServedOnceItIsTakenOver(t *testing.T) {
	t.Parallel()
	const name = "shop-edge"
	w := newWorld(t, simulated(t))
	made, err := w.elb.CreateLoadBalancer(t.Context(), &elbapi.CreateLoadBalancerInput{
		Name: aws.String(name), Scheme: elb.LoadBalancerSchemeEnumInternal, Subnets: []string{"subnet-private0", "subnet-private1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	arn := aws.ToString(made.LoadBalancers[0].LoadBalancerArn)
	w.begin(t)
	w.serve(t, "web", "10.0.0.10")
	ing := w.ingress("site", "web", "/")
	ing.Annotations["fairlead.dev/load-balancer-name"] = name
	w.create(t, ing)
	kube.Eventually(t, "the name is taken", func() bool { return strings.Contains(w.refusal(t), name) && w.proxy.quiet() > rest })
	key := w.keyOfReport(t)

	store := records.NewAdoptionStore(w.Client, w.Client, w.namespace)
	a := &records.Adoption{AdoptionMemory: v1alpha1.AdoptionMemory{From: v1alpha1.AdoptALB, ClusterName: "prod", Stack: "shop", Key: string(key), Handle: arn, Name: name}}
	enter := func(state string) {
		t.Helper()
		a.Enter(state, time.Now())
		if err := store.Put(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	acknowledged := func() bool {
		is, err := store.Acknowledged(t.Context(), a)
		return err == nil && is
	}
	enter(v1alpha1.AdoptionPrepared)
	kube.Eventually(t, "the operator leaves it alone", acknowledged)
	tags := awsclient.Owner{Installation: w.installation(t)}.Owned(key, nil)
	if _, err := w.elb.AddTags(t.Context(), &elbapi.AddTagsInput{ResourceArns: []string{arn}, Tags: awsclient.ELBTags(tags)}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	enter(v1alpha1.AdoptionTaken)
	kube.Eventually(t, "it is served under its address", func() bool {
		return w.hostname(t, "site") == aws.ToString(made.LoadBalancers[0].DNSName) && w.balancers(t) == 1 && len(w.listeners(t)) == 1
	})
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	kube.Eventually(t, "nothing is left to do", func() bool { return w.proxy.quiet() > rest })

	enter(v1alpha1.AdoptionReleasing)
	kube.Eventually(t, "the operator leaves it alone", acknowledged)
	if _, err := w.elb.RemoveTags(t.Context(), &elbapi.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: slices.Collect(maps.Keys(tags))}); err != nil {
		t.Fatal(err)
	}
	enter(v1alpha1.AdoptionReturned)
	kube.Eventually(t, "the Ingress is let go", func() bool {
		stored := &networkingv1.Ingress{}
		return w.Get(t.Context(), client.ObjectKeyFromObject(ing), stored) == nil && len(stored.Finalizers) == 0
	})
	kube.Eventually(t, "nothing is asked of AWS", func() bool { return w.proxy.quiet() > rest })
	if w.hostname(t, "site") != aws.ToString(made.LoadBalancers[0].DNSName) || w.balancers(t) != 1 || len(w.listeners(t)) != 1 {
		t.Error("what was given back is changed")
	}
}

// keyOfReport is the key of the only load balancer of the namespace.
func (w *world) keyOfReport(t *testing.T) lb.Key {
	t.Helper()
	var list v1alpha1.LoadBalancerList
	if err := w.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list.Items, func(b v1alpha1.LoadBalancer) bool { return strings.HasPrefix(b.Spec.Key, w.namespace+"/") })
	if at < 0 {
		t.Fatal("there is no report")
	}
	return lb.Key(list.Items[at].Spec.Key)
}
