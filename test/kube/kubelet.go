package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// This file stands in for scheduler, kubelet and images: every Pod runs on one node, has an
// address, and echoes on each of its ports what it is asked. A Pod that is deleted goes the way of
// a real one whose program knows nothing of signals: its preStop hook, then gone, with whatever
// requests were under way.

const node = "node"

// podNetwork is where Pods have their addresses, of which the first is the node's.
var (
	podNetwork = netip.MustParsePrefix("10.244.0.1/16")
	podMask    = net.CIDRMask(podNetwork.Bits(), 32)
)

// A kubelet runs Pods until it is stopped.
type kubelet struct {
	client kubernetes.Interface
	stop   context.CancelFunc
	pods   sync.WaitGroup

	mu      sync.Mutex
	leaving map[types.UID]context.CancelFunc // tells a Pod that it is deleted
}

func (c *Cluster) startKubelet(ctx context.Context) (*kubelet, error) {
	if os.Getenv(inside) == "" {
		return nil, errors.New("starting Pods: they need a network namespace, which the package's TestMain enters by kube.Main with the same options")
	}
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	// Nobody counts an endpoint whose node is missing.
	if _, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("making a node: %w", err)
	}
	running, stop := context.WithCancel(context.Background())
	k := &kubelet{client: client, stop: stop, leaving: map[types.UID]context.CancelFunc{}}
	factory := informers.NewSharedInformerFactory(client, 0)
	if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { k.see(running, object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { k.see(running, object.(*corev1.Pod)) },
		DeleteFunc: func(object any) {
			if unseen, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unseen.Obj
			}
			k.leave(object.(*corev1.Pod).UID)
		},
	}); err != nil {
		stop()
		return nil, fmt.Errorf("watching Pods: %w", err)
	}
	factory.StartWithContext(running)
	return k, nil
}

// stopAll drops every Pod where it stands.
func (k *kubelet) stopAll() {
	if k != nil {
		k.stop()
		k.pods.Wait()
	}
}

// see starts a Pod that is new, and ends one that is deleted.
func (k *kubelet) see(ctx context.Context, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil && pod.Spec.NodeName != "" {
		k.leave(pod.UID)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.leaving[pod.UID]; known {
		k.letThrough(ctx, pod)
		return
	}
	if pod.DeletionTimestamp != nil {
		return
	}
	ip := nextAddress()
	present, leave := context.WithCancel(ctx)
	k.leaving[pod.UID] = leave
	k.pods.Go(func() { k.live(ctx, present, pod.DeepCopy(), ip) })
}

// addresses are those that Pods get, of whatever control plane they are: they share a network.
var addresses struct {
	sync.Mutex
	last netip.Addr
}

func nextAddress() netip.Addr {
	addresses.Lock()
	defer addresses.Unlock()
	if !addresses.last.IsValid() {
		addresses.last = podNetwork.Addr()
	}
	addresses.last = addresses.last.Next()
	return addresses.last
}

// letThrough makes a Pod ready all of whose readiness gates are open by now.
func (k *kubelet) letThrough(ctx context.Context, pod *corev1.Pod) {
	if len(pod.Spec.ReadinessGates) == 0 || holds(pod, corev1.PodReady) || !holds(pod, corev1.ContainersReady) ||
		slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return !holds(pod, g.ConditionType) }) {
		return
	}
	k.pods.Go(func() {
		k.insist(ctx, func() error {
			const ready = `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`
			_, err := k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(ready), metav1.PatchOptions{}, "status")
			return err
		})
	})
}

func holds(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
}

func (k *kubelet) leave(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if leave, known := k.leaving[uid]; known {
		leave()
	}
}

// live is the life of a Pod. It is present until it is deleted, and then has its grace.
func (k *kubelet) live(ctx, present context.Context, pod *corev1.Pod, ip netip.Addr) {
	container := &http.Server{Handler: echo(pod), ReadHeaderTimeout: patience}
	defer container.Close()
	if err := serve(container, pod, ip); err != nil {
		k.report(ctx, pod, corev1.PodStatus{Phase: corev1.PodFailed, Message: err.Error()})
		return
	}
	k.insist(ctx, func() error {
		return unlessDone(k.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		}, metav1.CreateOptions{}))
	})
	k.report(ctx, pod, ready(pod, ip))

	<-present.Done()
	if ctx.Err() != nil {
		return // it is not the Pod that ends
	}
	grace := 30 * time.Second
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	graceful, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	beforeStop(graceful, pod)
	container.Close()
	k.insist(ctx, func() error {
		return unlessDone(k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		}))
	})
}

// serve answers on the ports that the containers name.
func serve(container *http.Server, pod *corev1.Pod, ip netip.Addr) error {
	for _, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			listener, err := net.Listen("tcp", net.JoinHostPort(ip.String(), strconv.Itoa(int(port.ContainerPort))))
			if err != nil {
				return err
			}
			go func() { _ = container.Serve(listener) }() // until it is shut down
		}
	}
	return nil
}

// beforeStop sleeps as long as a preStop hook does.
func beforeStop(ctx context.Context, pod *corev1.Pod) {
	var seconds int64
	for _, c := range pod.Spec.Containers {
		if l := c.Lifecycle; l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
			seconds = max(seconds, l.PreStop.Sleep.Seconds)
		}
	}
	sleep := time.NewTimer(time.Duration(seconds) * time.Second)
	defer sleep.Stop()
	select {
	case <-sleep.C:
	case <-ctx.Done():
	}
}

// ready is the status of a Pod that serves. One that has readiness gates waits for those.
func ready(pod *corev1.Pod, ip netip.Addr) corev1.PodStatus {
	now := metav1.Now()
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip.String(), PodIPs: []corev1.PodIP{{IP: ip.String()}},
		HostIP: podNetwork.Addr().String(), HostIPs: []corev1.HostIP{{IP: podNetwork.Addr().String()}}, StartTime: &now,
	}
	for _, c := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	if len(pod.Spec.ReadinessGates) > 0 {
		status.Conditions[len(status.Conditions)-1].Status = corev1.ConditionFalse
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status
}

func (k *kubelet) report(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) {
	client := k.client.CoreV1().Pods(pod.Namespace)
	k.insist(ctx, func() error {
		stored, err := client.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil || stored.UID != pod.UID {
			return err
		}
		stored.Status = status
		_, err = client.UpdateStatus(ctx, stored, metav1.UpdateOptions{})
		return err
	})
}

// unlessDone forgives a conflict: the Pod is bound, or gone and another has its name. An answer
// gets lost when an API server is stopped.
func unlessDone(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// insist tries until it is done or the Pod is not there any more: an API server may be away.
func (k *kubelet) insist(ctx context.Context, try func() error) {
	often := time.NewTicker(50 * time.Millisecond)
	defer often.Stop()
	for err := try(); err != nil && !apierrors.IsNotFound(err); err = try() {
		select {
		case <-often.C:
		case <-ctx.Done():
			return
		}
	}
}
