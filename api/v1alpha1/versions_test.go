package v1alpha1

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/test/nightly"
)

// usual is a member as members are: with a host of its own, four paths, and a certificate.
func usual(i int) MemberMemory {
	name, exact := fmt.Sprintf("web-%04d", i), networkingv1.PathTypeExact
	var paths []networkingv1.HTTPIngressPath
	for _, path := range []string{"/", "/api", "/static", "/" + noise(name, 12)} {
		paths = append(paths, networkingv1.HTTPIngressPath{Path: path, PathType: &exact, Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Name: "http"}}}})
	}
	host, class := noise(name, 10)+"."+name+".example.com", "fairlead"
	at := metav1.Date(2026, time.January, 1+i%28, i%24, i%60, 0, 0, time.UTC)
	return MemberMemory{Ingress: fmt.Sprintf("team-%d/%s", i%50, name), Served: true, Move: 1, LastAccepted: &AcceptedVersion{
		At: at, Created: at, Annotations: map[string]string{"fairlead.dev/group": "shared", "fairlead.dev/scheme": "internet-facing"},
		Spec: networkingv1.IngressSpec{IngressClassName: &class, TLS: []networkingv1.IngressTLS{{Hosts: []string{host}, SecretName: name + "-tls"}},
			Rules: []networkingv1.IngressRule{{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths}}}}},
	}}
}

func usuals(n int) LoadBalancerStatus {
	var s LoadBalancerStatus
	for i := range n {
		s.Memory.Members = append(s.Memory.Members, usual(i))
		s.Members = append(s.Members, s.Memory.Members[i].Ingress)
	}
	return s
}

// written is a status as it is read after it was written.
func written(t *testing.T, s LoadBalancerStatus) LoadBalancerStatus {
	t.Helper()
	s.Memory = s.Memory.Stored()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > MaxSize {
		t.Errorf("%d bytes are written", len(text))
	}
	var out LoadBalancerStatus
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// A load balancer of five thousand Ingresses keeps the last accepted version of each. Uncompressed
// they are four times what can be written.
func TestTheVersionsOfThousandsOfMembersAreKept(t *testing.T) {
	for _, n := range nightly.Some(t, 3, []int{100, 1500, 5000}) {
		s := usuals(n)
		whole := sizeOf(t, s)
		if lost, err := s.Trim(MaxSize); err != nil || len(lost) > 0 {
			t.Fatalf("%d members: %d lost their versions, %v", n, len(lost), err)
		}
		t.Logf("%d members: %d KiB, %d KiB as written", n, whole>>10, storedSize(t, &s)>>10)
		if compressed := len(s.Memory.Versions) > 0; compressed != (whole > MaxSize) {
			t.Errorf("%d members: versions are compressed: %t, for %d bytes", n, compressed, whole)
		}
		read := written(t, s)
		if err := read.Memory.Expand(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(usuals(n).Memory.Members, read.Memory.Members); diff != "" {
			t.Errorf("%d members: (-want +got):\n%.2000s", n, diff)
		}
	}
}

// A status that has become small is written as it was before it was large.
func TestVersionsAreCompressedOnlyWhereTheyHaveToBe(t *testing.T) {
	s := usuals(3000)
	for _, n := range []int{3000, 10} {
		s.Memory.Members = s.Memory.Members[:n]
		if _, err := s.Trim(MaxSize); err != nil {
			t.Fatal(err)
		}
		if compressed := len(s.Memory.Versions) > 0; compressed != (n == 3000) {
			t.Errorf("%d members: versions are compressed: %t", n, compressed)
		}
		if stored := s.Memory.Stored().Members[0].LastAccepted != nil; stored != (n == 10) {
			t.Errorf("%d members: the version is among them: %t", n, stored)
		}
		if s.Memory.Members[0].LastAccepted == nil {
			t.Errorf("%d members: a version that is compressed is gone from the status", n)
		}
	}
}

// A member that changes changes one part, so that little is written.
func TestAMemberChangesOnePart(t *testing.T) {
	s := usuals(3000)
	if _, err := s.Trim(MaxSize); err != nil {
		t.Fatal(err)
	}
	before := s.Memory.Versions
	s.Memory.Members[17].LastAccepted = usual(4711).LastAccepted
	if _, err := s.Trim(MaxSize); err != nil {
		t.Fatal(err)
	}
	changed := 0
	for name, part := range s.Memory.Versions {
		if !bytes.Equal(part, before[name]) {
			changed++
		}
	}
	if changed != 1 || len(before) != versionParts {
		t.Errorf("%d of %d parts change", changed, len(before))
	}
}

// An earlier release does not know parts. It writes the versions of members among them, and says of
// others that it forgot them; both are newer than what a part has.
func TestPartsGiveWayToMembers(t *testing.T) {
	s := usuals(3)
	if err := s.Memory.compress(); err != nil {
		t.Fatal(err)
	}
	m := s.Memory.Stored()
	m.Members[0].LastAccepted = usual(7).LastAccepted
	m.Members[1].Forgotten = true
	if err := m.Expand(); err != nil {
		t.Fatal(err)
	}
	want := []*AcceptedVersion{usual(7).LastAccepted, nil, usual(2).LastAccepted}
	for i, of := range m.Members {
		if diff := cmp.Diff(want[i], of.LastAccepted); diff != "" {
			t.Errorf("member %d (-want +got):\n%s", i, diff)
		}
	}
}

// A part that cannot be read costs the versions that are in it, and says so.
func TestAPartThatCannotBeRead(t *testing.T) {
	large := func() []byte {
		var out bytes.Buffer
		to := gzip.NewWriter(&out)
		_, _ = to.Write(bytes.Repeat([]byte(" "), maxPart+1))
		_ = to.Close()
		return out.Bytes()
	}
	short := func(part []byte) []byte { return part[:len(part)-9] }
	for name, spoil := range map[string]func([]byte) []byte{
		"no gzip":   func([]byte) []byte { return []byte("spoiled") },
		"cut short": short,
		"too large": func([]byte) []byte { return large() },
		"not versions": func([]byte) []byte {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			_, _ = w.Write([]byte("[]"))
			_ = w.Close()
			return b.Bytes()
		},
	} {
		s := usuals(200)
		if err := s.Memory.compress(); err != nil {
			t.Fatal(err)
		}
		of := partOf(s.Memory.Members[0].Ingress)
		s.Memory.Versions[of] = spoil(s.Memory.Versions[of])
		m := s.Memory.Stored()
		if err := m.Expand(); err == nil {
			t.Errorf("%s: it is read", name)
		}
		for i, member := range m.Members {
			lost := partOf(member.Ingress) == of
			if member.Forgotten != lost || (member.LastAccepted == nil) != lost {
				t.Fatalf("%s: member %d, in part %s, becomes %+v", name, i, partOf(member.Ingress), member)
			}
		}
	}
}
