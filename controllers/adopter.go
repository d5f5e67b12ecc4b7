package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/providers"
)

// An Adopter takes over the load balancers of classes with adoption, as `fairlead adopt --yes --all` does without a
// consent, and finishes that once they were kept for long enough. It runs while this replica is the leader.
//
// It reads caches once a minute, and after changes that people or GitOps make. While something is left to do, it reads
// records of adoptions and, unless it waits for people alone, whether the other controller runs. The cloud is read if that
// does not, and with nothing new rarely. With nothing left to do, nothing but caches is read, and rarely the records.
type Adopter struct {
	*gather.Gatherer
	Cloud  providers.Provider
	Kube   client.Client // the API server itself
	Events *events.Recorder
	// Informers say what changes in the cluster.
	Informers cache.Informers
	// ReadOnly: it only says what it would do.
	ReadOnly bool

	before string // what the last pass saw in the cluster
	next   time.Time
	clears time.Time // when is looked next at what is left of load balancers that were given back
	asked  askedCloud
	said   map[string]bool // by class and text
	// waiting are those whose tags can be changed as soon as nothing asks the other controller for them, in this pass.
	waiting map[lb.Key]bool
}

// An askedCloud is what a pass found in the cloud.
type askedCloud struct {
	lines lines
	next  time.Time
	wait  time.Duration
}

// often is how often is looked while something is left to do, and rarely if nothing is, or nothing has changed.
const (
	often  = time.Minute
	rarely = 10 * time.Minute
)

// These are said of load balancers whose tags can be changed as soon as nothing asks the other controller for them. It
// deletes those of Ingresses that have its finalizer and no longer its class.
const (
	waitsForClass = "the Ingresses still have a class of the AWS Load Balancer Controller: replace their IngressClass, whose " +
		"controller cannot be changed, or change their ingressClassName"
	waitsForName = "the Ingresses still have a class of the AWS Load Balancer Controller: change their ingressClassName. Do not " +
		"replace the IngressClass yet: the controller, once started, would delete the load balancers of its other Ingresses, " +
		"which are not prepared"
	waitsForAnnotation = "the Ingresses still have a class of the AWS Load Balancer Controller, by the annotation " +
		"kubernetes.io/ingress.class: remove it, and set ingressClassName to a class of Fairlead"
)

// staysReleased is said of load balancers that people gave back.
const staysReleased = "it was given back, and is left alone: fairlead adopt --yes takes it over again"

// A sight is a load balancer of a class with adoption, as caches have it.
type sight struct {
	ingress.Snapshot
	theirs    bool // its IngressClass is still of the other controller
	finalizer bool // of the other controller, on some Ingress
	served    bool // by Fairlead
	chosen    bool // to be taken over without a command
}

// lines are what is to be said of load balancers, by class and text.
type lines map[string]map[string]*line

type line struct {
	severity diag.Severity
	keys     []lb.Key
}

func (l lines) add(severity diag.Severity, key lb.Key, text string) {
	class := key.Class()
	if l[class] == nil {
		l[class] = map[string]*line{}
	}
	if l[class][text] == nil {
		l[class][text] = &line{severity: severity}
	}
	l[class][text].keys = append(l[class][text].keys, key)
}

// Start makes passes until the context ends.
func (a *Adopter) Start(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	go a.watch(ctx, wake)
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		if err := a.Pass(ctx, time.Now()); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "taking load balancers over")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-wake:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(gathered):
			}
		}
	}
}

