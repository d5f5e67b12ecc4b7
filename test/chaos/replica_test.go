package chaos

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/kube"
)

// This file is a replica of the operator: a process that can be killed, paused and cut off.

// A replica reaches the API server and the cloud over links of its own.
type replica struct {
	name       string
	world      *world
	api, cloud *link
	kubeconfig string
	log        string
	process    *kube.Replica // nil while none runs
	paused     bool
	term       int // how often the lease had changed hands when it was paused
}

// newReplica is one that does not run yet.
func (w *world) newReplica(t *testing.T, name, dir, server, cloud string) *replica {
	t.Helper()
	r := &replica{
		name: name, world: w, api: newLink(t, server), cloud: newLink(t, cloud),
		kubeconfig: filepath.Join(dir, name+".kubeconfig"), log: filepath.Join(dir, name+".log"),
	}
	config, err := clientcmd.LoadFromFile(w.cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range config.Clusters {
		c.Server = "https://" + r.api.url
	}
	if err := clientcmd.WriteToFile(*config, r.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return r
}

// start runs the replica, if it does not run.
func (r *replica) start(t *testing.T) {
	t.Helper()
	r.notice(t)
	if r.process != nil {
		return
	}
	r.paused = false
	r.process = r.world.cluster.StartReplicaIn(t, r.log, []string{
		"AWS_ENDPOINT_URL=http://" + r.cloud.url, "AWS_ACCESS_KEY_ID=" + r.key(), "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
	},
		"--kubeconfig="+r.kubeconfig, "--namespace="+r.world.namespace, "--log-format=console", "--verbose",
		"--provider=aws", "--aws-region="+albsim.Region, "--aws-vpc-id="+albsim.VPC, "--aws-cluster-name="+albsim.Cluster,
		"--leader-elect", "--leader-elect-namespace="+r.world.namespace,
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
		"--cloud-attempt-timeout=2s", "--cloud-call-timeout=6s", "--drift-interval=15s", "--shutdown-timeout=5s",
		"--aws-rates=modify=2/2,write=4/4,targets=4/4", // plans take some seconds
		"--metrics-bind-address=0", "--health-probe-bind-address=0")
}

// kill ends the replica the way a crash does, whether it is paused or not.
func (r *replica) kill() {
	if r.process != nil {
		r.process.Kill()
		r.process, r.paused = nil, false
	}
}

// key is the access key that its calls are signed with.
func (r *replica) key() string { return "AKIDOFREPLICA" + r.name }

// pause stops the process, and not its clock.
func (r *replica) pause(t *testing.T) {
	t.Helper()
	if !r.paused {
		r.term = r.world.terms(t)
	}
	r.paused = r.signal(t, syscall.SIGSTOP) || r.paused
}

// resume lets the process go on.
func (r *replica) resume(t *testing.T) {
	t.Helper()
	if r.paused {
		r.signal(t, syscall.SIGCONT)
		r.paused = false
	}
}

// signal reports whether there is a process that got the signal.
func (r *replica) signal(t *testing.T, s syscall.Signal) bool {
	t.Helper()
	r.notice(t)
	return r.process != nil && syscall.Kill(r.process.PID(), s) == nil
}

// notice notices that the process has ended by itself, as one does that cannot reach the API server
// or the cloud when it starts.
func (r *replica) notice(t *testing.T) {
	t.Helper()
	if r.process == nil || syscall.Kill(r.process.PID(), 0) == nil {
		return
	}
	log := r.process.Log()
	if last := log[max(0, strings.LastIndex(log, "error: ")):]; !strings.HasPrefix(last, "error: starting the operator") && !strings.HasPrefix(last, "error: asking AWS") {
		t.Errorf("replica %s has ended by itself: %s", r.name, log)
	}
	r.world.note("replica %s could not start", r.name)
	r.process, r.paused = nil, false
}

// leader is the index of the replica that called the cloud last.
func (w *world) leader() int {
	if w.replicas[1].cloud.lastUsed().After(w.replicas[0].cloud.lastUsed()) {
		return 1
	}
	return 0
}
