package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// A provider is what the operator talks to. It remembers what the operator sent, in a file, and makes
// Caddy serve it.
type provider struct {
	caddy      *admin
	network    netip.Prefix // in which load balancers have their addresses: one each, or one for all
	realPorts  bool         // listeners are opened at their own ports, not at free ones
	file       string
	checkEvery time.Duration // 0 is as target groups say
	// shutdownDelay is how long connections have for an answer when another configuration takes over.
	shutdownDelay time.Duration

	mu      sync.Mutex // held through each change: changes take turns, and what is read waits for them
	state   state
	health  map[member]*watch
	loaded  []byte        // the configuration that Caddy has; nil if that is not known
	changed chan struct{} // the health of a target is another
	gone    bool          // it is over
}

// A state is what the operator sent, by the keys of load balancers.
type state struct {
	Serial    int                  `json:"serial"` // of the last handle
	Balancers map[string]*balancer `json:"balancers"`
}

// A balancer is what is under a key. Target groups and certificates can be there without the load
// balancer.
type balancer struct {
	Exists       bool                    `json:"exists"`
	Handle       string                  `json:"handle,omitempty"`
	Address      string                  `json:"address,omitempty"`
	LoadBalancer v1.LoadBalancer         `json:"loadBalancer"`
	Listeners    map[int32]*listener     `json:"listeners"`
	Groups       map[string]*group       `json:"groups"`
	Certificates map[string]*certificate `json:"certificates"`
}

type listener struct {
	v1.Listener
	At     int32             `json:"at"` // the port that it is really reached at
	Handle string            `json:"handle"`
	Rules  []v1.ObservedRule `json:"rules"` // by priority
}

type group struct {
	v1.TargetGroup
	Handle     string      `json:"handle"`
	Registered bool        `json:"registered"`
	Targets    []v1.Target `json:"targets"`
}

type certificate struct {
	v1.Certificate
	Handle string `json:"handle"`
}

// start reads the state, and keeps Caddy and the health of targets up to date from then on.
func (p *provider) start() error {
	p.health, p.changed = map[member]*watch{}, make(chan struct{}, 1)
	text, err := os.ReadFile(p.file)
	if err == nil {
		err = json.Unmarshal(text, &p.state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the state: %w", err)
	}
	if p.state.Balancers == nil {
		p.state.Balancers = map[string]*balancer{}
	}
	p.watchAll()
	go p.follow()
	return nil
}

// save writes the state. It has private keys.
func (p *provider) save() error {
	text, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(p.file), ".state-*") // with the mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), p.file)
	}
	return err
}

// stop ends what start began. Caddy goes on with what it has.
func (p *provider) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	for _, w := range p.health {
		w.stop()
	}
}

// follow gives Caddy another configuration when the health of targets changes, and all of it when
// Caddy was started anew.
func (p *provider) follow() {
	for {
		var again <-chan time.Time
		p.mu.Lock()
		if p.gone {
			p.mu.Unlock()
			return
		}
		if p.loaded != nil && p.forgotten() {
			p.loaded = nil
		}
		if err := p.load(); err != nil {
			logger.Printf("giving Caddy its configuration: %v", err)
			again = time.After(time.Second)
		} else {
			again = time.After(5 * time.Second)
		}
		p.mu.Unlock()
		select {
		case <-p.changed:
		case <-again:
		}
	}
}

// balancer is a copy of what is under a key.
func (p *provider) balancer(key string) *balancer {
	b := &balancer{}
	if old := p.state.Balancers[key]; old != nil {
		text, err := json.Marshal(old)
		if err == nil {
			err = json.Unmarshal(text, b)
		}
		if err != nil {
			panic(err) // it was read from JSON
		}
	}
	if b.Listeners == nil {
		b.Listeners, b.Groups, b.Certificates = map[int32]*listener{}, map[string]*group{}, map[string]*certificate{}
	}
	return b
}

