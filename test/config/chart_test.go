package config

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// This file renders the Helm chart with helm itself, and holds what comes out against what
// kustomize builds: who installs with the one gets what the other would have given.

const chart = root + "/chart/fairlead"

// helm runs a command that neither reads nor leaves anything in the user's own files.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := filepath.Abs("../../.cache/bin/helm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is missing: `make setup` builds it", path)
	}
	home := t.TempDir()
	command := exec.CommandContext(t.Context(), path, args...)
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("helm %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	return string(out), err
}

// render is what the chart makes of values, as the release that kustomize's names belong to. The
// image is that of config/default, unless the values name another one.
func render(t *testing.T, values string) ([]object, error) {
	t.Helper()
	dir := t.TempDir()
	args := []string{"template", "fairlead", chart, "--namespace", home}
	for _, text := range []string{"image: {repository: fairlead}", values} {
		file := filepath.Join(dir, fmt.Sprintf("%d.yaml", len(args)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--values", file)
	}
	text, err := helm(t, args...)
	if err != nil {
		return nil, err
	}
	return decode(t, []byte(text)), nil
}

func mustRender(t *testing.T, values string) []object {
	t.Helper()
	objects, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestChartIsWhatKustomizeBuilds(t *testing.T) {
	cases := map[string]struct {
		values     string
		components []string
	}{
		"defaults":                  {``, []string{"rbac/secrets/all"}},
		"labelled Secrets only":     {`secrets: labelled`, []string{"rbac/secrets/labelled"}},
		"no Secrets":                {`secrets: none`, []string{"rbac/secrets/none"}},
		"a class of its own making": {`ingressClass: {managed: true}`, []string{"rbac/secrets/all", "rbac/manage-class"}},
		"with readiness gates":      {`readinessGates: true`, []string{"rbac/secrets/all", "rbac/readiness-gates"}},
		"with adoption":             {`adoption: {enabled: true}`, []string{"rbac/secrets/all", "rbac/adoption"}},
		"on AWS":                    {`provider: aws`, []string{"rbac/secrets/all", "aws"}},
		"on AWS with its own role":  {`{provider: aws, networkPolicy: {instanceMetadata: deny}}`, []string{"rbac/secrets/all", "aws", "aws/own-role"}},
		"with alerts":               {`metrics: {serviceMonitor: {enabled: true}, rules: {enabled: true}}`, []string{"rbac/secrets/all", "prometheus"}},
		"with a dashboard":          {`metrics: {dashboard: {enabled: true}}`, []string{"rbac/secrets/all", "grafana"}},
	}
	t.Run("one namespace", func(t *testing.T) {
		rights := func(objects []object) map[string]any {
			return byName(t, slices.DeleteFunc(objects, func(o object) bool { return !strings.HasPrefix(o.APIVersion, rbacv1.GroupName) }))
		}
		for values, components := range map[string][]string{
			`namespace: shop`:                         nil,
			`{namespace: shop, readinessGates: true}`: {"rbac/readiness-gates"},
		} {
			if diff := cmp.Diff(rights(namespaced(t, components...)), rights(mustRender(t, values))); diff != "" {
				t.Errorf("%s: rights -kustomize +helm:\n%s", values, diff)
			}
		}
	})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := byName(t, with(t, c.components...))
			// Helm makes the namespace of a release itself, or somebody has.
			delete(want, "Namespace /"+home)
			if diff := cmp.Diff(want, byName(t, mustRender(t, c.values))); diff != "" {
				t.Errorf("-kustomize +helm:\n%s", diff)
			}
		})
	}
}

// The metadata of an instance have the credentials of the node, and its addresses are well known:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html.
func TestAnOperatorWithARoleIsKeptFromItsInstance(t *testing.T) {
	const annotated = `{create: true, annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::111122223333:role/fairlead"}}`
	for values, reached := range map[string]struct{ agent, instance bool }{
		`provider: fake`: {},
		`provider: aws`:  {agent: true, instance: true},
		`{provider: aws, serviceAccount: ` + annotated + `}`:                                                 {agent: true},
		`{provider: aws, serviceAccount: {annotations: {team: edge}}}`:                                       {agent: true, instance: true},
		`{provider: aws, serviceAccount: {create: false, name: edge}}`:                                       {agent: true, instance: true},
		`{provider: aws, networkPolicy: {instanceMetadata: deny}}`:                                           {agent: true},
		`{provider: aws, networkPolicy: {instanceMetadata: auto}}`:                                           {agent: true, instance: true},
		`{provider: aws, networkPolicy: {instanceMetadata: allow}, serviceAccount: ` + annotated + `}`:       {agent: true, instance: true},
		`{provider: aws, serviceAccount: {create: false, annotations: {eks.amazonaws.com/role-arn: "arn"}}}`: {agent: true, instance: true},
	} {
		for _, p := range only[*networkingv1.NetworkPolicy](mustRender(t, values)) {
			for address, want := range map[string]bool{
				"169.254.170.23": reached.agent, "fd00:ec2::23": reached.agent, "169.254.169.254": reached.instance, "fd00:ec2::254": reached.instance,
			} {
				if got := allows(p, netip.MustParseAddr(address), 80); got != want {
					t.Errorf("%s: %s at port 80 is reached: %v, want %v", values, address, got, want)
				}
			}
		}
	}
}

