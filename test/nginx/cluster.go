package nginx

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
)

// This file is what ingress-nginx reads of a cluster (internal/ingress/controller/store).

// A Cluster is what the controller sees.
type Cluster struct {
	Ingresses  []networking.Ingress
	Services   []core.Service
	Slices     []discovery.EndpointSlice
	Secrets    []core.Secret
	ConfigMaps []core.ConfigMap // that annotations name

	Config             map[string]string // the data of the controller's own ConfigMap
	DefaultBackend     string            // --default-backend-service, as namespace/name
	DefaultCertificate string            // --default-ssl-certificate, as namespace/name
}

func (c *Cluster) service(key string) *core.Service {
	for i := range c.Services {
		if c.Services[i].Namespace+"/"+c.Services[i].Name == key {
			return &c.Services[i]
		}
	}
	return nil
}

func (c *Cluster) secret(key string) *core.Secret {
	for i := range c.Secrets {
		if c.Secrets[i].Namespace+"/"+c.Secrets[i].Name == key {
			return &c.Secrets[i]
		}
	}
	return nil
}

func (c *Cluster) configMap(key string) *core.ConfigMap {
	for i := range c.ConfigMaps {
		if c.ConfigMaps[i].Namespace+"/"+c.ConfigMaps[i].Name == key {
			return &c.ConfigMaps[i]
		}
	}
	return nil
}

// A read Ingress is an Ingress with what its annotations say.
type readIngress struct {
	*networking.Ingress
	settings settings
}

func (r *readIngress) key() string { return r.Namespace + "/" + r.Name }

// ordered reads the Ingresses, oldest first, the greater name first among those that are equally old. An Ingress
// whose annotations are refused does not exist (store.go, sortIngressSlice and syncIngress).
func (c *Cluster) ordered(config configuration) []*readIngress {
	var all []*readIngress
	for i := range c.Ingresses {
		ingress := c.Ingresses[i].DeepCopy()
		settings, err := c.annotations(ingress, config)
		if err != nil || suspicious(ingress) {
			continue
		}
		for _, rule := range ingress.Spec.Rules {
			if rule.HTTP == nil {
				continue
			}
			for j := range rule.HTTP.Paths {
				path := &rule.HTTP.Paths[j]
				path.Path = cmp.Or(path.Path, "/")
				if path.PathType == nil || *path.PathType == networking.PathTypeImplementationSpecific {
					prefix := networking.PathTypePrefix
					path.PathType = &prefix
				}
			}
		}
		all = append(all, &readIngress{ingress, settings})
	}
	slices.SortStableFunc(all, func(a, b *readIngress) int {
		return cmp.Or(cmp.Compare(a.CreationTimestamp.Unix(), b.CreationTimestamp.Unix()), cmp.Compare(b.key(), a.key()))
	})
	return all
}

// suspicious reports whether a host, path or Secret looks like a directive of nginx (internal/ingress/inspector).
func suspicious(ingress *networking.Ingress) bool {
	var texts []string
	for _, rule := range ingress.Spec.Rules {
		texts = append(texts, rule.Host)
		for _, path := range paths(rule) {
			texts = append(texts, path.Path)
		}
	}
	for _, entry := range ingress.Spec.TLS {
		texts = append(append(texts, entry.SecretName), entry.Hosts...)
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		for _, directive := range []string{"alias", "root"} {
			if _, rest, found := strings.Cut(text, directive); found && strings.Contains(rest, ";") {
				return true
			}
		}
		for _, folder := range []string{"passwd", "shadow", "group", "nginx", "ingress-controller"} {
			if strings.Contains(text, "/etc/"+folder) {
				return true
			}
		}
		return strings.Contains(text, "/var/run/secrets") || strings.Contains(text, "_by_lua")
	})
}

// A certificate is a key pair or an authority of a Secret (store/backend_ssl.go, net/ssl/ssl.go).
type certificate struct {
	leaf      *x509.Certificate // nil: an authority alone
	names     []string
	pair      []byte // certificate and key, as PEM
	authority []byte
}

var errNoCertificate = errors.New("no certificate")

