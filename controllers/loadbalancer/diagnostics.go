package loadbalancer

import (
	"slices"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
)

// This file collects the diagnostics of a load balancer.

// diagnostics returns the diagnostics of the compiler, of the plan and of the cloud.
func (o outcome) diagnostics() []diag.Diagnostic {
	return slices.Concat(o.Built.Diagnostics, o.Plan.Diagnostics, o.unavoidableRejections(),
		o.refusedParkingRules(), o.Expectations.Diagnostics(), o.Proof.diagnostics(),
		o.waitDiagnostics(), o.failureDiagnostics())
}

// protected returns the diagnostic of a load balancer that is kept without an Ingress; nil if there
// is none.
func (o outcome) protected() *diag.Diagnostic {
	at := slices.IndexFunc(o.Plan.Diagnostics, func(d diag.Diagnostic) bool {
		return d.Reason == diag.Protected
	})
	if at < 0 {
		return nil
	}
	return &o.Plan.Diagnostics[at]
}

// lacksCloudObjects reports whether the cloud lacks an object, or room for one, that it may have
// soon.
func (o outcome) lacksCloudObjects() bool {
	return slices.ContainsFunc(o.Built.Diagnostics, func(d diag.Diagnostic) bool {
		return slices.Contains([]diag.Reason{diag.NetworkUnmet, diag.NameTaken, diag.WebACLMissing,
			diag.NoShield, diag.CertificateQuota}, d.Reason)
	})
}

// wasReported reports whether the record has a diagnostic already.
func (o outcome) wasReported(d diag.Diagnostic) bool {
	return slices.Contains(o.Snapshot.Record.Diagnostics, reported(d))
}

func reported(d diag.Diagnostic) v1alpha1.Diagnostic {
	return v1alpha1.Diagnostic{
		Severity: string(d.Severity), Reason: string(d.Reason), Source: printable.Line(d.Source.String()),
		Message: printable.Line(d.Message),
	}
}
