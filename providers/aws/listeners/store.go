// Package listeners creates, changes and deletes listeners and rules, and reads them back.
//
// It decides when a resource that no listener or rule uses any more can be deleted: AWS goes on using it for a while.
package listeners

import (
	"context"
	"sync"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/account"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
)

// A Store creates, changes, deletes and reads listeners and rules.
type Store struct {
	client.API
	firewalls  *network.Firewalls
	groups     groupFinder
	conditions *account.ConditionSupport
	releases   *Releases

	fresh client.Gates // of new listeners
	full  sync.Map     // ARNs of listeners whose list has no room for the default certificate
	// listings has a listing for an ARN of a listener with its default certificate.
	listings sync.Map
}

// New returns a Store without state.
func New(
	api client.API, f *network.Firewalls, groups groupFinder, conditions *account.ConditionSupport,
	r *Releases,
) *Store {
	return &Store{API: api, firewalls: f, groups: groups, conditions: conditions, releases: r}
}

// A groupFinder finds target groups of actions.
type groupFinder interface {
	ARNFinder(ctx context.Context, key lb.Key) client.ARNs
	IDOf(key lb.Key, arn string) lb.GroupID
}
