package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

// This file runs the health checks of docs/how-to/argo-cd-and-flux.md, in the languages of Argo CD and Flux.

// TestTheHealthCheckForArgoCD: Argo CD runs Lua on the object as `obj`
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/health/).
func TestTheHealthCheckForArgoCD(t *testing.T) {
	const kind = "resource.customizations.health.networking.k8s.io_Ingress"
	var found struct{ Data map[string]string }
	unmarshal(t, documented(t, "../../docs/how-to/argo-cd-and-flux.md", "(?s)```yaml\n(apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm.*?)```"), &found)
	for name, c := range map[string]struct{ ingress, status, message string }{
		"new":             {`{"spec": {}}`, "Progressing", "no address"},
		"an empty status": {`{"status": {"loadBalancer": {}}}`, "Progressing", "no address"},
		"no entries":      {`{"status": {"loadBalancer": {"ingress": []}}}`, "Progressing", "no address"},
		"served":          {`{"status": {"loadBalancer": {"ingress": [{"hostname": "a.test", "ports": [{"port": 80}]}]}}}`, "Healthy", ""},
		"without ports":   {`{"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}`, "Healthy", ""},
		"one port of two": {`{"status": {"loadBalancer": {"ingress": [{"hostname": "a.test",
			"ports": [{"port": 80}, {"port": 443, "error": "fairlead.dev/CertificateMissing"}]}]}}}`, "Degraded", "port 443: fairlead.dev/CertificateMissing"},
	} {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			unmarshal(t, c.ingress, &object)
			status, message := healthOf(t, found.Data[kind], object)
			if status != c.status || !strings.Contains(message, c.message) {
				t.Errorf("%s, %q", status, message)
			}
		})
	}
}

func healthOf(t *testing.T, script string, object map[string]any) (status, message string) {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	// The library of the language itself. Argo CD opens no file and no process to a script.
	if err := state.CallByParam(lua.P{Fn: state.NewFunction(lua.OpenBase), Protect: true}, lua.LString(lua.BaseLibName)); err != nil {
		t.Fatal(err)
	}
	state.SetGlobal("obj", luaOf(state, object))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	health, is := state.Get(-1).(*lua.LTable)
	if !is {
		t.Fatalf("the script returns %s", state.Get(-1).Type())
	}
	return lua.LVAsString(health.RawGetString("status")), lua.LVAsString(health.RawGetString("message"))
}

func luaOf(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		out := state.NewTable()
		for key, of := range v {
			out.RawSetString(key, luaOf(state, of))
		}
		return out
	case []any:
		out := state.NewTable()
		for _, of := range v {
			out.Append(luaOf(state, of))
		}
		return out
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	}
	return lua.LNil
}

// TestTheHealthCheckForFlux: Flux evaluates `inProgress`, `failed` and `current` in this order, on
// the fields of the object
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#health-check-expressions).
func TestTheHealthCheckForFlux(t *testing.T) {
	var found struct {
		Spec struct{ HealthCheckExprs []map[string]string }
	}
	unmarshal(t, documented(t, "../../docs/how-to/argo-cd-and-flux.md", "(?s)```yaml\n(apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization.*?)```"), &found)
	if n := len(found.Spec.HealthCheckExprs); n != 1 {
		t.Fatalf("%d checks", n)
	}
	const of = `{"status": {"conditions": [%]}}`
	condition := func(kind, status string) string {
		return `{"type": "` + kind + `", "status": "` + status + `"}`
	}
	for name, c := range map[string]struct{ object, want string }{
		"programmed": {strings.Replace(of, "%", condition("Programmed", "True")+","+condition("Degraded", "False"), 1), "current"},
		"waits":      {strings.Replace(of, "%", condition("Programmed", "False")+","+condition("Degraded", "False"), 1), "inProgress"},
		"degraded":   {strings.Replace(of, "%", condition("Programmed", "False")+","+condition("Degraded", "True"), 1), "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			unmarshal(t, c.object, &object)
			if got := verdictOf(t, found.Spec.HealthCheckExprs[0], object); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// verdictOf returns the name of the first expression that is true.
func verdictOf(t *testing.T, expressions map[string]string, object map[string]any) string {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("status", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inProgress", "failed", "current"} {
		tree, issues := env.Compile(expressions[name])
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := env.Program(tree)
		if err != nil {
			t.Fatal(err)
		}
		if out, _, err := program.Eval(object); err != nil {
			t.Fatal(err)
		} else if out.Value() == true {
			return name
		}
	}
	return ""
}

func unmarshal(t *testing.T, text string, into any) {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(asJSON, into); err != nil {
		t.Fatal(err)
	}
}