// Pass makes one pass.
func (a *Adopter) Pass(ctx context.Context, now time.Time) error {
	o, options, err := a.Adoptable(ctx)
	if err != nil || len(o.IngressClasses) == 0 {
		return err
	}
	if err := a.Records.Ready(ctx); err != nil {
		return err
	}
	sights := a.sights(o, options)
	bound, err := a.bound(ctx)
	if err != nil {
		return err
	}
	seen := fmt.Sprint(describe(sights), bound)
	if seen == a.before && now.Before(a.next) {
		return nil
	}
	if seen != a.before {
		a.asked.next = time.Time{}
	}
	taker, err := a.taker(now)
	if err != nil {
		return err
	}
	known, err := taker.Records.List(ctx)
	if err != nil {
		return err
	}
	say := lines{}
	a.waiting = map[lb.Key]bool{}
	work, open, left := a.sort(sights, known, bound, say)
	if len(work) > 0 {
		if err := a.work(ctx, taker, o, options, work, open, say, now); err != nil {
			return err
		}
	}
	a.sayWaiting(sights, say)
	for _, r := range known {
		asked := slices.ContainsFunc(sights, func(s sight) bool { return s.Key == r.Key || adopt.IsOfKey(r.Stack, s.Key) })
		if !asked && r.Unowned() {
			say.add(diag.Warning, r.Key, adoption.NotAsked(r))
		}
	}
	a.finish(ctx, taker, o, options, known, say, now)
	a.clear(ctx, taker, known, say, now)
	a.before, a.next = seen, now.Add(rarely)
	if left > 0 {
		a.next = now.Add(often - often/10) // the next tick
	}
	return a.tell(ctx, o, say)
}

// sights returns the load balancers of classes with adoption, as caches have them.
func (a *Adopter) sights(o ingress.Objects, options ingress.ClassOptions) (out []sight) {
	snapshots, _ := ingress.Place(o, options)
	for _, s := range snapshots {
		if s.Class.Adoption == nil {
			continue
		}
		one := sight{Snapshot: s, theirs: o.Dialects[s.Key.Class()] != ""}
		one.finalizer = slices.ContainsFunc(s.Ingresses, adoption.HasFinalizer)
		only := s.Class.Adoption.Only
		one.chosen = len(only) == 0 || slices.ContainsFunc(only, func(stack string) bool { return adopt.IsOfKey(stack, s.Key) })
		one.served = meta.IsStatusConditionTrue(a.Records.Get(s.Key).Conditions, v1alpha1.ConditionProgrammed)
		out = append(out, one)
	}
	return out
}

// bound returns the stacks of the other controller that have bindings, which it made.
func (a *Adopter) bound(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	if !a.Optional.Has(cluster.KindTargetGroupBinding) {
		return out, nil
	}
	var list alb.TargetGroupBindingList
	if err := a.Cache.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing TargetGroupBindings: %w", err)
	}
	for _, b := range list.Items {
		if stack := adoption.StackOf(b.Labels); stack != "" {
			out[stack] = true
		}
	}
	return out, nil
}

// wasReleased reports whether a record is about this load balancer, and says that it was given back: also if its Ingresses had
// another class while it was taken over.
func (s sight) wasReleased(r adoption.Record) bool {
	return r.State == adoption.Released && r.Cluster == s.Class.Adoption.ClusterName && adopt.IsOfKey(r.Stack, s.Key)
}

// describe returns what of some load balancers makes a pass do something.
func describe(all []sight) (out []string) {
	for _, s := range all {
		var members []string
		for _, ing := range s.Ingresses {
			members = append(members, fmt.Sprintf("%s/%s %d", ing.Namespace, ing.Name, ing.Generation))
		}
		slices.Sort(members)
		out = append(out, fmt.Sprint(s.Key, members, s.theirs, s.finalizer, s.served, s.chosen))
	}
	return out
}

func (a *Adopter) taker(now time.Time) (*adoption.Taker, error) {
	cloud, can := providers.AdopterOf(a.Cloud, "")
	if !can {
		return nil, fmt.Errorf("the provider cannot take load balancers over, and classes have adoption")
	}
	taker := adoption.NewTaker(a.Kube, cloud, a.Adoptions)
	taker.Now = func() time.Time { return now }
	return taker, nil
}

