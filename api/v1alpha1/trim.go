package v1alpha1

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// This file keeps a LoadBalancer small enough to be stored. A count beside a list says how many
// entries were cut, and each member says whether its last accepted version was.

const (
	// MaxDiagnostics is how many diagnostics a report holds.
	MaxDiagnostics = 200
	// MaxSteps is how many steps of a plan it holds.
	MaxSteps = 50
	// MaxHosts is how many bytes the owners of hosts are given.
	MaxHosts = 256 << 10
	// MaxMembers is how many bytes the names of members are given that a report lists.
	MaxMembers = 64 << 10
	// MaxSize is how many bytes of JSON a status may be. An object in etcd can be 1.5 MiB; the rest
	// is for metadata, which has the writer of each field. The names of members in the memory are what
	// cannot be cut: they take 1 MiB at most, with all that may be noted beside them.
	MaxSize = 5 << 18
)

// Trim cuts the status to what can be stored in size bytes, and returns the Ingresses that lost
// their last accepted versions: until they are accepted again they have nothing to fall back to.
// First it cuts long lists. If that is not enough, last accepted versions are compressed. If that
// is not enough either, the namespace that takes the most bytes of the status loses one entry after
// another, in this order: diagnostics about it, the largest last
// accepted versions, what the cloud rejected (it is tried again then), owned hosts, certificates,
// and what members are leaving. So a namespace with much costs the others nothing, as long as it
// has something to lose. The names of members stay: the compiler bounds how many there are. It is
// an error if the status is too large all the same.
func (s *LoadBalancerStatus) Trim(size int) ([]string, error) {
	s.OmittedDiagnostics += cut(&s.Diagnostics, MaxDiagnostics)
	s.Memory.Hosts = boundHosts(s.Memory.Hosts, MaxHosts)
	s.Members = s.Members[:fitting(s.Members, MaxMembers)]
	if s.LastPlan != nil {
		s.LastPlan.OmittedSteps += cut(&s.LastPlan.Steps, MaxSteps)
	}
	var lost []string
	for {
		have, err := s.compressIfLarger(size)
		if err != nil || have <= size {
			return lost, err
		}
		t := &trimming{status: s, excess: have - size, by: map[string]*holder{}}
		if err := t.weigh(); err != nil {
			return lost, err
		}
		if !t.trim() {
			return lost, fmt.Errorf(
				"a status takes %d bytes with all left out that can be, and %d can be stored", have, size)
		}
		// How much room the version of one member takes is found out only by compressing the others
		// without it.
		lost = append(lost, t.lost...)
	}
}

// compressIfLarger compresses versions if the status takes more bytes than size otherwise, and
// returns how many it takes.
func (s *LoadBalancerStatus) compressIfLarger(size int) (have int, err error) {
	s.Memory.Versions = nil
	if have, err = measure(s); err != nil || have <= size {
		return have, err
	}
	if err := s.Memory.compress(); err != nil {
		return 0, err
	}
	stored := *s
	stored.Memory = s.Memory.Stored()
	return measure(&stored)
}

// measure returns how many bytes of JSON a value takes.
func measure(v any) (int, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("measuring a report: %w", err)
	}
	return len(text), nil
}

// fitting returns how many of some names take no more than so many bytes.
func fitting(names []string, size int) int {
	for i, name := range names {
		if size -= len(name) + len(`"",`); size < 0 {
			return i
		}
	}
	return len(names)
}

// A trimming cuts a status down.
type trimming struct {
	status *LoadBalancerStatus
	// versions is how many bytes of JSON the versions of each part are.
	versions map[string]int
	excess   int
	by       map[string]*holder
	lost     []string // the Ingresses that lost their versions

	// The entries that are left out, by their indices.
	diagnostics, hosts, certificates, steps map[int]bool
}

// A holder is a namespace, with how many bytes it takes and the entries that can be left out, by
// their rank. What is of no namespace has a holder with the name "".
type holder struct {
	namespace string
	size      int
	entries   []entry
}

// An entry is something of a status that can be left out.
type entry struct {
	rank
	size int // how many bytes fewer there are without it

	// Of the entries of one rank those with the most weight go first, of these the oldest, and of
	// these the first by name.
	weight int
	at     time.Time
	name   string

	drop func()
}

// A rank says when entries are left out: those with the lowest first.
type rank int

const (
	report rank = iota
	accepted
	rejection
	reserved
	owned
	certificate
	leaving
)

