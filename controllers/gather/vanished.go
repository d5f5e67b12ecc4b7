package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
)

// This file finds Ingresses that have vanished: removed without the operator. An Ingress is removed
// from the record before it loses the finalizer. So if the record has a served Ingress that does
// not exist, its finalizer was removed by force, or the API server was restored.

// vanished returns the Ingresses of a load balancer that have vanished and are still served. The
// API server has confirmed for each of known whether it exists. An Ingress without an accepted
// version cannot be served: it counts as deleted, so that nothing waits for it.
func (g *Gatherer) vanished(ctx context.Context, key lb.Key, known map[string]*networkingv1.Ingress,
	now time.Time) (map[string]record.Vanishing, error) {
	if g.Grace <= 0 {
		return nil, nil
	}
	var gone []v1alpha1.MemberMemory
	lost := map[string]bool{} // namespaces
	for _, m := range g.Records.Get(key).Memory.Members {
		if !stillServed(m) || known[m.Ingress] != nil {
			continue
		}
		if g.isRecent(m, now) {
			lost[namespaceOf(m)] = true
		}
		if m.LastAccepted != nil {
			gone = append(gone, m)
		}
	}
	if gone == nil {
		return nil, nil
	}
	confirmed, err := g.VanishingConfirmed(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := g.addLosses(ctx, lost, now); err != nil {
		return nil, err
	}
	out := map[string]record.Vanishing{}
	for _, m := range gone {
		v := vanishing(m, confirmed, now)
		if v.Unconfirmed = v.Unconfirmed || len(lost) >= fewestOfRestore; v.Stays(g.Grace) {
			out[m.Ingress] = v
		}
	}
	return out, nil
}

// fewestOfRestore is the number of namespaces that have lost Ingresses if the API server may have been
// restored. A namespace can remove finalizers by force. With two, what another namespace does by
// force would keep what one loses itself.
const fewestOfRestore = 3

// isRecent reports whether a member that does not exist has vanished within the grace.
func (g *Gatherer) isRecent(m v1alpha1.MemberMemory, now time.Time) bool {
	return m.VanishedAt == nil || now.Sub(m.VanishedAt.Time) < g.Grace
}

func namespaceOf(m v1alpha1.MemberMemory) string {
	return cluster.RefFrom(cluster.KindIngress, m.Ingress).Namespace
}

// clockSkew is how far the clock of the person who confirms may be ahead.
const clockSkew = time.Minute

// VanishingConfirmed returns the time until which a person has confirmed the removal of Ingresses
// of a load balancer; zero for none.
func (g *Gatherer) VanishingConfirmed(ctx context.Context, key lb.Key) (time.Time, error) {
	report := records.Metadata()
	err := g.Cache.Get(ctx, client.ObjectKey{Name: v1alpha1.Name(string(key), g.Scope)}, report)
	if client.IgnoreNotFound(err) != nil {
		return time.Time{}, fmt.Errorf("reading the confirmation for %s: %w", key, err)
	}
	confirmed, malformed := time.Parse(time.RFC3339,
		report.Annotations[v1alpha1.ConfirmVanishedAnnotation])
	if malformed != nil || confirmed.After(time.Now().Add(clockSkew)) {
		confirmed = time.Time{}
	}
	return confirmed, nil
}

// stillServed reports whether a member is served and is not leaving the classes of Fairlead: the
// operator has to release it before it may go.
func stillServed(m v1alpha1.MemberMemory) bool { return m.Served && m.DepartedAt == nil }

// vanishing returns the facts of a record about a member that has vanished.
func vanishing(m v1alpha1.MemberMemory, confirmed, now time.Time) record.Vanishing {
	if m.VanishedAt == nil {
		return record.Vanishing{}
	}
	return record.Vanishing{
		For: max(0, now.Sub(m.VanishedAt.Time)), Unconfirmed: m.Unconfirmed,
		Confirmed: !m.VanishedAt.After(confirmed),
	}
}

// addLosses adds the namespaces that have lost Ingresses within the grace, of any load balancer. If
// the cache lacks Ingresses that exist, there are too many.
func (g *Gatherer) addLosses(ctx context.Context, lost map[string]bool, now time.Time) error {
	var list networkingv1.IngressList // must not be changed
	if err := g.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing Ingresses: %w", err)
	}
	there := make(map[string]bool, len(list.Items))
	for i := range list.Items {
		there[cluster.RefOf(cluster.KindIngress, &list.Items[i]).String()] = true
	}
	for _, r := range g.Records.All() {
		for _, m := range r.Memory.Members {
			if stillServed(m) && g.isRecent(m, now) && !there[m.Ingress] {
				lost[namespaceOf(m)] = true
			}
		}
	}
	return nil
}