// sort returns the load balancers for which something can be done, those that are not taken over yet, and how many are
// left to be. It says which wait for another class.
func (a *Adopter) sort(all []sight, known []adoption.Record, bound map[string]bool, say lines) (work, open map[lb.Key]bool, left int) {
	states, again := map[lb.Key]adoption.State{}, map[lb.Key]bool{}
	for _, r := range known {
		states[r.Key], again[r.Key] = r.State, bound[r.Stack]
	}
	work, open = map[lb.Key]bool{}, map[lb.Key]bool{}
	for _, s := range all {
		state := states[s.Key]
		if state == "" && s.theirs && slices.ContainsFunc(known, s.wasReleased) {
			state = adoption.Released
		}
		switch {
		case state == adoption.Taken && (s.finalizer || again[s.Key]) && !s.theirs: // they were put back
			work[s.Key], open[s.Key] = true, true
		case state == adoption.Taken, (state == "" || state == adoption.Released) && s.served && !s.theirs:
			continue
		case state == adoption.Released && s.theirs:
			say.add(diag.Info, s.Key, staysReleased)
			continue
		case (state == "" || state == adoption.Released) && !s.chosen:
			continue
		case state == adoption.Releasing || state == adoption.Returned: // the command gives it back, and goes on with that
		case state == adoption.Prepared && s.theirs && !s.finalizer:
			open[s.Key], a.waiting[s.Key] = true, true
		default:
			work[s.Key], open[s.Key] = true, true
		}
		left++
	}
	return work, open, left
}

// sayWaiting says what the user has to do to load balancers that wait for that.
func (a *Adopter) sayWaiting(all []sight, say lines) {
	endangered, annotated := map[string]bool{}, map[lb.Key]bool{} // the first by class
	for _, s := range all {
		annotated[s.Key] = slices.ContainsFunc(s.Ingresses, adoption.ClassByAnnotation)
		if s.finalizer && !a.waiting[s.Key] {
			endangered[s.Key.Class()] = true
		}
	}
	for key := range a.waiting {
		switch {
		case annotated[key]:
			say.add(diag.Info, key, waitsForAnnotation)
		case endangered[key.Class()]:
			say.add(diag.Info, key, waitsForName)
		default:
			say.add(diag.Info, key, waitsForClass)
		}
	}
}

// work takes load balancers over, as far as that is possible now.
func (a *Adopter) work(ctx context.Context, taker *adoption.Taker, o ingress.Objects, options ingress.ClassOptions,
	work, open map[lb.Key]bool, say lines, now time.Time) error {
	way, err := adoption.Runs(ctx, a.Kube, now)
	if err == nil && len(way) == 0 {
		way, err = adoption.Refused(ctx, a.Kube)
	}
	if err != nil {
		way = []string{a.explain(err)}
	}
	if len(way) > 0 {
		for key := range work {
			for _, text := range way {
				say.add(diag.Warning, key, text)
			}
		}
		return nil
	}
	if now.Before(a.asked.next) {
		say.join(a.asked.lines)
		return nil
	}
	found := lines{}
	if err := a.take(ctx, taker, o, options, work, open, found); err != nil {
		return err
	}
	if fmt.Sprint(found.texts()) != fmt.Sprint(a.asked.lines.texts()) {
		a.asked.wait = 0
	}
	a.asked.lines, a.asked.wait = found, min(max(2*a.asked.wait, often), rarely)
	a.asked.next = now.Add(a.asked.wait - often/10)
	say.join(found)
	return nil
}