// weigh finds out how much each namespace takes, and what of that can be left out.
func (t *trimming) weigh() error {
	s := t.status
	t.diagnostics, t.hosts, t.certificates, t.steps = map[int]bool{}, map[int]bool{}, map[int]bool{},
		map[int]bool{}
	t.versions = map[string]int{}
	whole := make([]int, len(s.Memory.Members))
	for i, m := range s.Memory.Members {
		if m.LastAccepted != nil {
			size, err := measure(m.LastAccepted)
			if err != nil {
				return err
			}
			whole[i], t.versions[partOf(m.Ingress)] = size, t.versions[partOf(m.Ingress)]+size
		}
	}
	for i := range s.Memory.Members {
		if err := t.weighMember(&s.Memory.Members[i], whole[i]); err != nil {
			return err
		}
	}
	for _, name := range s.Members {
		t.of(namespaceOf(name)).size += len(name) + len(`"",`)
	}
	for i, d := range slices.Backward(s.Diagnostics) { // of each list the last ones go first
		if err := t.list(namespaceOfSource(d.Source), report, d, t.diagnostics, i); err != nil {
			return err
		}
	}
	for i, h := range slices.Backward(s.Memory.Hosts) {
		rank := owned
		if h.Until != nil {
			rank = reserved
		}
		if err := t.list(h.Namespace, rank, h, t.hosts, i); err != nil {
			return err
		}
	}
	for i, c := range slices.Backward(s.Memory.Certificates) {
		if err := t.list(namespaceOf(c.Secret), certificate, c, t.certificates, i); err != nil {
			return err
		}
	}
	if s.LastPlan != nil {
		for i, step := range slices.Backward(s.LastPlan.Steps) {
			if err := t.list("", report, step, t.steps, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *trimming) of(namespace string) *holder {
	if t.by[namespace] == nil {
		t.by[namespace] = &holder{namespace: namespace}
	}
	return t.by[namespace]
}

func (t *trimming) add(namespace string, e entry) {
	of := t.of(namespace)
	of.entries = append(of.entries, e)
}

// list weighs an entry of a list, which is left out by its index.
func (t *trimming) list(namespace string, r rank, value any, gone map[int]bool, index int) error {
	size, err := measure(value)
	if err != nil {
		return err
	}
	size += len(",")
	t.of(namespace).size += size
	t.add(namespace, entry{rank: r, size: size, drop: func() { gone[index] = true }})
	return nil
}

// weighMember weighs what is remembered of a member, whose version is some bytes of JSON. A version
// that is compressed takes its share of its part.
func (t *trimming) weighMember(m *MemberMemory, version int) error {
	stored := *m
	stored.LastAccepted = nil
	size, err := measure(stored)
	if err != nil {
		return err
	}
	namespace := namespaceOf(m.Ingress)
	t.of(namespace).size += size + len(",")
	if m.LastAccepted != nil {
		part := partOf(m.Ingress)
		compressed := base64.StdEncoding.EncodedLen(len(t.status.Memory.Versions[part]))
		size := version * compressed / t.versions[part]
		t.of(namespace).size += size
		if !m.Forgotten {
			size -= len(`"forgotten":true,`)
		}
		drop := func() {
			m.LastAccepted, m.Forgotten = nil, true
			t.lost = append(t.lost, m.Ingress)
		}
		t.add(namespace, entry{
			rank: accepted, size: size, weight: version, at: m.LastAccepted.At.Time,
			name: m.Ingress, drop: drop,
		})
	}
	if len(m.Rejections) > 0 {
		size, err := measure(m.Rejections)
		if err != nil {
			return err
		}
		t.add(namespace, entry{
			rank: rejection, size: size + len(`"rejections":,`), weight: size, name: m.Ingress,
			drop: func() { m.Rejections = nil },
		})
	}
	if m.Previous != "" {
		size, err := measure(append([]string{m.Previous}, m.Earlier...))
		if err != nil {
			return err
		}
		t.add(namespace, entry{
			rank: leaving, size: size + len(`"previous":,`) - len("[]"), weight: size, name: m.Ingress,
			drop: func() { m.Previous, m.Earlier = "", nil },
		})
	}
	return nil
}

// trim leaves out entries until there is no excess any more. Of two namespaces that take as much
// the first by name loses, so that equal statuses are cut equally. It reports whether there was
// anything to leave out.
func (t *trimming) trim() (some bool) {
	namespaces := slices.SortedFunc(maps.Values(t.by), func(a, b *holder) int {
		return cmp.Compare(a.namespace, b.namespace)
	})
	for _, of := range namespaces {
		slices.SortStableFunc(of.entries, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.weight, a.weight), a.at.Compare(b.at),
				cmp.Compare(a.name, b.name))
		})
	}
	for t.excess > 0 {
		namespaces = slices.DeleteFunc(namespaces, func(of *holder) bool { return len(of.entries) == 0 })
		if len(namespaces) == 0 {
			break
		}
		most := slices.MaxFunc(namespaces, func(a, b *holder) int { return cmp.Compare(a.size, b.size) })
		e := most.entries[0]
		most.entries, most.size, t.excess = most.entries[1:], most.size-e.size, t.excess-e.size
		e.drop()
		some = true
	}
	s := t.status
	s.OmittedDiagnostics += int32(len(t.diagnostics))
	s.Diagnostics = without(s.Diagnostics, t.diagnostics)
	s.Memory.Hosts = without(s.Memory.Hosts, t.hosts)
	s.Memory.Certificates = without(s.Memory.Certificates, t.certificates)
	if s.LastPlan != nil {
		s.LastPlan.OmittedSteps += int32(len(t.steps))
		s.LastPlan.Steps = without(s.LastPlan.Steps, t.steps)
	}
	return some
}