// commit makes a balancer what is under a key: in Caddy, then in the file. If either fails, all is
// as before.
func (p *provider) commit(key string, next *balancer) error {
	old := p.state.Balancers[key]
	p.put(key, next)
	err := p.load()
	if err == nil {
		err = p.save()
	}
	if err != nil {
		p.put(key, old)
		if again := p.load(); again != nil {
			logger.Printf("giving Caddy its configuration again: %v", again) // follow does so later
		}
		return err
	}
	p.watchAll()
	return nil
}

func (p *provider) put(key string, b *balancer) {
	if b == nil || !b.Exists && len(b.Groups)+len(b.Certificates) == 0 {
		delete(p.state.Balancers, key)
	} else {
		p.state.Balancers[key] = b
	}
}

// handle is a name that nothing has had.
func (p *provider) handle() string {
	p.state.Serial++
	return "caddy-" + strconv.Itoa(p.state.Serial)
}

// freeAddress is the address of a new load balancer: one that no other one has, or the only one
// that there is.
func (p *provider) freeAddress() (string, *v1.Problem) {
	if p.network.IsSingleIP() {
		return p.network.Addr().String(), nil
	}
	taken := map[string]bool{}
	for _, b := range p.state.Balancers {
		taken[b.Address] = true
	}
	for at := p.network.Addr().Next(); p.network.Contains(at); at = at.Next() {
		if !taken[at.String()] {
			return at.String(), nil
		}
	}
	return "", rejected("all addresses of %s are taken", p.network)
}

// open is the port that a listener is reached at: its own, or one that is free.
func (p *provider) open(address string, port int32) (int32, *v1.Problem) {
	if p.realPorts {
		for key, b := range p.state.Balancers {
			if b.Address == address && b.Listeners[port] != nil {
				return 0, rejected("port %d of %s is in use by the load balancer %s", port, address, key)
			}
		}
		return port, nil
	}
	free, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return 0, other("finding a free port: %v", err)
	}
	defer free.Close()
	return int32(free.Addr().(*net.TCPAddr).Port), nil
}

// observed is what is under a key.
func (p *provider) observed(key string) v1.Observed {
	b := p.state.Balancers[key]
	o := v1.Observed{Key: key}
	if b == nil {
		return o
	}
	if b.Exists {
		o.Exists, o.Active, o.Handle, o.Address = true, true, b.Handle, b.reached()
		o.Settings = &b.LoadBalancer.Settings
	}
	for _, port := range slices.Sorted(maps.Keys(b.Listeners)) {
		l := b.Listeners[port]
		o.Listeners = append(o.Listeners, v1.ObservedListener{
			Port: port, Protocol: l.Protocol, Certificates: l.Certificates, Settings: &l.Settings,
			SecretsDigest: l.Settings.SecretsDigest, Default: l.Default, Rules: l.Rules, Handle: l.Handle,
		})
	}
	for _, id := range slices.Sorted(maps.Keys(b.Groups)) {
		g := b.Groups[id]
		o.TargetGroups = append(o.TargetGroups, v1.ObservedTargetGroup{
			ID: id, Service: g.Service, Port: g.Port, TargetType: g.TargetType, Protocol: g.Protocol, Version: g.Version, Family: g.Family,
			Settings: &g.Settings, Ready: p.ready(key, g), Registered: g.Registered, Handle: g.Handle,
		})
	}
	for _, id := range slices.Sorted(maps.Keys(b.Certificates)) {
		c := b.Certificates[id]
		o.Certificates = append(o.Certificates, v1.ObservedCertificate{ID: id, Hosts: c.Hosts, Kind: c.Kind, Tags: c.Tags, Digest: c.Digest, Handle: c.Handle})
	}
	return o
}

// reached is where a load balancer is reached.
func (b *balancer) reached() *v1.Address {
	a := &v1.Address{IPs: []string{b.Address}}
	for _, port := range slices.Sorted(maps.Keys(b.Listeners)) {
		if at := b.Listeners[port].At; at != port {
			a.Ports = append(a.Ports, v1.PortMapped{Listener: port, ReachedAt: at})
		}
	}
	return a
}
