package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func aSecret(name, version string, labels map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version, Labels: labels}}
}

// In each mode those Secrets are read that an Ingress names and that the mode permits.
func TestWhichSecretsAreRead(t *testing.T) {
	c := clusterOf(t, aSecret("plain", "", nil), aSecret("labelled", "", map[string]string{SecretLabel: "true"}), aSecret("refused", "", map[string]string{SecretLabel: "false"}), aSecret("unnamed", "", map[string]string{SecretLabel: "true"}))
	named := map[Ref]bool{}
	for _, name := range []string{"plain", "labelled", "refused", "missing"} {
		named[RefTo(KindSecret, "shop", name)] = true
	}
	for mode, want := range map[SecretsMode]struct {
		names    []string
		withheld string
	}{
		SecretsAll:      {[]string{"labelled", "plain", "refused"}, ""},
		SecretsLabelled: {[]string{"labelled"}, SecretLabel + "=true"},
		SecretsNone:     {nil, "reads none"},
	} {
		s := NewSecretReader(mode, selecting{c}, c)
		found, unread := s.Read(t.Context(), named)
		var names []string
		for _, secret := range found {
			names = append(names, secret.Name)
		}
		if slices.Sort(names); !slices.Equal(names, want.names) || len(unread) > 0 {
			t.Errorf("%s: read are %q, want %q, and not read are %q", mode, names, want.names, unread)
		}
		if got := s.WithholdingReason(); !strings.Contains(got, want.withheld) || (got == "") != (want.withheld == "") {
			t.Errorf("%s: the reason for a Secret that is not read is %q, want %q", mode, got, want.withheld)
		}
	}
}

// selecting filters lists by name, which the client in memory has no index for.
type selecting struct{ client.Reader }

func (s selecting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	name, one := "", false
	if o.FieldSelector != nil {
		name, one = o.FieldSelector.RequiresExactMatch(metav1.ObjectNameField)
		o.FieldSelector = nil
	}
	if err := s.Reader.List(ctx, list, &o); err != nil || !one {
		return err
	}
	secrets := list.(*corev1.SecretList)
	secrets.Items = slices.DeleteFunc(secrets.Items, func(s corev1.Secret) bool { return s.Name != name })
	return nil
}

// A Secret that cannot be read is told by its name, with the reason.
func TestASecretThatCannotBeReadIsTold(t *testing.T) {
	for _, mode := range []SecretsMode{SecretsAll, SecretsLabelled} {
		s := NewSecretReader(mode, unavailable{}, unavailable{})
		found, unread := s.Read(t.Context(), map[Ref]bool{RefTo(KindSecret, "shop", "web"): true})
		if want := map[string]string{"shop/web": errUnavailable.Error()}; len(found) > 0 || !maps.Equal(unread, want) {
			t.Errorf("%s: read are %v, and not read are %q, want %q", mode, found, unread, want)
		}
	}
}

// The API server is asked again for a Secret that has another version, and after a minute.
func TestASecretIsKeptForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := RefTo(KindSecret, "shop", "web")
		server, cache := &oneSecret{version: "1"}, &oneSecret{version: "1"}
		s := NewSecretReader(SecretsAll, server, cache)
		read := func(moment string, asked int) {
			t.Helper()
			found, unread := s.Read(t.Context(), map[Ref]bool{web: true})
			if len(found) != 1 || found[0].ResourceVersion != server.version || len(unread) > 0 || server.gets != asked {
				t.Errorf("%s: read is %v, not read is %q, and the API server was asked %d times, want %d", moment, found, unread, server.gets, asked)
			}
		}
		read("the first time", 1)
		read("the second time", 1)
		time.Sleep(keptFor / 2)
		server.version, cache.version = "2", "2"
		read("after a change", 2)
		read("of the same version", 2)
		time.Sleep(keptFor - time.Second)
		synctest.Wait()
		read("when the version before is forgotten", 2)
		time.Sleep(time.Second)
		synctest.Wait()
		read("after a minute", 3)
		s.ForgetAll()
		read("when all are forgotten", 4)
		cache.missing = true
		read("that is not seen yet", 5)
		time.Sleep(keptFor)
		synctest.Wait()
		if len(s.kept.all) > 0 {
			t.Errorf("after a minute there are %v", s.kept.all)
		}
	})
}

// A oneSecret is a reader that has a Secret of any name.
type oneSecret struct {
	client.Reader
	version string
	missing bool
	gets    int
}

func (o *oneSecret) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	o.gets++
	if o.missing {
		return errUnavailable
	}
	into.SetName(key.Name)
	into.SetResourceVersion(o.version)
	return nil
}
