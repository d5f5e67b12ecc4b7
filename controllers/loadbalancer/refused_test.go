package loadbalancer

import (
	"fmt"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file tests what is remembered of refusals, and for how long, where that needs no API server.

// A member whose certificates are all refused has each remembered: one that was forgotten for
// another would be asked for again at once, and so would the other after it.
func TestEachCertificateThatIsRefusedIsRemembered(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := ingress.Member{
		Ingress: &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}},
		Owner:   routing.Owner{Namespace: "shop", Name: "web"},
	}
	o := outcome{Observed: &lb.Observed{}}
	const many = 9
	for i := range many {
		m.Spec.TLS = append(m.Spec.TLS, networkingv1.IngressTLS{SecretName: fmt.Sprint("tls-", i)})
		o.Run.Rejections = append(o.Run.Rejections, providers.Rejection{
			Step: plan.ImportCertificate{Certificate: lb.Certificate{ID: lb.CertificateID(fmt.Sprint("sha256:", i))}},
			Err:  fmt.Errorf("importing certificate %d: %w", i, providers.ErrNoRoom),
		})
		o.Run.Rejections[i].Origin = append(o.Run.Rejections[i].Origin, m.Source().At(fmt.Sprintf("spec.tls[%d].secretName", i)))
	}
	o.Snapshot = &gather.Snapshot{Snapshot: ingress.Snapshot{Members: []ingress.Member{m}}, ReadAt: now}
	o.Snapshot.Record.Memory.Members = []v1alpha1.MemberMemory{{Ingress: "shop/web"}}

	next := *o.Snapshot.Record.DeepCopy()
	o.learnRejections(m, &next.Memory.Members[0], now)
	if learned := next.Memory.Members[0].Rejections; len(learned) != many {
		t.Fatalf("%d of %d are remembered", len(learned), many)
	}
	if len(o.rejected(&next)) != 1 {
		t.Error("that is no news")
	}
	if got := untilTried(&next, now.Add(3*time.Minute)); got != 7*time.Minute {
		t.Errorf("the next attempt is in %s", got)
	}
	if got := untilTried(&next, now.Add(20*time.Minute)); got != queue.AfterRejected {
		t.Errorf("what has ended is tried again in %s", got)
	}
	for when, want := range map[time.Duration]int{9 * time.Minute: many, 10 * time.Minute: 0} {
		if got := len(records.Parse(next, now.Add(when)).Members["shop/web"].Rejections); got != want {
			t.Errorf("%d are refused after %s, want %d", got, when, want)
		}
	}

	o.Snapshot.Record = *next.DeepCopy()
	o.learnRejections(m, &next.Memory.Members[0], now.Add(time.Minute))
	if len(o.rejected(&next)) > 0 {
		t.Error("what is refused while it is known to be is news")
	}
	o.Snapshot.ReadAt = now.Add(11 * time.Minute)
	o.learnRejections(m, &next.Memory.Members[0], o.Snapshot.ReadAt)
	if len(o.rejected(&next)) != 1 || untilTried(&next, o.Snapshot.ReadAt) != 10*time.Minute {
		t.Error("what is refused when it is tried again does not wait as long again")
	}
}

// A refusal without an end, as an operator before this one wrote it, has none.
func TestARefusalOfBeforeStays(t *testing.T) {
	r := records.Record{Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/web", Rejections: []v1alpha1.Rejection{{Version: "1", Message: "no"}}}}}}
	if got := records.Parse(r, time.Now().Add(time.Hour*24*365)).Members["shop/web"].Rejections; len(got) != 1 {
		t.Errorf("it is %v after a year", got)
	}
	if got := untilTried(&r, time.Now()); got != queue.AfterRejected {
		t.Errorf("the limits are looked at in %s", got)
	}
}
