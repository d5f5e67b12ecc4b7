// Package adoption takes load balancers over from the AWS Load Balancer Controller where they are, and gives them back.
//
// It hides the order in which that is done. In each state between, at most one controller owns each resource, and the other
// one, started by accident, changes nothing that is not its own:
//
//	state       Ingresses' class   their finalizers, bindings   tags of resources     the controller, if started
//	-----------------------------------------------------------------------------------------------------------------------
//	(none)      its own            there                        its own               works as ever
//	Recorded    its own            some are removed             its own               makes them again
//	Recorded    its own            none                         some are no one's     fails: the names are taken
//	Prepared    its own            none                         no one's              fails: the names are taken
//	Prepared    Fairlead's         none                         no one's, then        sees no Ingress of its own
//	                                                            Fairlead's
//	Taken       Fairlead's         none                         Fairlead's            sees no Ingress of its own
//	Taken       its own, put back  come back                    Fairlead's            fails: the names are taken
//	Releasing   Fairlead's         none                         Fairlead's, then      sees no Ingress of its own
//	                                                            its own
//	Returned    Fairlead's         none                         its own               sees no Ingress of its own
//	Returned    its own            come back                    its own               works as ever
//	Released    its own            there                        its own               works as ever
//
// A controller that fails adds its finalizers to the Ingresses, and no more. Another order would do harm: an Ingress with its
// finalizer, a class that is not its own and resources with its tags is one that leaves, and it deletes the load balancer
// (its pkg/ingress/group_loader.go and controllers/ingress/group_controller.go). So its tags go before the class does, and
// Fairlead's come after, since the operator deletes what has its tags and no Ingress.
package adoption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/providers"
)

// A State is how far a takeover or a return has come.
type State string

// The states; see the table above.
const (
	Recorded  State = "Recorded"
	Prepared  State = "Prepared"
	Taken     State = "Taken"
	Releasing State = "Releasing"
	Returned  State = "Returned"
	Released  State = "Released" // nothing else is left of the record
)

// A Record is what has to be restored of one load balancer, besides the tags, which its resources keep.
type Record struct {
	// Cluster is the name that the other controller has for the cluster, and Stack the group or the Ingress in its tags.
	Cluster, Stack string
	Key            lb.Key
	Handle, Name   string // of the load balancer in the cloud
	State          State
	Since          time.Time // when that state was reached
	Finishing      bool      // deleting what giving it back would need has begun
	Left           string    // what stays of Fairlead until the controller takes it away, once it is given back
	// Finalizers has the finalizers of the controller, by Ingress (namespace/name).
	Finalizers map[string][]string
	// Bindings are the TargetGroupBindings that the controller made, without what the API server writes.
	Bindings []unstructured.Unstructured
	// Classes are the IngressClasses of the controller that the Ingresses had.
	Classes []networkingv1.IngressClass
}

// ByHand reports whether no controller made the load balancer of a record.
func (r Record) ByHand() bool { return r.Cluster == byHand }

// Records keeps records. Get returns nil if there is none. Acknowledged reports whether no operator changes the load balancer
// of a record that is being given back.
type Records interface {
	Get(ctx context.Context, cluster, stack string, key lb.Key) (*Record, error)
	Acknowledged(ctx context.Context, key lb.Key) (bool, error)
	List(ctx context.Context) ([]Record, error)
	Put(ctx context.Context, r Record) error
	Delete(ctx context.Context, r Record) error
}

// A Candidate is a load balancer that is to be taken over, as it is compared with the wanted one.
type Candidate struct {
	Found      *lb.Other // with its present tags
	Wanted     adopt.Wanted
	Members    []string // the Ingresses that ask for it, as namespace/name
	Comparison adopt.Comparison
	Accepted   bool // differences are
}

// Takeover says which parts of the load balancer become which wanted ones.
func (c Candidate) Takeover() lb.Takeover { return c.Comparison.Takeover(former(c.Found), c.Wanted) }

// stack returns what the tags of a load balancer say that it is for.
func stack(o *lb.Other) (cluster, stack string) {
	former := adopt.WithFormerTags(*o)
	if cluster = adopt.ClusterOf(&former); cluster == byHand {
		return byHand, o.Name
	}
	return cluster, adopt.Stack(&former)
}

// byHand is in place of a cluster for load balancers that no controller made, such as those of Terraform.
const byHand = ""

