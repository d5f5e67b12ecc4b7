package cli

import (
	"fmt"
	"regexp"
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
	setup, err := traffic.Configurations{Before: tables, Names: append(albNames(tables), m.names...)}.Setup()
	if err != nil {
		return nil, err
	}
	report, err := traffic.Logs{Files: files, Stdin: cmd.InOrStdin()}.Replay(cmd.Context(), setup)
	if err != nil {
		return nil, fmt.Errorf("replaying logs: %w", err)
	}
	return &report, nil
}

// notInNames matches characters that the AWS Load Balancer Controller leaves out of names.
var notInNames = regexp.MustCompile("[^A-Za-z0-9]")

// albNames returns NAME=KEY for the load balancers of the AWS Load Balancer Controller. It names those of a
// group k8s-GROUP-HASH and others k8s-NAMESPACE-INGRESS-HASH, with parts cut to 17 and to 8 characters; the hash
// includes the name of the cluster (buildLoadBalancerName in
// https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/ingress/model_build_load_balancer.go).
// Where the name of one may be that of another, it is left out.
func albNames(tables []*precedence.Table) (out []string) {
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
			out = append(out, start+"*="+string(of[0]))
		}
	}
	return out
}

func cutTo(name string, most int) string {
	name = notInNames.ReplaceAllString(name, "")
	return name[:min(len(name), most)]
}