// keepServing marks the vanished Ingresses for the compiler to serve, and unmarks the others of
// known.
func keepServing(vanished map[string]record.Vanishing, known map[string]*networkingv1.Ingress,
	records map[lb.Key]record.Record) {
	for _, recorded := range records {
		for name, m := range recorded.Members {
			if _, asked := known[name]; !asked {
				continue
			}
			m.Vanished = nil
			if v, gone := vanished[name]; gone {
				m.Vanished = &v
			}
			recorded.Members[name] = m
		}
	}
}

func namespacesOf(vanished map[string]record.Vanishing) []string {
	var out []string
	for name := range vanished {
		out = append(out, cluster.RefFrom(cluster.KindIngress, name).Namespace)
	}
	return out
}

// NoteVanished records when members vanished, and reports whether the record changed.
func (g *Snapshot) NoteVanished(next *records.Record) bool {
	news := false
	for i := range next.Memory.Members {
		m := &next.Memory.Members[i]
		v, gone := g.Vanished[m.Ingress]
		switch {
		case gone && m.VanishedAt == nil:
			at := metav1.NewTime(g.ReadAt).Rfc3339Copy()
			m.VanishedAt, m.Unconfirmed, news = &at, v.Unconfirmed, true
		case gone && m.Unconfirmed != v.Unconfirmed:
			m.Unconfirmed, news = v.Unconfirmed, true
		case !gone && m.VanishedAt != nil && g.Actual[m.Ingress] != nil:
			m.VanishedAt, m.Unconfirmed, news = nil, false, true
		}
	}
	return news
}

// Addressee returns the Ingress that a diagnostic is sent to; nil if there is none. A vanished
// Ingress gets only the diagnostic of its removal, and one that is to leave only that it waits.
func (g *Snapshot) Addressee(d diag.Diagnostic) *networkingv1.Ingress {
	name := d.Source.Object()
	if d.Reason == diag.ChangeWaits && g.Departed[name] != nil {
		return g.Departed[name]
	}
	if ing := g.Actual[name]; ing != nil || d.Reason != diag.Vanished {
		return ing
	}
	for _, m := range g.Members {
		if m.Owner.String() == name {
			return m.Ingress
		}
	}
	return nil
}

// VanishedMessage lists the vanished Ingresses, and describes how to confirm the removal; "" if
// none has vanished.
func (g *Snapshot) VanishedMessage() string {
	if len(g.Vanished) == 0 {
		return ""
	}
	const most = 5
	names := slices.Sorted(maps.Keys(g.Vanished))
	last, unconfirmed := time.Time{}, 0
	for _, name := range names {
		known := records.MemberOf(&g.Record, name)
		if known != nil && known.VanishedAt != nil && known.VanishedAt.After(last) {
			last = known.VanishedAt.Time
		}
		if g.Vanished[name].Unconfirmed {
			unconfirmed++
		}
	}
	count, more := len(names), ""
	if count > most {
		names, more = names[:most], ", …"
	}
	message := fmt.Sprintf("%d Ingresses were removed without the operator; their last accepted "+
		"versions are still served: %s%s", count, strings.Join(names, ", "), more)
	if unconfirmed == 0 {
		return message + "; their routes are deleted when the vanished grace is over"
	}
	return message + fmt.Sprintf("; to delete the routes of %d of them, set the annotation %s=%s",
		unconfirmed, v1alpha1.ConfirmVanishedAnnotation, last.UTC().Format(time.RFC3339))
}
