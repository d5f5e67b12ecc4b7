package controllers_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// columns are what kubectl get prints of a LoadBalancer, by column.
func (w *world) columns(name string) (map[string]any, error) {
	w.Helper()
	c, err := rest.HTTPClientFor(w.cluster.Config)
	if err != nil {
		w.Fatal(err)
	}
	url := w.cluster.Config.Host + "/apis/fairlead.dev/v1alpha1/loadbalancers/" + name
	q, err := http.NewRequestWithContext(w.Context(), http.MethodGet, url, nil)
	if err != nil {
		w.Fatal(err)
	}
	q.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	answer, err := c.Do(q)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	var table metav1.Table
	if err := json.Unmarshal(text, &table); err != nil || len(table.Rows) != 1 {
		return nil, fmt.Errorf("%s is no table of one row: %w", text, err)
	}
	out := map[string]any{}
	for i, c := range table.ColumnDefinitions {
		if c.Priority == 0 {
			out[strings.ToUpper(c.Name)] = table.Rows[0].Cells[i]
		}
	}
	return out, err
}

// kubectl get lb prints that a part of an Ingress is not served, and the reason.
func TestTheColumnsSayWhatIsMissing(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	prints := func(accepted string, missing any) {
		t.Helper()
		w.eventually(func() error {
			got, err := w.columns(w.reportName("shop"))
			return noError(err == nil && got["ACCEPTED"] == accepted && got["MISSING"] == missing, "it prints %v, %v", got, err)
		})
	}
	prints("True", nil)
	w.change("shop", func(i *networkingv1.Ingress) {
		i.Annotations["fairlead.dev/listen-ports"] = "HTTP:80,HTTPS:443"
		i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"shop.example"}, SecretName: "nothing"}}
	})
	prints("False", "CertificateMissing")
}