// allows reports whether a policy lets connections out to a port of an address.
func allows(p *networkingv1.NetworkPolicy, to netip.Addr, port int) bool {
	return slices.ContainsFunc(p.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
		ported := len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.IntValue() == port })
		return ported && (len(rule.To) == 0 || slices.ContainsFunc(rule.To, func(peer networkingv1.NetworkPolicyPeer) bool {
			return peer.IPBlock != nil && netip.MustParsePrefix(peer.IPBlock.CIDR).Contains(to)
		}))
	})
}

// byName are objects by kind and name, without what tells releases of Helm apart.
func byName(t *testing.T, objects []object) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, o := range objects {
		var fields map[string]any
		if err := yaml.Unmarshal(o.text, &fields); err != nil {
			t.Fatal(err)
		}
		meta, ok := fields["metadata"].(map[string]any)
		if !ok {
			t.Fatalf("%s has no metadata", o.Kind)
		}
		namespace, _ := meta["namespace"].(string)
		name := fmt.Sprintf("%s %s/%s", o.Kind, namespace, meta["name"])
		if out[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		out[name] = withoutHelm(fields)
	}
	return out
}

func withoutHelm(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart", "helm.sh/resource-policy"} {
			delete(v, key)
		}
		for key := range v {
			v[key] = withoutHelm(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withoutHelm(v[i])
		}
	}
	return value
}

