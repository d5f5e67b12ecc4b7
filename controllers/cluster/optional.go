package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// This file has the kinds that a cluster may lack: another controller installs them, maybe while the
// operator runs.

// These are kinds of the AWS Load Balancer Controller.
const (
	KindIngressClassParams = alb.ParamsKind
	KindTargetGroupBinding = alb.BindingKind
)

// optionalKinds are all of them, of alb.ParamsVersion.
var optionalKinds = map[string]client.Object{
	KindIngressClassParams: &alb.IngressClassParams{},
	KindTargetGroupBinding: &alb.TargetGroupBinding{},
}

// isAbsent reports whether an API server does not serve a kind, by the error of looking for it or of
// listing it.
func isAbsent(kind string, err error) bool {
	return optionalKinds[kind] != nil && (meta.IsNoMatchError(err) || apierrors.IsNotFound(err))
}

// Optional knows which of these kinds the API server serves, and looks for the others. If it is nil,
// all are taken to be served.
type Optional struct {
	mapper meta.RESTMapper
	caches informers
	logger logr.Logger
	served map[string]chan struct{} // by kind; closed once the API server serves it
}

// NewOptional asks the API server for each kind.
func NewOptional(ctx context.Context, mapper meta.RESTMapper, caches informers,
	logger logr.Logger) (*Optional, error) {
	o := &Optional{mapper: mapper, caches: caches, logger: logger, served: map[string]chan struct{}{}}
	for kind := range optionalKinds {
		o.served[kind] = make(chan struct{})
	}
	for kind := range optionalKinds {
		if err := o.look(ctx, kind); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Served returns a channel that is closed once the API server serves a kind; nil if it is taken to be
// served.
func (o *Optional) Served(kind string) <-chan struct{} {
	if o == nil {
		return nil
	}
	return o.served[kind]
}

// Has reports whether the API server serves a kind.
func (o *Optional) Has(kind string) bool {
	if o == nil {
		return true
	}
	select {
	case <-o.served[kind]:
		return true
	default:
		return false
	}
}

// look asks for a kind. If it is served, its cache begins to be filled.
func (o *Optional) look(ctx context.Context, kind string) error {
	_, err := o.mapper.RESTMapping(alb.ParamsVersion.WithKind(kind).GroupKind(), alb.ParamsVersion.Version)
	if isAbsent(kind, err) {
		return nil
	}
	if err == nil {
		_, err = o.caches.GetInformer(ctx, optionalKinds[kind], cache.BlockUntilSynced(false))
	}
	if err != nil {
		return fmt.Errorf("looking for the kind %s: %w", kind, err)
	}
	close(o.served[kind])
	return nil
}

// lookEvery is the time between two questions for a kind that the API server does not serve.
const lookEvery = 10 * time.Second

// Start looks for kinds until all are served.
func (o *Optional) Start(ctx context.Context) error {
	for missing := true; missing; {
		missing = false
		for kind := range optionalKinds {
			if o.Has(kind) {
				continue
			}
			if err := o.look(ctx, kind); err == nil && o.Has(kind) {
				o.logger.Info("the cluster has a kind that it did not have before; it is read from now on",
					"kind", kind)
			}
			missing = missing || !o.Has(kind)
		}
		if missing {
			select {
			case <-time.After(lookEvery):
			case <-ctx.Done():
				return nil
			}
		}
	}
	return nil
}

// NeedLeaderElection reports that the other replicas fill their caches, too.
func (o *Optional) NeedLeaderElection() bool { return false }
