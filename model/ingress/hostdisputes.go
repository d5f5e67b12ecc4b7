package ingress

import (
	"fmt"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file reports refused claims to hosts to both sides.

// reportDisputes reports to the Ingress that names a host of another namespace, once for each host,
// and to the owner, once for all hosts of one namespace and one Ingress. So the number of
// diagnostics to owners does not grow with the number of claimed hosts.
func reportDisputes(owners *HostOwners) []diag.Diagnostic {
	var out []diag.Diagnostic
	disputes, count := owners.disputes(), map[routing.Owner]int{}
	for _, d := range disputes {
		if count[d.By]++; count[d.By] <= mostListedHosts {
			out = append(out, reportToClaimant(d))
		}
	}
	for _, d := range disputes {
		if n := count[d.By]; n > mostListedHosts {
			out = append(out, diag.Diagnostic{Severity: diag.Error, Reason: diag.HostTaken,
				Source: d.Source.At("spec"),
				Message: fmt.Sprintf("%d more of its hosts belong to other namespaces and are not served here",
					n-mostListedHosts)})
			count[d.By] = 0
		}
	}
	return append(out, reportToOwners(disputes)...)
}

// reportToClaimant returns the diagnostic for the Ingress whose claim is refused. The default
// backend of an Ingress with own hosts still answers for these.
func reportToClaimant(d HostDispute) diag.Diagnostic {
	out := diag.Diagnostic{Severity: diag.Error, Reason: diag.HostTaken, Source: d.Source}
	const remedy = ": use another host, or ask the owner of the class for `allowedHosts` or " +
		"`hosts: Shared`"
	switch {
	case d.Host == routing.Any && d.Source.Field == defaultBackendField && d.HasHosts:
		out.Severity = diag.Warning
		out.Message = fmt.Sprintf("requests for hosts that no rule names belong to namespace %s, so "+
			"this default backend answers on this Ingress's own hosts only", d.Owner)
	case d.Host == routing.Any:
		out.Message = fmt.Sprintf("requests for hosts that no rule names belong to namespace %s, so "+
			"rules without a host, and default backends, of other namespaces are not served on this load "+
			"balancer: name a host in the rule, or ask the owner of the class for `allowedHosts` or "+
			"`hosts: Shared`", d.Owner)
	case d.Host == d.Taken:
		out.Message = fmt.Sprintf("host %s belongs to namespace %s, so it is not served here%s", d.Host,
			d.Owner, remedy)
	default:
		out.Message = fmt.Sprintf("host %s is below %s, which belongs to namespace %s, so it is not "+
			"served here%s", d.Host, d.Taken, d.Owner, remedy)
	}
	return out
}

// reportToOwners returns diagnostics for the Ingresses of the namespaces that own the hosts.
func reportToOwners(disputes []HostDispute) []diag.Diagnostic {
	type pair struct{ owner, claimant string }
	hosts, at := map[pair]*nameList{}, map[pair]diag.Source{}
	var pairs []pair
	for _, d := range disputes {
		if d.Against == nil {
			continue
		}
		p := pair{d.Against.By.String(), d.By.Namespace}
		if hosts[p] == nil {
			hosts[p], pairs, at[p] = &nameList{}, append(pairs, p), d.Against.Source
		}
		hosts[p].Add(describeClaim(d.Host))
	}
	var out []diag.Diagnostic
	for _, p := range pairs {
		out = append(out, diag.Diagnostic{Severity: diag.Info, Reason: diag.HostTaken, Source: at[p],
			Message: fmt.Sprintf("namespace %s also asks for %s, and is refused: that belongs to this "+
				"namespace", p.claimant, listFirst(hosts[p].List))})
	}
	return out
}
