// Cluster runs a command beside a cluster that is made for it, and is gone afterwards: a real API
// server, Deployments whose Pods echo, the class "fairlead", and the operator with the fake cloud.
// The command finds it by KUBECONFIG, and is in its network: it reaches Pods and load balancers.
// Without a command it is a shell.
//
//	go run ./test/cluster
//	go run ./test/cluster kubectl get ingressclasses
package main

import (
	"fmt"
	"os"

	"fairlead.dev/fairlead/test/kube"
)

func main() {
	command := os.Args[1:]
	if len(command) == 0 {
		command = []string{"sh"}
	}
	code, err := kube.Run(kube.Alive, command...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
