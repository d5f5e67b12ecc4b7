package kube

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Alive is a control plane on which everything comes alive: Deployments have Pods that echo, and
// Ingresses are served by the operator and the fake cloud, on the ports that they ask for, at
// addresses that nobody needs a route to. The operator's own ports are on loopback alone, for any
// port of another address may be a Pod's.
var Alive = Options{
	Pods: true,
	Controllers: []string{
		"deployment-controller", "replicaset-controller", "endpoints-controller", "endpointslice-controller", "namespace-controller",
	},
	Operator: []string{"--provider=fake", "--fake-addresses=" + balancerNetwork},
}

// balancerNetwork is where load balancers have their addresses.
const balancerNetwork = "10.244.255.0/24"

// Run is a control plane for as long as a command runs, which finds it by KUBECONFIG. It returns
// how the command ended.
func Run(o Options, command ...string) (code int, err error) {
	if o.Pods {
		if code, outside, err := enterNamespace(); outside || err != nil {
			return code, err
		}
	}
	c, err := start(o)
	if err != nil {
		return 0, err
	}
	defer c.stop()
	run := exec.Command(command[0], command[1:]...) //nolint:noctx // it ends when whoever runs it says so
	run.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = run.Run()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		return 0, fmt.Errorf("running %s: %w", command[0], err)
	}
	return run.ProcessState.ExitCode(), nil
}
