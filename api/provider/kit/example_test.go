package kit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"fairlead.dev/fairlead/api/provider/kit"
	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// A memory is a provider whose load balancers are target groups and nothing else.
type memory struct {
	mu     sync.Mutex
	groups map[string]map[string]*v1.TargetGroup // by key and ID
}

func (m *memory) Capabilities() v1.Capabilities {
	return v1.Capabilities{
		Name: "memory", Versions: []int{v1.Version}, Conditions: v1.ConditionCapabilities{Fields: []string{"host", "path"}},
		Limits: v1.Limits{MinPriority: 1, MaxPriority: 1000}, Calls: v1.CallCapabilities{StepsPerApply: 10},
	}
}

func (m *memory) Lookup(context.Context, v1.Questions) (v1.Facts, error) { return v1.Facts{}, nil }

func (m *memory) List(context.Context) ([]string, error) { return nil, nil }

func (m *memory) Observe(_ context.Context, key string, _ bool) (v1.Observed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := v1.Observed{Key: key}
	for id, g := range m.groups[key] {
		o.TargetGroups = append(o.TargetGroups, v1.ObservedTargetGroup{ID: id, Service: g.Service, Port: g.Port})
	}
	return o, nil
}

func (m *memory) Active(context.Context, string) (bool, error) { return false, nil }

func (m *memory) Apply(_ context.Context, key string, steps []v1.Step) ([]v1.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	results := make([]v1.Result, len(steps))
	for i, s := range steps {
		if s.Op != v1.CreateTargetGroup {
			results[i].Problem = v1.NewProblem(v1.ProblemRejected, fmt.Sprintf("%s is not supported", s.Op))
			continue
		}
		if m.groups[key] == nil {
			m.groups[key] = map[string]*v1.TargetGroup{}
		}
		m.groups[key][s.TargetGroup.ID] = s.TargetGroup
		results[i].Handle = "memory-" + s.TargetGroup.ID
	}
	return results, nil
}

func (m *memory) Targets(context.Context, string, string) ([]v1.TargetHealth, error) { return nil, nil }

func (m *memory) SetTargets(context.Context, string, string, []v1.Target) error { return nil }

// A program calls Listen of the server; this one sends it two requests.
func Example() {
	server := httptest.NewServer(kit.New(&memory{groups: map[string]map[string]*v1.TargetGroup{}}, kit.Options{}))
	defer server.Close()
	for _, step := range []string{
		`{"op":"createTargetGroup","targetGroup":{"id":"g","service":"shop/web","port":"80","settings":{"healthCheck":{}}}}`,
		`{"op":"createTargetGroup","targetGroup":{"id":"g","colour":"blue"}}`,
	} {
		body := strings.NewReader(`{"steps":[{"id":"1","step":` + step + `}]}`)
		response, err := http.Post(server.URL+v1.PathSteps+"?key=shop", v1.MediaType, body)
		if err != nil {
			fmt.Println(err)
			return
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		fmt.Println(response.StatusCode, string(text))
	}
	// Output:
	// 200 {"results":[{"id":"1","handle":"memory-g"}]}
	// 422 {"type":"urn:fairlead:problem:unknown","title":"unknown","status":422,"detail":"the body has an unknown field \"steps[0].step.targetGroup.colour\""}
}
