package gather

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
)

// A Gatherer reads from the cluster and the records.
type Gatherer struct {
	Cache   client.Reader // the objects that are watched
	Server  client.Reader // the API server itself, which may be ahead of the cache
	Secrets cluster.SecretReader
	// Expectations reads the expectations of classes.
	Expectations *expectations.Reader
	Certificates *cluster.CertificateCache
	Pods         cluster.PodReader
	Directory    *cluster.Dependencies
	Records      *records.Cache
	Adoptions    *records.AdoptionStore // nil if nothing is taken over
	Optional     *cluster.Optional
	Scope        string   // the namespace that the operator is limited to; "" for all
	Paused       []string // load balancers that a setting pauses, by key
	Options      ingress.ClassOptions
	// Unconfirmed reports whether the last plan of a load balancer has to be confirmed by a second
	// reading, from the API server.
	Unconfirmed func(lb.Key) bool
	// Grace is how long an Ingress that has vanished is still served.
	Grace time.Duration
}
