package alb

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/nightly"
)

// This file has a tenant whose Secrets come and go, in an account that others share.

// TestImportsOfANamespaceArePaced has Mallory make, rewrite and delete Secrets, and Alice renew a
// certificate afterwards. The year's imports are left to her, whether renewals count or not.
func TestImportsOfANamespaceArePaced(t *testing.T) {
	for name, churn := range nightly.Cases(t, map[string]func(w *world, i int){
		"Secrets that come and go": func(w *world, i int) {
			w.ofMallory(fmt.Sprint("m", i), 0, "m.example.com")
			_ = w.rest()
			w.remove("m")
		},
		"a Secret that is written again and again": func(w *world, i int) {
			w.ofMallory("m", i, "m.example.com")
		},
		"a Secret for other hosts each time": func(w *world, i int) {
			w.ofMallory("m", 0, fmt.Sprintf("m%d.example.com", i))
		},
	}) {
		for _, count := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, renewals count %t", name, count), func(t *testing.T) {
				o := slow()
				o.Limits, o.RenewalsCount = albsim.Limits{ImportsPerYear: 12}, count
				inBubble(t, o, func(w *world) { w.churned(churn) })
			})
		}
	}
}

func (w *world) churned(churn func(w *world, i int)) {
	w.Helper()
	w.key = "fairlead/@all/internal"
	w.class(func(c *v1alpha1.LoadBalancerClassSpec) {
		c.Groups = []v1alpha1.SharedGroup{{Name: "all", NamespaceSelector: metav1.LabelSelector{}}}
		c.LoadBalancers.CertificatesPerNamespace = 3
	})
	for _, name := range []string{"shop", "mallory"} {
		w.Namespaces = append(w.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	twoSecrets(w)
	w.settle()
	began := time.Now()
	for i := range 30 {
		churn(w, i)
		_ = w.rest() // what waits is an error of the plan
	}
	// Two are Alice's. Mallory has three at once, and one more every ten days.
	if n, most := w.imports(), 2+3+1+int(time.Since(began)/(10*24*time.Hour)); n < 5 || n > most {
		w.Errorf("%d certificates were imported in %s, want at least 5 and at most %d", n, time.Since(began), most)
	}
	w.secret("one", 1, "one.example.com")
	before := w.imports()
	_ = w.rest()
	if w.imports() != before+1 {
		w.Errorf("Alice's renewal was imported %d times", w.imports()-before)
	}
	w.look(false)
	w.showsOwn("after the churn", "one.example.com", "two.example.com")
}

// ofMallory has the only Ingress of Mallory served with a certificate.
func (w *world) ofMallory(secret string, edition int, host string) {
	w.Helper()
	w.secret(secret, edition, host)
	w.Secrets[len(w.Secrets)-1].Namespace = "mallory"
	w.remove("m")
	ing := w.serve("m", map[string]string{"/": "web"})
	ing.Namespace, ing.Spec.TLS = "mallory", []networkingv1.IngressTLS{{SecretName: secret}}
}

// A certificate that is valid for six days is renewed each fourth day, also where the namespace may
// import nothing more.
func TestRenewalsOfShortLivedCertificatesGoOn(t *testing.T) {
	inBubble(t, slow(), func(w *world) {
		w.class(func(c *v1alpha1.LoadBalancerClassSpec) { c.LoadBalancers.CertificatesPerNamespace = 2 })
		twoSecrets(w)
		w.settle()
		for i := range 20 {
			time.Sleep(4 * 24 * time.Hour)
			for _, name := range []string{"one", "two"} {
				w.secret(name, i+1, name+".example.com")
			}
			w.settle()
		}
		if n, want := w.imports(), 2+2*20; n != want {
			w.Errorf("%d certificates were imported, want %d", n, want)
		}
	})
}
