package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/cli/traffic"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/replay"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file replays access logs for migrate.

// replayLogs replays the logs of the other controller's load balancers.
func (m *migrating) replayLogs(cmd *cobra.Command, of *side, tables []*precedence.Table) (*traffic.Report, error) {
	if err := source.OneStdin(m.logs, m.Files); err != nil {
		return nil, err
	}
	files, err := traffic.Expand(m.logs)
	if err != nil {
		return nil, err
	}
	all := traffic.Configurations{Before: tables, Naming: albNaming(of)}
	names, unclear := albNames(all.Keys())
	all.Names = slices.Concat(names, m.names)
	setup, err := all.Setup()
	if err != nil {
		return nil, err
	}
	report, err := traffic.Logs{Files: files, Stdin: cmd.InOrStdin()}.Replay(cmd.Context(), setup)
	if err != nil {
		return nil, fmt.Errorf("replaying logs: %w", err)
	}
	for _, o := range report.Others {
		begins := func(start string) bool { return strings.HasPrefix(replay.ShortName(o.Name), start) }
		if slices.ContainsFunc(unclear, begins) {
			return nil, fmt.Errorf("%d lines of the load balancer %s are not compared, since several may have such a name: "+
				"say which it is with --load-balancer NAME=KEY, where KEY is one of %s", o.Lines, o.Name, strings.Join(all.Keys(), ", "))
		}
	}
	return &report, nil
}

// notInNames matches characters that the AWS Load Balancer Controller leaves out of names.
var notInNames = regexp.MustCompile("[^A-Za-z0-9]")

// albNames returns NAME=KEY for the load balancers of the AWS Load Balancer Controller. It names those of a
// group k8s-GROUP-HASH and others k8s-NAMESPACE-INGRESS-HASH, with parts cut to 17 and to 8 characters; the hash
// includes the name of the cluster (buildLoadBalancerName in
// https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/ingress/model_build_load_balancer.go).
// Where the name of one may be that of another, its beginning is unclear.
func albNames(keys []string) (names, unclear []string) {
	named := map[string][]string{} // the keys by the beginning of the name
	for _, key := range keys {
		parts := strings.Split(strings.TrimSuffix(lb.Key(key).Whose(), "/"), "/") // the class, and what it is of
		start := "k8s-"
		if group, found := strings.CutPrefix(parts[len(parts)-1], "@"); found {
			start += cutTo(group, 17) + "-"
		} else {
			start += cutTo(parts[1], 8) + "-" + cutTo(parts[2], 8) + "-"
		}
		named[start] = append(named[start], key)
	}
	for start, of := range named {
		alike := 0
		for other, keys := range named {
			if strings.HasPrefix(other, start) {
				alike += len(keys)
			}
		}
		if alike == 1 {
			names = append(names, start+"*="+of[0])
		} else {
			unclear = append(unclear, start)
		}
	}
	return names, unclear
}

// albNaming returns how the AWS Load Balancer Controller names target groups: k8s-NAMESPACE-SERVICE-HASH, with
// parts cut to 8 characters and ten of the hash, which includes the name of the cluster and the UID of the
// Service (buildTargetGroupName in
// https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/ingress/model_build_target_group.go).
// It has a rule with a fixed response for a Service that is missing (loadBackendServices in
// https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/ingress/enhanced_backend_builder.go).
func albNaming(of *side) *replay.Naming {
	out := &replay.Naming{
		OfService: func(service string) string {
			namespace, name, _ := strings.Cut(service, "/")
			return "k8s-" + cutTo(namespace, 8) + "-" + cutTo(name, 8) + "-"
		},
		Beginning: func(targetGroup string) string {
			if found := albTargetGroup.FindStringSubmatch(targetGroup); found != nil {
				return found[1]
			}
			return ""
		},
	}
	if of.state == nil { // a state has no Services
		there := map[string]bool{}
		for _, s := range of.objects.Services {
			there[s.Namespace+"/"+s.Name] = true
		}
		out.Missing = func(service string) bool { return !there[service] }
	}
	return out
}

var albTargetGroup = regexp.MustCompile("^(k8s-[A-Za-z0-9]{1,8}-[A-Za-z0-9]{1,8}-)[0-9a-f]{10}$")

func cutTo(name string, most int) string {
	name = notInNames.ReplaceAllString(name, "")
	return name[:min(len(name), most)]
}