// certificate reads a Secret. A broken one counts as none.
func (c *Cluster) certificate(key string) (*certificate, error) {
	secret := c.secret(key)
	if secret == nil {
		return nil, fmt.Errorf("%w: there is no Secret %s", errNoCertificate, key)
	}
	chain, isChain := secret.Data[core.TLSCertKey]
	private, isPrivate := secret.Data[core.TLSPrivateKeyKey]
	authority := secret.Data["ca.crt"]
	if len(authority) > 0 {
		block, _ := pem.Decode(authority)
		if block == nil || block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("%w: ca.crt of %s is none", errNoCertificate, key)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("%w: ca.crt of %s: %w", errNoCertificate, key, err)
		}
	}
	if !isChain || !isPrivate {
		if len(authority) == 0 {
			return nil, fmt.Errorf("%w: %s has no key pair", errNoCertificate, key)
		}
		return &certificate{authority: authority}, nil
	}
	pair, err := tls.X509KeyPair(chain, private)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errNoCertificate, key, err)
	}
	leaf := pair.Leaf
	return &certificate{leaf: leaf, names: append([]string{leaf.Subject.CommonName}, leaf.DNSNames...),
		pair: bytes.Join([][]byte{chain, private}, []byte("\n")), authority: authority}, nil
}

// covers reports whether a certificate names a host, as ssl.IsValidHostname of net/ssl/ssl.go does.
func (c *certificate) covers(host string) bool {
	_, rest, _ := strings.Cut(host, ".")
	wildcard := "*"
	if strings.Contains(host, ".") {
		wildcard += "." + rest
	}
	return slices.ContainsFunc(c.names, func(name string) bool {
		return strings.EqualFold(name, host) || strings.EqualFold(name, wildcard)
	})
}

// verifies reports whether a certificate may serve a host: by its alternative names, or by its common name
// where it has none (certificate.go of the controller).
func (c *certificate) verifies(host string) bool {
	if c.leaf.VerifyHostname(host) == nil {
		return true
	}
	names := c.leaf.DNSNames
	if len(names) == 0 {
		names = []string{c.leaf.Subject.CommonName}
	}
	return slices.ContainsFunc(names, func(name string) bool { return matches(strings.ToLower(name), strings.ToLower(host)) })
}

// matches compares label by label; the first of a pattern may be a star.
func matches(pattern, host string) bool {
	pattern, host = strings.TrimSuffix(pattern, "."), strings.TrimSuffix(host, ".")
	if pattern == "" || host == "" {
		return false
	}
	patterns, hosts := strings.Split(pattern, "."), strings.Split(host, ".")
	if len(patterns) != len(hosts) {
		return false
	}
	for i := range patterns {
		if patterns[i] != hosts[i] && (i > 0 || patterns[i] != "*") {
			return false
		}
	}
	return true
}

// endpoints are the addresses behind a port of a Service, which an Ingress names by number or name
// (controller.go, serviceEndpoints; endpointslices.go).
func (c *Cluster) endpoints(service *core.Service, port string) []string {
	if service.Spec.Type == core.ServiceTypeExternalName {
		return c.external(service, port)
	}
	for i := range service.Spec.Ports {
		p := &service.Spec.Ports[i]
		if strconv.Itoa(int(p.Port)) == port || p.TargetPort.String() == port || p.Name == port {
			return c.ready(service, p)
		}
	}
	return nil
}

func (c *Cluster) external(service *core.Service, port string) []string {
	if name := service.Spec.ExternalName; name == "localhost" || strings.HasPrefix(name, "127.") {
		return nil
	}
	for i := range service.Spec.Ports {
		if p := &service.Spec.Ports[i]; p.Name == port || strconv.Itoa(int(p.Port)) == port {
			return []string{service.Spec.ExternalName + ":" + p.TargetPort.String()}
		}
	}
	return []string{service.Spec.ExternalName + ":" + port}
}

func (c *Cluster) ready(service *core.Service, port *core.ServicePort) []string {
	var found []string
	for i := range c.Slices {
		slice := &c.Slices[i]
		if slice.Namespace != service.Namespace || slice.Labels[discovery.LabelServiceName] != service.Name {
			continue
		}
		for _, number := range slicePorts(slice, port) {
			for _, endpoint := range slice.Endpoints {
				if ready := endpoint.Conditions.Ready; ready != nil && !*ready {
					continue
				}
				for _, address := range endpoint.Addresses {
					if pod := address + ":" + strconv.Itoa(number); !slices.Contains(found, pod) {
						found = append(found, pod)
					}
				}
			}
		}
	}
	return found
}

func slicePorts(slice *discovery.EndpointSlice, port *core.ServicePort) []int {
	if len(slice.Ports) == 0 {
		if number := port.TargetPort.IntValue(); number > 0 {
			return []int{number}
		}
		return nil
	}
	var found []int
	for _, p := range slice.Ports {
		if p.Port == nil || p.Protocol != nil && *p.Protocol != core.ProtocolTCP {
			continue
		}
		switch {
		case port.Name == "" || p.Name != nil && *p.Name == port.Name:
			found = append(found, int(*p.Port))
		case port.TargetPort.IntValue() > 0:
			found = append(found, port.TargetPort.IntValue())
		}
	}
	return found
}