// take reads the cloud, and takes load balancers over.
func (a *Adopter) take(ctx context.Context, taker *adoption.Taker, o ingress.Objects, options ingress.ClassOptions,
	work, open map[lb.Key]bool, say lines) error {
	nodes, clusters := false, map[string]bool{}
	if err := a.AddNamed(ctx, &o); err != nil {
		return err
	}
	chosen := func(s ingress.Snapshot) bool { return open[s.Key] }
	snapshots, _ := ingress.Place(o, options)
	of := map[lb.Key]string{}
	for _, s := range snapshots {
		if chosen(s) {
			nodes = nodes || s.NeedsNodes()
			of[s.Key] = s.Class.Adoption.ClusterName
			clusters[of[s.Key]] = true
		}
	}
	if nodes {
		var err error
		if o.Nodes, err = cluster.NodesIn(ctx, a.Cache); err != nil {
			return err
		}
	}
	found, err := adoption.Others(ctx, a.Cloud)
	if err != nil {
		return err
	}
	wanted, err := adoption.WantedOf(ctx, a.Cloud, o, options, chosen)
	if err != nil {
		return err
	}
	members := map[lb.Key][]string{}
	for _, w := range wanted {
		members[w.LoadBalancer.Key] = w.Members
	}
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		mine := slices.DeleteFunc(adoption.Plain(wanted), func(w adopt.Wanted) bool { return of[w.LoadBalancer.Key] != name })
		for _, p := range adopt.Pairs(found, mine, name) {
			switch {
			case p.Wanted != nil && p.Found != nil && work[p.Wanted.LoadBalancer.Key]:
				a.takeOne(ctx, taker, p, members[p.Wanted.LoadBalancer.Key], say)
			case p.Wanted == nil && p.Found != nil && adopt.ClusterOf(p.Found) == name && p.Why != noIngress:
				for _, key := range slices.Sorted(maps.Keys(work)) {
					if strings.Contains(p.Why, string(key)) {
						say.add(diag.Warning, key, fmt.Sprintf("%s is not taken over: %s", p.Found.Name, p.Why))
					}
				}
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// noIngress is what Pairs says of load balancers that are not asked for.
const noIngress = "no Ingress asks for it"

// takeOne takes one load balancer over, as far as that is possible now.
func (a *Adopter) takeOne(ctx context.Context, taker *adoption.Taker, p adopt.Pair, members []string, say lines) {
	key, name := p.Wanted.LoadBalancer.Key, p.Found.Name
	var out adoption.Outcome
	var err error
	if a.ReadOnly {
		out, err = taker.Preview(ctx, p.Found.Handle, *p.Wanted, members, requests.OfCommand)
	} else {
		out, err = taker.TakeFound(ctx, p.Found.Handle, *p.Wanted, members, false, requests.OfCommand)
	}
	switch {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		log.FromContext(ctx).V(1).Info("another writer is at work on a load balancer", "loadBalancer", key, "problem", err.Error())
		return
	case err != nil:
		say.add(diag.Warning, key, a.explain(err))
		return
	}
	for _, text := range out.Obstacles {
		say.add(diag.Warning, key, name+" is not taken over: "+text)
	}
	if len(out.Obstacles) == 0 && len(out.Switch) > 0 {
		a.waiting[key] = true
	}
	switch {
	case a.ReadOnly && len(out.Obstacles) == 0:
		say.add(diag.Info, key, name+" would be taken over (--read-only)")
	case out.Done():
		say.add(diag.Info, key, name+" is taken over")
	}
}

// explain says what to do about an error.
func (a *Adopter) explain(err error) string {
	if apierrors.IsForbidden(err) {
		return "the operator lacks rights in the cluster to take load balancers over: add the component config/rbac/adoption, " +
			"adoption.enabled in the chart, or use fairlead adopt: " + err.Error()
	}
	return err.Error()
}

// finish finishes the takeovers that are old enough.
func (a *Adopter) finish(ctx context.Context, taker *adoption.Taker, o ingress.Objects, options ingress.ClassOptions,
	known []adoption.Record, say lines, now time.Time) {
	classes, _ := ingress.NewClassLookup(o, options)
	for _, r := range known {
		class := classes.Named(r.Key.Class())
		if r.State != adoption.Taken || class == nil || r.Since.IsZero() {
			continue
		}
		keep, adopts := class.KeepOld()
		if !adopts || now.Before(r.Since.Add(keep)) {
			continue
		}
		if a.ReadOnly {
			say.add(diag.Info, r.Key, fmt.Sprintf("what giving %s back would need would be deleted (--read-only)", r.Name))
			continue
		}
		if err := finishOne(ctx, taker, r); err != nil {
			say.add(diag.Warning, r.Key, fmt.Sprintf("finishing the takeover of %s: %s", r.Name, a.explain(err)))
			continue
		}
		say.add(diag.Info, r.Key, r.Name+" can no longer be given back: adoption.keepOld has passed")
	}
}

// clear deletes what load balancers that were given back have left, once the other controller has taken it away from them.
func (a *Adopter) clear(ctx context.Context, taker *adoption.Taker, known []adoption.Record, say lines, now time.Time) {
	if a.ReadOnly || now.Before(a.clears) {
		return
	}
	for i := range known {
		r := &known[i]
		if r.State != adoption.Released || r.Left == "" {
			continue
		}
		a.clears = now.Add(rarely)
		found, err := taker.Cloud.Found(ctx, r.Handle)
		if err == nil {
			err = taker.Clear(ctx, found, r)
		}
		if err != nil {
			say.add(diag.Warning, r.Key, fmt.Sprintf("deleting security group %s, which %s had left: %s", r.Left, r.Name, a.explain(err)))
		}
	}
}

func finishOne(ctx context.Context, taker *adoption.Taker, r adoption.Record) error {
	found, err := taker.Cloud.Found(ctx, r.Handle)
	if err != nil {
		return err
	}
	if found == nil {
		return taker.Records.Delete(ctx, r) // it was deleted since
	}
	_, err = taker.Finish(ctx, found, r)
	return err
}

// tell says what was not said in the last pass, on the class and in the log.
func (a *Adopter) tell(ctx context.Context, o ingress.Objects, say lines) error {
	said := map[string]bool{}
	for name, texts := range say {
		for text, l := range texts {
			text = withKeys(text, l.keys)
			at := name + " " + withoutRequest(text)
			if said[at] = true; a.said[at] {
				continue
			}
			log.FromContext(ctx).Info("taking load balancers over", "ingressClass", name, "what", text)
			kind, class := parametersOf(o, name)
			if a.ReadOnly || class == nil {
				continue
			}
			if err := a.Events.Send(ctx, events.OfClass(kind, class, l.severity, text)); err != nil {
				return err
			}
		}
	}
	a.said = said
	return nil
}

// withKeys adds which load balancers a text is about.
func withKeys(text string, keys []lb.Key) string {
	const most = 3
	slices.Sort(keys)
	names := make([]string, 0, most)
	for _, key := range keys[:min(most, len(keys))] {
		names = append(names, string(key))
	}
	more := ""
	if n := len(keys) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return printable.Line(text + " (" + strings.Join(names, ", ") + more + ")")
}

// withoutRequest leaves out the number of a request, which is another one each time.
func withoutRequest(text string) string {
	before, rest, found := strings.Cut(text, " (request ")
	if !found {
		return text
	}
	_, after, _ := strings.Cut(rest, ")")
	return before + withoutRequest(after)
}

// parametersOf returns the class that has adoption, of an IngressClass.
func parametersOf(o ingress.Objects, name string) (kind string, class client.Object) {
	for _, c := range o.IngressClasses {
		if c.Name != name {
			continue
		}
		for _, ref := range cluster.ParametersRefs(c) {
			for _, p := range o.ClusterLoadBalancerClasses {
				if cluster.RefOf(v1alpha1.KindClusterLoadBalancerClass, p) == ref {
					return v1alpha1.KindClusterLoadBalancerClass, p
				}
			}
			for _, p := range o.LoadBalancerClasses {
				if cluster.RefOf(v1alpha1.KindLoadBalancerClass, p) == ref {
					return v1alpha1.KindLoadBalancerClass, p
				}
			}
		}
	}
	return "", nil
}

// join adds other lines.
func (l lines) join(other lines) {
	for _, texts := range other {
		for text, one := range texts {
			for _, key := range one.keys {
				l.add(one.severity, key, text)
			}
		}
	}
}

// texts returns what is said, without the numbers of requests.
func (l lines) texts() (out []string) {
	for class, texts := range l {
		for text, one := range texts {
			out = append(out, class+" "+withoutRequest(text)+" "+fmt.Sprint(len(one.keys)))
		}
	}
	slices.Sort(out)
	return out
}
