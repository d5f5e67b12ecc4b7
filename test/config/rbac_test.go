package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// This file is what the operator may do, as the files say it; server_test.go asks an API server.

// choices are the sets of components that somebody may deploy.
var choices = map[string][]string{
	"all":          {"rbac/secrets/all"},
	"labelled":     {"rbac/secrets/labelled"},
	"none":         {"rbac/secrets/none"},
	"manage-class": {"rbac/secrets/none", "rbac/manage-class"},
	"gates":        {"rbac/secrets/none", "rbac/readiness-gates"},
	"adoption":     {"rbac/secrets/none", "rbac/adoption"},
}

func TestNobodyMayEverything(t *testing.T) {
	for name, components := range choices {
		t.Run(name, func(t *testing.T) {
			for role, rules := range roles(with(t, components...)) {
				for _, rule := range rules {
					for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames, rule.NonResourceURLs} {
						if slices.Contains(list, "*") {
							t.Errorf("%s: a wildcard in %v", role, list)
						}
					}
					for _, verb := range []string{"bind", "escalate", "impersonate"} {
						if slices.Contains(rule.Verbs, verb) {
							t.Errorf("%s may %s: that is as good as everything", role, verb)
						}
					}
				}
			}
		})
	}
}

// TestSecretsByChoice: nobody writes a Secret, and only the chosen verbs read them.
func TestSecretsByChoice(t *testing.T) {
	for name, want := range map[string][]string{"all": {"get", "list", "watch"}, "labelled": {"list", "watch"}, "none": nil, "manage-class": nil, "gates": nil, "adoption": nil} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, rules := range roles(with(t, choices[name]...)) {
				for _, rule := range rules {
					if slices.Contains(rule.Resources, "secrets") {
						got = append(got, rule.Verbs...)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("verbs on Secrets (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPodsAreWrittenForGatesAlone: Pods are watched, since they say which endpoints are theirs, and
// their status is written only where gates are kept.
func TestPodsAreWrittenForGatesAlone(t *testing.T) {
	for name, components := range choices {
		got := map[string][]string{}
		for _, rules := range roles(with(t, components...)) {
			for _, rule := range rules {
				for _, r := range rule.Resources {
					if strings.HasPrefix(r, "pods") {
						got[r] = append(got[r], rule.Verbs...)
					}
				}
			}
		}
		want := map[string][]string{"pods": {"list", "watch"}}
		if name == "gates" {
			want["pods/status"] = []string{"patch"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: verbs on Pods (-want +got):\n%s", name, diff)
		}
	}
}

// TestAdoptionIsAChoice: what belongs to another controller is deleted where that is chosen, and of what says whether it
// runs, nothing is written.
func TestAdoptionIsAChoice(t *testing.T) {
	for name, components := range choices {
		got := map[string][]string{}
		for role, rules := range roles(with(t, components...)) {
			for _, rule := range rules {
				for _, r := range rule.Resources {
					if strings.HasPrefix(role, "ClusterRole ") && (r == "leases" || strings.HasSuffix(r, "webhookconfigurations")) {
						got[r] = append(got[r], append(rule.Verbs, rule.ResourceNames...)...)
					} else if r == "targetgroupbindings" && slices.Contains(rule.Verbs, "delete") {
						got[r] = append(got[r], "delete")
					}
				}
			}
		}
		want := map[string][]string{}
		if name == "adoption" {
			want = map[string][]string{"targetgroupbindings": {"delete"}, "leases": {"list", "aws-load-balancer-controller-leader"},
				"mutatingwebhookconfigurations": {"list"}, "validatingwebhookconfigurations": {"list"}}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// TestBindingsFindTheirEnds: a binding to what does not exist gives nothing, and nobody says so.
func TestBindingsFindTheirEnds(t *testing.T) {
	for name, components := range choices {
		t.Run(name, func(t *testing.T) { checkBindings(t, with(t, components...)) })
	}
}

func checkBindings(t *testing.T, objects []object) {
	t.Helper()
	roles := roles(objects)
	accounts := map[string]bool{}
	for _, a := range only[*corev1.ServiceAccount](objects) {
		accounts[a.Namespace+"/"+a.Name] = true
	}
	check := func(binding string, to rbacv1.RoleRef, subjects []rbacv1.Subject) {
		if roles[to.Kind+" "+to.Name] == nil {
			t.Errorf("%s binds %s %s, which does not exist", binding, to.Kind, to.Name)
		}
		for _, s := range subjects {
			if s.Kind != rbacv1.ServiceAccountKind || !accounts[s.Namespace+"/"+s.Name] {
				t.Errorf("%s is for %s %s/%s, which does not exist", binding, s.Kind, s.Namespace, s.Name)
			}
		}
	}
	for _, b := range only[*rbacv1.ClusterRoleBinding](objects) {
		check(b.Name, b.RoleRef, b.Subjects)
	}
	for _, b := range only[*rbacv1.RoleBinding](objects) {
		check(b.Name, b.RoleRef, b.Subjects)
	}
}

// TestDefaultIsOneOfTheChoices: what config/default builds is "all".
func TestDefaultIsOneOfTheChoices(t *testing.T) {
	if diff := cmp.Diff(byName(t, with(t, choices["all"]...)), byName(t, build(t, filepath.Join(root, "default")))); diff != "" {
		t.Errorf("-composed +default:\n%s", diff)
	}
}

// TestNobodyChangesAClass: the operator makes one where it is chosen, and nothing else.
func TestNobodyChangesAClass(t *testing.T) {
	for name, components := range choices {
		var got []string
		for _, rules := range roles(with(t, components...)) {
			for _, rule := range rules {
				if slices.Contains(rule.Resources, "ingressclasses") {
					got = append(got, rule.Verbs...)
				}
			}
		}
		slices.Sort(got)
		want := []string{"list", "watch"}
		if name == "manage-class" {
			want = []string{"create", "list", "watch"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: verbs on IngressClasses (-want +got):\n%s", name, diff)
		}
	}
}

// TestOneNamespaceIsOne: an operator of one namespace has no right in all of them but to what has
// none.
func TestOneNamespaceIsOne(t *testing.T) {
	for name, c := range map[string]struct {
		components []string
		more       string // role that is bound in the namespace
	}{
		"as it is":             {nil, ""},
		"with readiness gates": {[]string{"rbac/readiness-gates"}, "fairlead-readiness-gates"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := namespaced(t, c.components...)
			checkBindings(t, objects)
			var wide []string
			for _, b := range only[*rbacv1.ClusterRoleBinding](objects) {
				wide = append(wide, b.RoleRef.Name)
			}
			if diff := cmp.Diff([]string{"fairlead-cluster"}, wide); diff != "" {
				t.Errorf("bound in the whole cluster (-want +got):\n%s", diff)
			}
			narrow := map[string]string{}
			for _, b := range only[*rbacv1.RoleBinding](objects) {
				narrow[b.RoleRef.Name] = b.Namespace
			}
			want := map[string]string{"fairlead-operator": "shop", "fairlead-secrets": "shop", "fairlead-leader-election": home, "fairlead-expectations": home}
			if c.more != "" {
				want[c.more] = "shop"
			}
			if diff := cmp.Diff(want, narrow); diff != "" {
				t.Errorf("bound in a namespace (-want +got):\n%s", diff)
			}
			for _, rule := range roles(objects)["ClusterRole fairlead-cluster"] {
				if slices.Contains(rule.Resources, "namespaces") && !slices.Equal(rule.ResourceNames, []string{"shop"}) {
					t.Errorf("it reads the namespaces %v, want shop alone", rule.ResourceNames)
				}
			}
		})
	}
}

// roles are the rules of each, by kind and name.
func roles(objects []object) map[string][]rbacv1.PolicyRule {
	out := map[string][]rbacv1.PolicyRule{}
	for _, r := range only[*rbacv1.ClusterRole](objects) {
		out["ClusterRole "+r.Name] = r.Rules
	}
	for _, r := range only[*rbacv1.Role](objects) {
		out["Role "+r.Name] = r.Rules
	}
	return out
}
