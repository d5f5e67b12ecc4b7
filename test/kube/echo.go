package kube

import (
	"encoding/json"
	"net/http"

	corev1 "k8s.io/api/core/v1"
)

// An Echo is what a Pod answers: what it was asked, and who it is. It reads like that of the
// public conformance suite for Ingress controllers.
type Echo struct {
	Path      string      `json:"path"`
	Host      string      `json:"host"`
	Method    string      `json:"method"`
	Proto     string      `json:"proto"`
	Headers   http.Header `json:"headers"`
	Namespace string      `json:"namespace"`
	Ingress   string      `json:"ingress"`
	Service   string      `json:"service"`
	Pod       string      `json:"pod"`
}

func echo(pod *corev1.Pod) http.Handler {
	who := Echo{Namespace: pod.Namespace, Pod: pod.Name}
	for _, c := range pod.Spec.Containers {
		for _, v := range c.Env {
			switch v.Name {
			case "INGRESS_NAME":
				who.Ingress = v.Value
			case "SERVICE_NAME":
				who.Service = v.Value
			}
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := who
		answer.Path, answer.Host, answer.Method, answer.Proto, answer.Headers = r.RequestURI, r.Host, r.Method, r.Proto, r.Header
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // who asked has gone
	})
}
