package cluster

import (
	"bytes"
	"context"
	_ "embed" // the roles
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"fairlead.dev/fairlead/model/check"
)

// This file checks that the caller has the permissions (RBAC) of the operator in config/rbac.

// The roles of config/rbac/operator.yaml and config/rbac/namespaced/cluster.yaml. A test writes
// them.
var (
	//go:embed operator.yaml
	operatorText []byte
	//go:embed namespaced.yaml
	namespacedText []byte
)

// served is the placeholder of the served namespace in config/rbac/namespaced.
const served = "served"

// A need is the permissions of an operator on one kind of objects.
type need struct {
	group, resource, namespace, name string
	verbs                            []string
}

func (n need) String() string {
	out := n.resource
	if n.group != "" {
		out += "." + n.group
	}
	if n.name != "" {
		out += " " + n.name
	}
	return out
}

// needs returns those of an operator of all namespaces, or of one.
func needs(namespace string) ([]need, error) {
	everywhere, err := rulesIn(operatorText)
	if err != nil || namespace == "" {
		return merged(everywhere, ""), err
	}
	ofCluster, err := rulesIn(namespacedText)
	for i := range ofCluster {
		for j, name := range ofCluster[i].ResourceNames {
			if name == served {
				ofCluster[i].ResourceNames[j] = namespace
			}
		}
	}
	whole := merged(ofCluster, "")
	inside := slices.DeleteFunc(merged(everywhere, namespace), func(n need) bool {
		return slices.ContainsFunc(whole, func(w need) bool {
			return w.group == n.group && w.resource == n.resource
		})
	})
	return append(whole, inside...), err
}

// rulesIn returns the rules of the ClusterRoles in a file.
func rulesIn(text []byte) ([]rbacv1.PolicyRule, error) {
	var out []rbacv1.PolicyRule
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var role rbacv1.ClusterRole
		if err := documents.Decode(&role); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the rules of the operator: %w", err)
		}
		if role.Kind == "ClusterRole" {
			out = append(out, role.Rules...)
		}
	}
}

// merged merges needs by kind of objects, in the order of the rules.
func merged(rules []rbacv1.PolicyRule, namespace string) []need {
	var out []need
	add := func(n need, verbs []string) {
		at := slices.IndexFunc(out, func(o need) bool {
			return o.group == n.group && o.resource == n.resource && o.name == n.name
		})
		if at < 0 {
			at = len(out)
			out = append(out, n)
		}
		out[at].verbs = append(out[at].verbs, verbs...)
	}
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				names := r.ResourceNames
				if len(names) == 0 {
					names = []string{""}
				}
				for _, name := range names {
					add(need{group: group, resource: resource, namespace: namespace, name: name}, r.Verbs)
				}
			}
		}
	}
	return out
}

// checkRights returns one finding for each kind of objects.
func checkRights(ctx context.Context, c Cluster, o Options) []check.Finding {
	all, err := needs(o.Namespace)
	if err != nil {
		return []check.Finding{check.Unsure("cluster/rbac", "RBAC", err.Error(), "")}
	}
	var out []check.Finding
	for _, n := range all {
		out = append(out, checkNeed(ctx, c, n))
	}
	return out
}

func checkNeed(ctx context.Context, c Cluster, n need) check.Finding {
	id, title := "cluster/rbac/"+n.String(), "RBAC of "+n.String()
	resource, sub, _ := strings.Cut(n.resource, "/")
	var denied []string
	for _, verb := range n.verbs {
		may, err := c.IsAllowed(ctx, authorizationv1.ResourceAttributes{
			Namespace: n.namespace, Verb: verb, Group: n.group, Resource: resource, Subresource: sub,
			Name: n.name,
		})
		if err != nil {
			return check.Unsure(id, title, err.Error(), "")
		}
		if !may {
			denied = append(denied, verb)
		}
	}
	in := ""
	if n.namespace != "" {
		in = " in " + n.namespace
	}
	if len(denied) > 0 {
		return check.Bad(id, title, "the caller may not "+strings.Join(denied, ", ")+in,
			"allow it as config/rbac does; a person who asks for the operator impersonates it: --as "+
				"system:serviceaccount:fairlead-system:fairlead")
	}
	return check.Good(id, title, "the caller may "+strings.Join(n.verbs, ", ")+in)
}