// without returns a list without the entries of some indices.
func without[T any](list []T, gone map[int]bool) []T {
	if len(gone) == 0 {
		return list
	}
	var out []T
	for i, v := range list {
		if !gone[i] {
			out = append(out, v)
		}
	}
	return out
}

// namespaceOf returns the namespace of a namespace/name.
func namespaceOf(name string) string {
	namespace, _, _ := strings.Cut(name, "/")
	return namespace
}

// namespaceOfSource returns the namespace of an object that a diagnostic is about, of the kind, the
// object and the field; "" if it has none.
func namespaceOfSource(source string) string {
	if words := strings.Fields(source); len(words) > 1 {
		if namespace, _, found := strings.Cut(words[1], "/"); found {
			return namespace
		}
	}
	return ""
}

// boundHosts forgets owners of hosts where there are more than fit in size bytes. The namespaces
// with the most lose the surplus, so that a namespace which names thousands of hosts costs the
// others nothing: first hosts that no Ingress names any more, then the last ones by name. Equal
// lists are cut equally.
func boundHosts(hosts []HostOwner, size int) []HostOwner {
	by, total := map[string][]HostOwner{}, 0
	for _, h := range hosts {
		by[h.Namespace] = append(by[h.Namespace], h)
		total += h.size()
	}
	if total <= size {
		return hosts
	}
	// Namespaces that need less than their share leave the rest of it to the others.
	namespaces, need := slices.Collect(maps.Keys(by)), map[string]int{}
	for namespace, all := range by {
		for _, h := range all {
			need[namespace] += h.size()
		}
	}
	slices.SortFunc(namespaces, func(a, b string) int {
		return cmp.Or(cmp.Compare(need[a], need[b]), cmp.Compare(a, b))
	})
	var kept []HostOwner
	for i, namespace := range namespaces {
		share := size / (len(namespaces) - i)
		for _, h := range namedFirst(by[namespace]) {
			if share -= h.size(); share < 0 {
				break
			}
			kept, size = append(kept, h), size-h.size()
		}
	}
	slices.SortFunc(kept, func(a, b HostOwner) int { return cmp.Compare(a.Host, b.Host) })
	return kept
}

// namedFirst returns the hosts that Ingresses name, and behind them the reserved ones.
func namedFirst(hosts []HostOwner) []HostOwner {
	reserved := func(h HostOwner) bool { return h.Until != nil }
	named := slices.DeleteFunc(slices.Clone(hosts), reserved)
	return append(named, slices.DeleteFunc(slices.Clone(hosts), func(h HostOwner) bool {
		return !reserved(h)
	})...)
}

// size is about how many bytes of JSON an owner takes.
func (h HostOwner) size() int {
	size := len(`{"host":"","namespace":""},`) + len(h.Host) + len(h.Namespace)
	if h.Until != nil {
		size += len(`,"until":"2006-01-02T15:04:05Z"`)
	}
	if h.Yields {
		size += len(`,"yields":true`)
	}
	return size
}

// cut shortens a list and returns by how much.
func cut[T any](list *[]T, most int) int32 {
	omitted := max(0, len(*list)-most)
	*list = (*list)[:len(*list)-omitted]
	return int32(omitted)
}