// An Outcome says how far it has come, and what is to be done before it goes on. If nothing is, it is done.
type Outcome struct {
	State State `json:"state"`
	// Obstacles are what keeps it from going on.
	Obstacles []string `json:"obstacles,omitempty"`
	// Switch has the Ingresses whose class is still, or not yet, one of the other controller.
	Switch []string `json:"switch,omitempty"`
	// Lost says what cannot be restored, and Changes what the other controller will change when it starts.
	Lost    []string `json:"lost,omitempty"`
	Changes []string `json:"changes,omitempty"`
	// Left says what stays of Fairlead until the controller has started.
	Left []string `json:"left,omitempty"`
}

// Done reports whether nothing is left to do.
func (o Outcome) Done() bool { return len(o.Obstacles)+len(o.Switch) == 0 }

// A Taker takes load balancers over, and gives them back. Each of its functions can be repeated after it ended anywhere.
type Taker struct {
	Kube    client.Client
	Cloud   providers.Adopter
	Records Records
	// InTheWay says what stands in the way in the cluster: that the controller runs, or its webhooks without it.
	InTheWay func(ctx context.Context) ([]string, error)
	// Patience is how long an operator is waited for that has to heed one.
	Patience time.Duration
	// ReadLag is how long after a write a part may be read as it was before.
	ReadLag time.Duration
	Now     func() time.Time
}

// Others returns the load balancers that the controller made, of any cluster, those included that are taken over. Their
// resources have their former tags.
func Others(ctx context.Context, cloud Asked) ([]lb.Other, error) {
	out := []lb.Other{}
	for _, tags := range []map[string]string{adopt.OfController(), adopt.FormerlyOfController()} {
		facts, err := cloud.Lookup(ctx, lb.Questions{Others: tags})
		if err != nil {
			return nil, err
		}
		if facts.Others == nil {
			return nil, ErrCannotSay
		}
		for _, o := range facts.Others {
			if !slices.ContainsFunc(out, func(known lb.Other) bool { return known.Handle == o.Handle }) {
				out = append(out, adopt.WithFormerTags(o))
			}
		}
	}
	return out, nil
}

// ErrCannotSay is the error of a provider that does not know what others made.
var ErrCannotSay = errors.New("the provider cannot say which load balancers others made")

// An Asked answers questions about the cloud.
type Asked interface {
	Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error)
}

// TakeFound reads a load balancer by its handle, compares it with the wanted one, and takes it over as far as that is
// possible now. members are the Ingresses that ask for it.
func (t *Taker) TakeFound(ctx context.Context, handle string, w adopt.Wanted, members []string, accepted bool,
	budget requests.Budget) (Outcome, error) {
	found, err := t.find(ctx, handle)
	if err != nil {
		return Outcome{}, err
	}
	r, err := t.recordOf(ctx, found, w.LoadBalancer.Key)
	if err != nil {
		return Outcome{}, err
	}
	if r.State == Released && t.Now().Before(r.Since.Add(t.ReadLag)) {
		if t.Patience == 0 {
			return Outcome{State: Released, Obstacles: []string{"it was given back a moment ago, and reads may still be older"}}, nil
		}
		if err := t.await(ctx, r.Since); err != nil {
			return Outcome{}, err
		}
		if found, err = t.find(ctx, handle); err != nil {
			return Outcome{}, err
		}
	}
	return t.Take(ctx, Candidate{Found: found, Wanted: w, Members: members, Accepted: accepted,
		Comparison: adopt.Compare(former(found), w, budget)})
}

// Preview says how far TakeFound would come, and changes nothing. Differences are obstacles.
func (t *Taker) Preview(ctx context.Context, handle string, w adopt.Wanted, members []string, budget requests.Budget) (Outcome, error) {
	found, err := t.find(ctx, handle)
	if err != nil {
		return Outcome{}, err
	}
	c := Candidate{Found: found, Wanted: w, Members: members, Comparison: adopt.Compare(former(found), w, budget)}
	r, err := t.recordOf(ctx, c.Found, c.Wanted.LoadBalancer.Key)
	if err != nil {
		return Outcome{}, err
	}
	r = r.unlessReleased(c.Found, c.Wanted.LoadBalancer.Key)
	out := Outcome{State: r.State}
	if out.Obstacles, err = t.obstacles(ctx, c, r); err == nil {
		out.Switch, err = t.ofController(ctx, members, true)
	}
	return out, err
}

// ReleaseFound reads a load balancer by its handle, and gives it back as far as that is possible now.
func (t *Taker) ReleaseFound(ctx context.Context, handle string, key lb.Key, members []string, accepted bool) (Outcome, error) {
	found, err := t.find(ctx, handle)
	if err != nil {
		return Outcome{}, err
	}
	return t.Release(ctx, found, key, members, accepted)
}

