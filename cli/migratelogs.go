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
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file replays access logs for migrate.

// replayLogs replays the logs of the other controller's load balancers.
func (m *migrating) replayLogs(cmd *cobra.Command, tables []*precedence.Table) (*traffic.Report, error) {
	if err := source.OneStdin(m.logs, m.Files); err != nil {
		return nil, err
	}
	files, err := traffic.Expand(m.logs)
	if err != nil {
		return nil, err
	}
	names, unclear := albNames(tables)
	setup, err := traffic.Configurations{Before: tables, Names: append(names, m.names...)}.Setup()
	if err != nil {
		return nil, err
	}
	report, err := traffic.Logs{Files: files, Stdin: cmd.InOrStdin()}.Replay(cmd.Context(), setup)
	if err != nil {
		return nil, fmt.Errorf("replaying logs: %w", err)
	}
	for _, o := range report.Others {
		short := o.Name
		if parts := strings.Split(short, "/"); len(parts) > 1 {
			short = parts[1]
		}
		if slices.ContainsFunc(unclear, func(start string) bool { return strings.HasPrefix(short, start) }) {
			return nil, fmt.Errorf("%d lines of the load balancer %s are not compared, since several may have such a name: "+
				"say which it is with --load-balancer NAME=KEY, where KEY is one of %s", o.Lines, o.Name, keysOf(tables))
		}
	}
	return &report, nil
}

// keysOf lists the keys of load balancers.
func keysOf(tables []*precedence.Table) string {
	var keys []string
	for _, t := range tables {
		if t != nil && len(t.Listeners) > 0 {
			keys = append(keys, string(t.Key))
		}
	}
	return strings.Join(keys, ", ")
}

// notInNames matches characters that the AWS Load Balancer Controller leaves out of names.
var notInNames = regexp.MustCompile("[^A-Za-z0-9]")

// albNames returns NAME=KEY for the load balancers of the AWS Load Balancer Controller. It names those of a
// group k8s-GROUP-HASH and others k8s-NAMESPACE-INGRESS-HASH, with parts cut to 17 and to 8 characters; the hash
// includes the name of the cluster (buildLoadBalancerName in
// https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/ingress/model_build_load_balancer.go).
// Where the name of one may be that of another, its beginning is unclear.
func albNames(tables []*precedence.Table) (names, unclear []string) {
	keys := map[string][]lb.Key{}
	for _, t := range tables {
		if t == nil || len(t.Listeners) == 0 {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(t.Key.Whose(), "/"), "/") // the class, and what it is of
		start := "k8s-"
		if group, found := strings.CutPrefix(parts[len(parts)-1], "@"); found {
			start += cutTo(group, 17) + "-"
		} else {
			start += cutTo(parts[1], 8) + "-" + cutTo(parts[2], 8) + "-"
		}
		keys[start] = append(keys[start], t.Key)
	}
	for start, of := range keys {
		alike := 0
		for other, keys := range keys {
			if strings.HasPrefix(other, start) {
				alike += len(keys)
			}
		}
		if alike == 1 {
			names = append(names, start+"*="+string(of[0]))
		} else {
			unclear = append(unclear, start)
		}
	}
	return names, unclear
}

func cutTo(name string, most int) string {
	name = notInNames.ReplaceAllString(name, "")
	return name[:min(len(name), most)]
}
