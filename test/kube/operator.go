package kube

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/fairlead/test/binary"

	// The operator is made of these. What a test found out about it is so until one of them changes,
	// and go test knows of no other way to be told.
	_ "fairlead.dev/fairlead/cli"
	_ "fairlead.dev/fairlead/providers/aws"
	_ "fairlead.dev/fairlead/providers/fake"
)

// This file runs the operator as people do: built from this tree, a process of its own, beside the
// class of config/class.

// Class is the name of the IngressClass that comes with an operator.
const Class = "fairlead"

// startOperator starts one more operator. The first one gets the class.
func (c *Cluster) startOperator(ctx context.Context, flags []string) (*process, error) {
	if err := c.build(ctx); err != nil {
		return nil, err
	}
	return c.command(operator, c.operatorFlags(flags))
}

// operatorFlags are those of an operator of this cluster.
func (c *Cluster) operatorFlags(more []string) []string {
	return append([]string{"run", "--kubeconfig=" + c.Kubeconfig}, more...)
}

// build puts the operator beside the cluster, once, and installs its class.
func (c *Cluster) build(ctx context.Context) error {
	if !c.hasClass {
		if err := c.installClass(ctx); err != nil {
			return err
		}
		c.hasClass = true
	}
	if c.commands[operator] != "" {
		return nil
	}
	command := filepath.Join(c.dir, operator)
	if err := binary.Build(ctx, command, detector...); err != nil {
		return err
	}
	c.commands[operator] = command
	return nil
}

// Command is the path of what is built from this tree.
func (c *Cluster) Command(t testing.TB) string {
	t.Helper()
	c.building.Lock()
	defer c.building.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.build(ctx); err != nil {
		t.Fatal(err)
	}
	return c.commands[operator]
}

// A Replica is an operator that a test can end.
type Replica struct{ process *process }

// StartReplica starts an operator of a test's own, which ends with the test at the latest.
func (c *Cluster) StartReplica(t testing.TB, flags ...string) *Replica {
	t.Helper()
	return c.StartReplicaIn(t, filepath.Join(c.dir, operator+".log"), nil, flags...)
}

// StartReplicaIn starts an operator that finds more in its environment than this test, and has a
// log of its own.
func (c *Cluster) StartReplicaIn(t testing.TB, log string, environment []string, flags ...string) *Replica {
	t.Helper()
	p, err := startProcess(c.Command(t), log, environment, c.operatorFlags(flags))
	if err != nil {
		t.Fatalf("starting an operator: %s", err)
	}
	t.Cleanup(func() {
		p.stop()
		if race := p.race(); race != "" {
			t.Errorf("the operator has a data race:\n%s", race)
		}
	})
	return &Replica{p}
}

// Command is the path of what a replica runs: fairlead, built from this tree.
func (r *Replica) Command() string { return r.process.path }

// PID is the process's number.
func (r *Replica) PID() int { return r.process.pid }

// Kill ends a replica the way a crash does.
func (r *Replica) Kill() { r.process.stop() }

// Terminate tells a replica to stop, the way a kubelet does, and returns what it ends with.
func (r *Replica) Terminate(t testing.TB) int {
	t.Helper()
	if err := syscall.Kill(r.process.pid, syscall.SIGTERM); err != nil {
		t.Fatalf("telling an operator to stop: %s", err)
	}
	select {
	case <-r.process.done:
	case <-time.After(patience):
		t.Fatalf("the operator does not stop:\n%s", r.Log())
	}
	return r.process.code
}

// Log is the end of what a replica says, together with its peers of the same log.
func (r *Replica) Log() string { return r.process.tail() }

func (c *Cluster) installClass(ctx context.Context) error {
	root, err := binary.Root()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, "config", "class", "ingress-class.yaml"))
	if err != nil {
		return err
	}
	class := &networkingv1.IngressClass{}
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text)).Decode(class); err != nil {
		return fmt.Errorf("reading the class: %w", err)
	}
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	if _, err := client.NetworkingV1().IngressClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("installing the class: %w", err)
	}
	return nil
}

// OperatorLog is the end of what the operator says.
func (c *Cluster) OperatorLog() string { return c.operator.tail() }