// find reads a load balancer with its present tags.
func (t *Taker) find(ctx context.Context, handle string) (*lb.Other, error) {
	found, err := t.Cloud.Found(ctx, handle)
	if err == nil && found == nil {
		err = fmt.Errorf("load balancer %s is gone", handle)
	}
	return found, err
}

// Take takes one load balancer over, as far as that is possible now. An operator and a command may do so at the same time.
func (t *Taker) Take(ctx context.Context, c Candidate) (out Outcome, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		out, err = t.take(ctx, c)
		return err
	})
	return out, err
}

func (t *Taker) take(ctx context.Context, c Candidate) (Outcome, error) {
	_, name := stack(c.Found)
	r, err := t.recordOf(ctx, c.Found, c.Wanted.LoadBalancer.Key)
	if err != nil {
		return Outcome{}, err
	}
	r = r.unlessReleased(c.Found, c.Wanted.LoadBalancer.Key)
	out := Outcome{State: r.State}
	if r.State == Taken && c.Found.Key == r.Key {
		out.Obstacles, err = t.tidy(ctx, r, c)
		return out, err
	}
	if out.Obstacles, err = t.obstacles(ctx, c, r); err != nil || len(out.Obstacles) > 0 {
		return out, err
	}
	if err := t.prepare(ctx, c, &r); err != nil {
		return out, fmt.Errorf("preparing %s: %w", name, err)
	}
	out.State = r.State
	if r.Cluster != byHand {
		if out.Switch, err = t.ofController(ctx, c.Members, true); err != nil || len(out.Switch) > 0 {
			return out, err
		}
	}
	if err := t.retag(ctx, c, r.Key, nil); err != nil {
		return out, fmt.Errorf("taking %s over: %w", name, err)
	}
	err = t.enter(ctx, &r, Taken)
	out.State = r.State
	return out, err
}

// retag makes the changes of tags of a takeover, or a part of each. The tags are read again: they have changed since.
func (t *Taker) retag(ctx context.Context, c Candidate, key lb.Key, part func(lb.TagChange) lb.TagChange) error {
	var err error
	if c.Found, err = t.find(ctx, c.Found.Handle); err != nil {
		return err
	}
	changes, err := t.Cloud.Claim(c.Found, c.Takeover())
	if err != nil {
		return err
	}
	for _, change := range merged(changes, part) {
		if err := t.Cloud.Retag(ctx, key, change); err != nil {
			return err
		}
	}
	return nil
}

// merged returns a part of changes, those that are equal as one.
func merged(changes []lb.TagChange, part func(lb.TagChange) lb.TagChange) (out []lb.TagChange) {
	if part == nil {
		return changes
	}
	for _, change := range changes {
		change = part(change)
		at := slices.IndexFunc(out, func(o lb.TagChange) bool {
			return maps.Equal(o.Add, change.Add) && slices.Equal(o.Remove, change.Remove)
		})
		switch {
		case len(change.Add)+len(change.Remove) == 0:
		case at < 0:
			out = append(out, change)
		default:
			out[at].Handles = append(slices.Clip(out[at].Handles), change.Handles...)
		}
	}
	return out
}

// disowning is the part of a change that takes the tags of the controller away.
func disowning(c lb.TagChange) lb.TagChange {
	add := maps.Clone(c.Add)
	maps.DeleteFunc(add, func(name, _ string) bool { return !strings.HasPrefix(name, adopt.Was) })
	return lb.TagChange{Handles: c.Handles, Add: add, Remove: c.Remove}
}

// tidy removes what was put back since the load balancer was taken over, as by GitOps or from a backup. The controller,
// started, would take an Ingress with its finalizer for one that leaves, and delete bindings with the registrations of their
// targets.
func (t *Taker) tidy(ctx context.Context, r Record, c Candidate) (obstacles []string, err error) {
	if r.Cluster == byHand {
		return nil, nil
	}
	their, err := t.read(ctx, r, c)
	if err != nil || len(their.finalizers)+len(their.bindings) == 0 {
		return nil, err
	}
	if way, err := t.InTheWay(ctx); err != nil || len(way) > 0 {
		return way, err
	}
	if err := t.removeBindings(ctx, their.bindings); err != nil {
		return nil, err
	}
	return nil, t.removeFinalizers(ctx, their.finalizers)
}

// former returns a load balancer with its former tags.
func former(o *lb.Other) *lb.Other {
	out := adopt.WithFormerTags(*o)
	return &out
}

// recordOf returns the record of a load balancer. Without one, it returns a new one, which has no state.
func (t *Taker) recordOf(ctx context.Context, found *lb.Other, key lb.Key) (Record, error) {
	cluster, name := stack(found)
	known, err := t.Records.Get(ctx, cluster, name, key)
	if err != nil {
		return Record{}, err
	}
	if known != nil {
		return *known, nil
	}
	return newRecord(cluster, name, found, key), nil
}

