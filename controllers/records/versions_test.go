package records

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/lb"
)

// large returns a record whose versions have to be compressed to be written.
func large(t *testing.T) Record {
	t.Helper()
	r := Record{Address: "lb.example.com"}
	for i := range 2500 {
		r.Memory.Members = append(r.Memory.Members, v1alpha1.MemberMemory{Ingress: fmt.Sprintf("shop/web-%04d", i), Served: true,
			LastAccepted: &v1alpha1.AcceptedVersion{Annotations: map[string]string{"fairlead.dev/group": strings.Repeat("g", 700+i%7)}}})
	}
	return r
}

// A record whose versions are compressed is read as it was written, by the process that wrote it
// and by the next one, and a change of one member is a small write.
func TestVersionsAreWrittenInParts(t *testing.T) {
	var patches []int
	server := fake.NewClientBuilder().WithScheme(cluster.NewScheme()).WithStatusSubresource(&v1alpha1.LoadBalancer{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, to client.Client, part string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			text, err := p.Data(o)
			if err != nil {
				return err
			}
			patches = append(patches, len(text))
			return to.SubResource(part).Patch(ctx, o, p, opts...)
		}}).Build()
	const key = lb.Key("fairlead/shop/@edge/internal")
	cache := NewCache(NewStore(server, server, ""), false)
	if err := cache.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	save := func(r Record) {
		t.Helper()
		if lost, err := r.Trim(v1alpha1.MaxSize); err != nil || len(lost) > 0 {
			t.Fatalf("%d versions are lost, %v", len(lost), err)
		}
		if err := cache.Save(t.Context(), key, r); err != nil {
			t.Fatal(err)
		}
	}
	readBack := func(want Record) {
		t.Helper()
		next := NewCache(NewStore(server, server, ""), false)
		if err := next.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*Cache{cache, next} {
			if diff := cmp.Diff(want.Memory.Members, c.Get(key).Memory.Members); diff != "" {
				t.Fatalf("(-want +got):\n%.2000s", diff)
			}
			if known := c.Parsed(key, time.Now()).Members["shop/web-0007"]; known.LastAccepted == nil || len(known.LastAccepted.Annotations) != 1 {
				t.Fatalf("the compiler reads %+v", known)
			}
		}
	}
	r := large(t)
	save(r)
	readBack(r)
	var stored v1alpha1.LoadBalancer
	if err := server.Get(t.Context(), client.ObjectKey{Name: v1alpha1.Name(string(key), "")}, &stored); err != nil {
		t.Fatal(err)
	}
	if m := stored.Status.Memory; len(m.Versions) == 0 || m.Members[0].LastAccepted != nil {
		t.Errorf("%d parts are written, and the version among the members: %t", len(m.Versions), m.Members[0].LastAccepted != nil)
	}

	r = CopyOf(&r)
	r.Memory.Members[7].LastAccepted = &v1alpha1.AcceptedVersion{Annotations: map[string]string{"fairlead.dev/group": "another"}}
	save(r)
	readBack(r)
	if first, last := patches[0], patches[len(patches)-1]; len(patches) != 2 || last > 4<<10 {
		t.Errorf("%d patches: %d bytes, and for one member %d", len(patches), first, last)
	}

	r = CopyOf(&r)
	r.Memory.Members = r.Memory.Members[:20] // the others are gone, and there is room again
	save(r)
	readBack(r)
}

// The versions of another operator's record are read, too.
func TestCompressedVersionsAreFollowed(t *testing.T) {
	r := large(t)
	if _, err := r.Trim(v1alpha1.MaxSize); err != nil {
		t.Fatal(err)
	}
	o := &v1alpha1.LoadBalancer{Status: r}
	o.Status.Memory = r.Memory.Stored()
	Expand(t.Context(), o)
	if diff := cmp.Diff(r.Memory.Members, o.Status.Memory.Members); diff != "" {
		t.Errorf("(-want +got):\n%.2000s", diff)
	}
	o.Status.Memory = r.Memory.Stored()
	for part := range o.Status.Memory.Versions {
		o.Status.Memory.Versions[part] = nil
	}
	Expand(t.Context(), o) // says so, and goes on
	if of := o.Status.Memory.Members[0]; of.LastAccepted != nil {
		t.Errorf("of parts that are empty is read %+v", of)
	}
}
