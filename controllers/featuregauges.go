package controllers

import (
	"encoding/json"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
)

// This file counts the features in use, by class.

// An emitter takes a value of a gauge.
type emitter = func(m metrics.Metric, value float64, labels ...string)

// countFeatures counts the Ingresses that use each feature.
func countFeatures(records map[lb.Key]records.Record, emit emitter) {
	type use struct{ class, feature string }
	found := map[use]int{}
	for key, r := range records {
		parameters := fieldsOf(r.Memory.Class)
		for _, m := range r.Memory.Members {
			if m.LastAccepted == nil {
				continue
			}
			features := record.Accepted{
				Annotations: m.LastAccepted.Annotations, Spec: m.LastAccepted.Spec,
			}.Features()
			for _, f := range append(features, parameters...) {
				found[use{key.Class(), f}]++
			}
		}
	}
	for u, n := range found {
		emit(metrics.FeaturesGauge, float64(n), u.class, u.feature)
	}
}

// fieldsOf returns the fields of a class's parameters that are set.
func fieldsOf(class *v1alpha1.LoadBalancerClassSpec) []string {
	text, err := json.Marshal(class)
	if err != nil {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil
	}
	var out []string
	for name := range fields {
		out = append(out, "parameters."+name)
	}
	return out
}