// unlessReleased returns a record, but a new one of a load balancer that was given back.
func (r Record) unlessReleased(found *lb.Other, key lb.Key) Record {
	if r.State == Released {
		return newRecord(r.Cluster, r.Stack, found, key)
	}
	return r
}

func newRecord(cluster, stack string, found *lb.Other, key lb.Key) Record {
	return Record{Cluster: cluster, Stack: stack, Key: key, Handle: found.Handle, Name: found.Name, Finalizers: map[string][]string{}}
}

// obstacles returns what keeps a candidate from being taken over.
func (t *Taker) obstacles(ctx context.Context, c Candidate, r Record) ([]string, error) {
	out := c.Comparison.Obstacles(former(c.Found), c.Wanted)
	if c.Comparison.NeedsConsent() && !c.Accepted {
		out = append(out, fmt.Sprintf("%s: without --yes, adopt prints all; --accept %s consents", c.Comparison.Consent(),
			c.Wanted.LoadBalancer.Key))
	}
	if r.State == Releasing || r.State == Returned {
		out = append(out, "it is being given back, and that was not finished: fairlead release --yes finishes it")
	}
	if r.Key != c.Wanted.LoadBalancer.Key && r.State != Recorded && r.State != Prepared {
		out = append(out, fmt.Sprintf("it was taken over as %s: give the Ingresses the class that they had then", r.Key))
	}
	if r.Handle != c.Found.Handle {
		out = append(out, fmt.Sprintf("the record of %s is about %s: delete that record if that load balancer is gone", r.Stack, r.Handle))
	}
	if _, err := t.Cloud.Claim(c.Found, c.Takeover()); err != nil { // before anything is written
		out = append(out, err.Error())
	}
	if r.Cluster == byHand {
		return out, nil
	}
	way, err := t.InTheWay(ctx)
	return append(out, way...), err
}

// prepare records what the controller has made in the cluster, and removes it, and then the tags by which the controller
// finds its resources.
func (t *Taker) prepare(ctx context.Context, c Candidate, r *Record) error {
	if r.State == Taken {
		return nil
	}
	moved := r.Key != c.Wanted.LoadBalancer.Key // the Ingresses have got another class since
	r.Key = c.Wanted.LoadBalancer.Key
	their, err := t.read(ctx, *r, c)
	if err != nil {
		return err
	}
	if r.State == Prepared && len(their.finalizers)+len(their.bindings) == 0 && !moved {
		return nil
	}
	maps.Copy(r.Finalizers, their.finalizers)
	for _, b := range their.bindings {
		r.keep(b)
	}
	for _, class := range their.classes {
		if !slices.ContainsFunc(r.Classes, func(known networkingv1.IngressClass) bool { return known.Name == class.Name }) {
			r.Classes = append(r.Classes, class)
		}
	}
	if err := t.enter(ctx, r, Recorded); err != nil {
		return err
	}
	// The rules that let the load balancer connect to its targets are those of all bindings that are left.
	if err := t.Cloud.Admit(ctx, c.Found, c.Takeover()); err != nil {
		return fmt.Errorf("letting the load balancer connect to its targets: %w", err)
	}
	if err := t.removeBindings(ctx, their.bindings); err != nil {
		return err
	}
	if err := t.removeFinalizers(ctx, their.finalizers); err != nil {
		return err
	}
	if err := t.retag(ctx, c, r.Key, disowning); err != nil {
		return err
	}
	return t.enter(ctx, r, Prepared)
}

// keep adds a binding to a record, in place of an earlier version of it.
func (r *Record) keep(b unstructured.Unstructured) {
	kept := asMade(b)
	at := slices.IndexFunc(r.Bindings, func(known unstructured.Unstructured) bool {
		return known.GetNamespace() == kept.GetNamespace() && known.GetName() == kept.GetName()
	})
	if at < 0 {
		r.Bindings = append(r.Bindings, kept)
		return
	}
	if len(kept.GetFinalizers()) == 0 { // its removal was begun
		kept.SetFinalizers(r.Bindings[at].GetFinalizers())
	}
	r.Bindings[at] = kept
}

// enter writes a record in a state.
func (t *Taker) enter(ctx context.Context, r *Record, s State) error {
	if r.State != s {
		r.State, r.Since = s, t.Now()
	}
	if err := t.Records.Put(ctx, *r); err != nil {
		return fmt.Errorf("writing the record of %s: %w", r.Stack, err)
	}
	return nil
}