// everyValue is every value in use at once.
const everyValue = `
image: {repository: images.example/fairlead, digest: "sha256:` + digest + `", pullPolicy: Always}
imagePullSecrets: [{name: images}]
fullnameOverride: edge
provider: fake
replicas: 3
secrets: labelled
namespace: shop
settings: {drift-interval: 1h, verbose: true}
args: [--log-format=console]
env: [{name: FAIRLEAD_SHUTDOWN_TIMEOUT, value: 20s}, {name: ZONE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
serviceAccount: {name: edge-operator, annotations: {cloud.example/role: load-balancers}}
ingressClass: {name: edge, default: true, withoutClass: edge, literal: old.edge, parameters: {kind: LoadBalancerClass, namespace: shop, name: edge}}
crds: {keep: false}
resources: {limits: {cpu: 1, memory: 1Gi}}
podAnnotations: {team: edge}
podLabels: {team: edge}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: edge, operator: Exists, effect: NoSchedule}]
affinity: {podAntiAffinity: {}}
priorityClassName: system-cluster-critical
networkPolicy: {egress: [{ports: [{port: 8443, protocol: TCP}]}]}
metrics: {serviceMonitor: {enabled: true, interval: 1m, labels: {release: prometheus}}, rules: {enabled: true, labels: {release: prometheus}}, dashboard: {enabled: true, labels: {grafana_folder: edge}}}
`

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestChartTakesItsValues(t *testing.T) {
	d := only[*appsv1.Deployment](mustRender(t, everyValue))[0]
	pod := d.Spec.Template
	got := map[string]any{
		"name": d.Name, "replicas": *d.Spec.Replicas, "image": pod.Spec.Containers[0].Image,
		"args": pod.Spec.Containers[0].Args, "account": pod.Spec.ServiceAccountName, "priority": pod.Spec.PriorityClassName,
		"mounted": pod.Spec.Containers[0].VolumeMounts[0].MountPath, "from": pod.Spec.Volumes[0].ConfigMap.Name,
	}
	want := map[string]any{
		"name": "edge", "replicas": int32(3), "image": "images.example/fairlead@sha256:" + digest,
		"args": []string{
			"run", "--provider=fake", "--leader-elect", "--metrics-bind-address=:8080", "--health-probe-bind-address=:8081",
			"--secrets=labelled", "--watch-ingress-without-class=edge", "--ingress-class-literal=old.edge", "--config=/etc/fairlead/config.yaml", "--log-format=console",
		},
		"account": "edge-operator", "priority": "system-cluster-critical", "mounted": "/etc/fairlead", "from": "edge",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	t.Run("other settings are another Pod", func(t *testing.T) {
		other := only[*appsv1.Deployment](mustRender(t, strings.Replace(everyValue, "drift-interval: 1h", "drift-interval: 2h", 1)))[0]
		if cmp.Equal(pod.Annotations, other.Spec.Template.Annotations) {
			t.Error("nothing restarts the operator, which reads its settings once")
		}
	})
	t.Run("bindings are for the account", func(t *testing.T) { checkBindings(t, mustRender(t, everyValue)) })
	t.Run("nothing keeps a name of another release", func(t *testing.T) {
		for name := range byName(t, mustRender(t, everyValue)) {
			kind, object, _ := strings.Cut(name, " ")
			if kind != "CustomResourceDefinition" && !strings.Contains(object, "/edge") {
				t.Errorf("%s does not begin with the name that was asked for", name)
			}
		}
	})
}

// TestChartRunsProvidersBesideTheOperator has a provider listen where the operator reaches it.
func TestChartRunsProvidersBesideTheOperator(t *testing.T) {
	for values, serving := range map[string]string{
		"provider: aws\nproviders:\n- {name: edge, image: edge:1}":                          "--provider=aws,edge=unix:///run/fairlead/edge.sock",
		"provider: \"\"\nproviders:\n- {name: edge, image: edge:1, args: [serve], env: []}": "--provider=edge=unix:///run/fairlead/edge.sock",
	} {
		pod := only[*appsv1.Deployment](mustRender(t, values))[0].Spec.Template.Spec
		operator, beside := pod.Containers[0], pod.Containers[1]
		if !slices.Contains(operator.Args, serving) {
			t.Errorf("the operator is started with %v, want %s", operator.Args, serving)
		}
		if beside.Env[0].Name != "FAIRLEAD_LISTEN" || beside.Env[0].Value != "unix:/run/fairlead/edge.sock" || beside.Image != "edge:1" {
			t.Errorf("the provider is %+v", beside)
		}
		if mount := operator.VolumeMounts[0]; !cmp.Equal(mount, beside.VolumeMounts[0]) || mount.MountPath != "/run/fairlead" || pod.Volumes[0].EmptyDir == nil {
			t.Errorf("the operator has %v, the provider %v, and the pod %v", operator.VolumeMounts, beside.VolumeMounts, pod.Volumes)
		}
	}
}

func TestChartRefusesWhatItDoesNotKnow(t *testing.T) {
	for values, want := range map[string]string{
		`provider: ""`:                        "there are no providers",
		`providers: [{name: edge}]`:           "image",
		`providers: [{name: Edge, image: a}]`: "name",

		`replica: 3`:            "replica",
		`replicas: many`:        "replicas",
		`leaderElection: false`: "replicas", // two that both work
		`secrets: some`:         "secrets",

		`adoption: {enabled: true, namespace: shop}`:   "adoption",
		`{adoption: {enabled: true}, namespace: shop}`: "all namespaces",

		`networkPolicy: {instanceMetadata: never}`: "instanceMetadata",

		`args: [verbose]`:              "args",
		`settings: {Drift: 1h}`:        "Drift",
		`settings: {a: {b: c}}`:        "settings",
		`image: null`:                  `image.repository is required, since no image is published: build one (docs/how-to/install.md, "Build the image")`,
		`image: {repository: ""}`:      "--set image.repository=REGISTRY/fairlead",
		`image: {repository: 3}`:       "image",
		`image: {digest: latest}`:      "image",
		`crds: {upgrade: true}`:        "crds",
		`metrics: {rules: true}`:       "metrics",
		`serviceAccount: {role: x}`:    "serviceAccount",
		`resources: {limit: {cpu: 1}}`: "resources",
		`ingressClass: {parameters: {kind: LoadBalancerClass, name: x}}`: "parameters",
		`ingressClass: {literal: true}`:                                  "literal",
		`ingressClass: {literal: "old edge"}`:                            "literal",
		`ingressClass: {withoutClass: "Edge"}`:                           "withoutClass",
		`fullnameOverride: Edge`:                                         "fullnameOverride",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %s", values, err, want)
		}
	}
}

// TestSchemaKnowsEveryValue: a value that the schema lacks could not be set.
func TestSchemaKnowsEveryValue(t *testing.T) {
	if out, err := helm(t, "lint", "--strict", chart); err != nil {
		t.Errorf("%s\n%s", err, out)
	}
	text, err := os.ReadFile(chart + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = render(t, string(text)) // which is without an image
	if err == nil || !strings.Contains(err.Error(), "image.repository is required") {
		t.Errorf("the values alone: %v", err)
	}
}
