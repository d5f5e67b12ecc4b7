package bindings

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/bindings"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file remembers bindings. What is remembered says which targets may be removed from target groups of
// others, so it is in LoadBalancers, which authors of bindings cannot write.

// A memory is what is remembered of a binding: the version that was accepted last, and the targets that may have
// been registered for it.
type memory struct {
	bindings.Last
	Targets []lb.Target
}

// Memories has what is remembered of all bindings. It is read after this replica has the lease.
type Memories struct {
	store records.Store
	turn  chan struct{} // has an element while memories are read or written

	mu    sync.Mutex
	known map[types.NamespacedName]*memory // nil before they are read
}

// NewMemories returns the memories in a store of records.
func NewMemories(store records.Store) *Memories {
	return &Memories{store: store, turn: make(chan struct{}, 1)}
}

// inTurn calls a function while no other is called. All bindings wait in one line, which is not what holds them up: the
// API server takes a write in some 10 ms, and AWS the calls that follow it in some 100 ms, made by four workers.
func (m *Memories) inTurn(ctx context.Context, do func() error) error {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
		return do()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ready reads the memories, once.
func (m *Memories) ready(ctx context.Context) error {
	if m.areKnown() {
		return nil
	}
	return m.inTurn(ctx, func() error {
		if m.areKnown() {
			return nil
		}
		stored, err := m.store.Load(ctx)
		if err != nil {
			return err
		}
		known := map[types.NamespacedName]*memory{}
		for key, r := range stored {
			namespace, name, bound := key.Binding()
			if read := decode(r); bound && read != nil {
				known[types.NamespacedName{Namespace: namespace, Name: name}] = read
			}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.known = known
		return nil
	})
}

func (m *Memories) areKnown() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known != nil
}

// of returns what is remembered of a binding; nil if nothing is. It must not be changed.
func (m *Memories) of(name types.NamespacedName) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[name]
}

// names returns the bindings of which something is remembered.
func (m *Memories) names() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.known))
}

// Remembered returns the targets that bindings may have in a target group, by the key of the binding.
func (m *Memories) Remembered(group lb.GroupID) map[lb.Key][]lb.Target {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[lb.Key][]lb.Target{}
	for name, one := range m.known {
		if one.Group == group {
			out[routing.NewBindingKey(name.Namespace, name.Name, one.Class.ProviderName)] = one.Targets
		}
	}
	return out
}

// change changes what is remembered of a binding. A change to nil has it forgotten.
func (m *Memories) change(ctx context.Context, name types.NamespacedName, change func(*memory) (*memory, error)) error {
	key := routing.NewBindingKey(name.Namespace, name.Name, "") // its target groups may be of several providers
	return m.inTurn(ctx, func() error {
		before := m.of(name)
		next, err := change(before)
		switch {
		case err != nil || next == nil && before == nil || next != nil && before != nil && equality.Semantic.DeepEqual(*before, *next):
			return err
		case next == nil:
			err = m.store.Drop(ctx, key)
		default:
			var record records.Record
			if record, err = next.encode(); err == nil {
				err = m.store.Save(ctx, key, record)
			}
		}
		if err != nil {
			return fmt.Errorf("remembering TargetGroupBinding %s: %w", name, err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.known[name] = next; next == nil {
			delete(m.known, name)
		}
		return nil
	})
}

// mostRemembered is how many bytes of targets are remembered. An object of the API server has at most 1.5 MiB
// (https://etcd.io/docs/latest/dev-guide/limit/).
const mostRemembered = 200 << 10

// encode returns a memory as it is stored.
func (m *memory) encode() (records.Record, error) {
	var all []string
	for _, t := range m.Targets {
		address := t.Address
		if ip, err := netip.ParseAddr(address); err == nil && ip.Is6() {
			address = "[" + address + "]"
		}
		all = append(all, fmt.Sprintf("%s:%d", address, t.Port))
	}
	slices.Sort(all)
	text := strings.Join(all, " ")
	if len(text) > mostRemembered {
		return records.Record{}, fmt.Errorf("%d targets are more than can be remembered of a target group", len(all))
	}
	spec, err := json.Marshal(m.Spec)
	return records.Record{Memory: v1alpha1.Memory{Class: &m.Class.LoadBalancerClassSpec, Binding: &v1alpha1.BindingMemory{
		TargetGroup: string(m.Group), Class: m.Class.Name, Spec: &runtime.RawExtension{Raw: spec}, Targets: text}}}, err
}

// decode returns a memory that was stored; nil if there is none that can be read.
func decode(r records.Record) *memory {
	b := r.Memory.Binding
	if b == nil || b.TargetGroup == "" {
		return nil
	}
	m := &memory{Last: bindings.Last{Group: lb.GroupID(b.TargetGroup), Class: &ingress.Class{Name: b.Class}}}
	if r.Memory.Class != nil {
		m.Class.LoadBalancerClassSpec = *r.Memory.Class
	}
	if b.Spec == nil || json.Unmarshal(b.Spec.Raw, &m.Spec) != nil {
		return nil
	}
	for text := range strings.SplitSeq(b.Targets, " ") {
		if at := strings.LastIndexByte(text, ':'); at > 0 {
			port, err := strconv.ParseUint(text[at+1:], 10, 16)
			if err == nil {
				m.Targets = append(m.Targets, lb.Target{Address: strings.Trim(text[:at], "[]"), Port: int32(port)})
			}
		}
	}
	return m
}
