package providertest_test

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/providertest"
)

// subject is a fake cloud that is to keep the contract, and how it is reached.
func subject(t *testing.T, around func(*fake.Cloud) providers.Provider) (*fake.Cloud, providertest.Subject) {
	t.Helper()
	cloud, err := fake.New(fake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	target, spare := providertest.Listening(t), providertest.Listening(t)
	return cloud, providertest.Subject{
		Provider: around(cloud), Prefix: "check/", Target: &target, Spare: &spare, StepTimeout: 100 * time.Millisecond, CleanupTimeout: time.Minute,
	}
}

func asItIs(c *fake.Cloud) providers.Provider { return c }

// states are what was found, by ID.
func states(findings []check.Finding) map[string]check.State {
	out := map[string]check.State{}
	for _, f := range findings {
		out[f.ID] = f.State
	}
	return out
}

func count(findings []check.Finding, state check.State) int {
	n := 0
	for _, f := range findings {
		if f.State == state {
			n++
		}
	}
	return n
}

// nothingLeft looks that what is not of the run is there, and nothing else.
func nothingLeft(t *testing.T, cloud *fake.Cloud, others ...lb.Key) {
	t.Helper()
	if keys, err := cloud.List(context.Background()); err != nil || !slices.Equal(keys, others) {
		t.Errorf("left: %v, %v", keys, err)
	}
}

func TestTheFakeCloudKeepsTheContract(t *testing.T) {
	cloud, s := subject(t, asItIs)
	var mu sync.Mutex
	group := plan.CreateTargetGroup{Group: lb.TargetGroup{ID: "web"}}
	if _, err := cloud.Apply(t.Context(), &lb.Observed{Key: "of/others"}, group); err != nil {
		t.Fatal(err)
	}
	said, most := 0, 0
	s.OnClause = func(string) { said++ }
	s.Provider = wrong{Cloud: cloud, apply: func(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
		keys, err := cloud.List(ctx)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		most = max(most, len(keys))
		mu.Unlock()
		return cloud.Apply(ctx, seen, step)
	}}
	findings := providertest.Check(t.Context(), s)
	for _, f := range findings {
		if f.State != check.OK {
			t.Errorf("%s: %s: %s", f.ID, f.State, f.Detail)
		}
	}
	if said != 12 || len(findings) != said+2 {
		t.Errorf("%d clauses were tried, with %d findings", said, len(findings))
	}
	if most != 3 { // with the one of others
		t.Errorf("there were %d load balancers at once", most)
	}
	nothingLeft(t, cloud, "of/others")
}

func TestWithoutATarget(t *testing.T) {
	cloud, s := subject(t, asItIs)
	s.Target = nil
	findings := providertest.Check(t.Context(), s)
	for _, f := range findings {
		skipped := f.ID == "contract/targets" || f.ID == "contract/registerTargets"
		if (f.State != check.OK) != skipped || strings.HasPrefix(f.Detail, "skipped: ") != skipped {
			t.Errorf("%s: %s: %s", f.ID, f.State, f.Detail)
		}
	}
	nothingLeft(t, cloud)
}

// TestATargetThatIsNone has a cloud that rejects it.
func TestATargetThatIsNone(t *testing.T) {
	for supposed, want := range map[bool]check.State{true: check.OK, false: check.Wrong} {
		cloud, s := subject(t, func(c *fake.Cloud) providers.Provider {
			return wrong{Cloud: c, apply: func(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
				if _, ok := step.(plan.RegisterTargets); ok {
					return plan.Result{}, providers.ErrRejected
				}
				return c.Apply(ctx, seen, step)
			}}
		})
		s.TargetOptional = supposed
		got := states(providertest.Check(t.Context(), s))
		if got["contract/arrives"] != want || supposed != (got["contract/target"] == check.Unknown) || supposed != (got["contract/targets"] == check.Unknown) {
			t.Errorf("supposed: %v; found %v", supposed, got)
		}
		nothingLeft(t, cloud)
	}
}

// limited is a cloud whose load balancers have one listener, and rules that forward to one target
// group.
type limited struct{ *fake.Cloud }

func (c limited) Capabilities(class lb.Class) lb.Capabilities {
	out := c.Cloud.Capabilities(class)
	out.Listeners, out.TargetsPerForward = 1, 1
	return out
}

func (c limited) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if l, ok := step.(plan.CreateListener); ok && l.Listener.Port != 80 {
		return plan.Result{}, providers.ErrRejected
	}
	if r, ok := step.(plan.CreateRule); ok && len(r.Rule.Action.Targets) > 1 {
		return plan.Result{}, providers.ErrRejected
	}
	return c.Cloud.Apply(ctx, seen, step)
}

func TestWhatItCannotHaveIsLeftOut(t *testing.T) {
	cloud, s := subject(t, func(c *fake.Cloud) providers.Provider { return limited{c} })
	leftOut := 0
	for _, f := range providertest.Check(t.Context(), s) {
		if f.State == check.Unknown && (f.ID == "contract/left-out" || f.ID == "contract/modifyListener") {
			leftOut++
		} else if f.State != check.OK {
			t.Errorf("%s: %s: %s", f.ID, f.State, f.Detail)
		}
	}
	if leftOut != 3 {
		t.Errorf("%d are left out", leftOut)
	}
	nothingLeft(t, cloud)
}

// TestABareCloud has neither HTTPS nor targets that are Pods, and one status of redirects. The fake
// refuses every step that its capabilities exclude.
func TestABareCloud(t *testing.T) {
	c := lb.Literal()
	c.NoHTTPS, c.RedirectStatuses, c.TargetTypesRefused = true, []int{308}, []string{"ip"}
	cloud, err := fake.New(fake.Options{Capabilities: c})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	target, spare := providertest.Listening(t), providertest.Listening(t)
	findings := providertest.Check(t.Context(), providertest.Subject{Provider: cloud, Prefix: "check/", Target: &target, Spare: &spare, StepTimeout: 100 * time.Millisecond, CleanupTimeout: time.Minute})
	for _, f := range findings {
		if leftOut := f.ID == "contract/left-out" || f.ID == "contract/modifyListener"; f.State != check.OK && !(leftOut && f.State == check.Unknown) {
			t.Errorf("%s: %s: %s", f.ID, f.State, f.Detail)
		}
	}
	nothingLeft(t, cloud)
}

// narrowed excludes redirects with the status of the stages, once these are made up.
type narrowed struct {
	*fake.Cloud
	asked *atomic.Int64
}

func (n narrowed) Capabilities(class lb.Class) lb.Capabilities {
	c := n.Cloud.Capabilities(class)
	if n.asked.Add(1) > 1 {
		c.RedirectStatuses = []int{308}
	}
	return c
}

// TestStepsThatAreExcludedAreADefectOfFairlead has plans with steps that capabilities exclude. They
// do not get to the provider.
func TestStepsThatAreExcludedAreADefectOfFairlead(t *testing.T) {
	_, s := subject(t, func(c *fake.Cloud) providers.Provider { return narrowed{c, new(atomic.Int64)} })
	for _, f := range providertest.Check(t.Context(), s) {
		if says := strings.Contains(f.Detail, "with a redirect with status 301, which the capabilities exclude: report this as a defect of Fairlead"); f.ID == "contract/kept" && !says {
			t.Errorf("%s: %s", f.State, f.Detail)
		}
	}
}

// A wrong cloud does some things in another way than the contract wants.
type wrong struct {
	*fake.Cloud
	list       func([]lb.Key) []lb.Key
	apply      func(context.Context, *lb.Observed, plan.Step) (plan.Result, error)
	setTargets func(want []lb.Target) []lb.Target
	observe    func(*lb.Observed)
}

func (c wrong) List(ctx context.Context) ([]lb.Key, error) {
	keys, err := c.Cloud.List(ctx)
	if c.list != nil {
		keys = c.list(keys)
	}
	return keys, err
}

func (c wrong) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if c.apply != nil {
		return c.apply(ctx, seen, step)
	}
	return c.Cloud.Apply(ctx, seen, step)
}

func (c wrong) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	if c.setTargets != nil {
		want = c.setTargets(want)
	}
	return c.Cloud.SetTargets(ctx, key, group, want)
}

func (c wrong) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	seen, err := c.Cloud.Observe(ctx, key, deep)
	if err == nil && c.observe != nil {
		c.observe(seen)
	}
	return seen, err
}

// TestFindsWhatIsWrong has a cloud for each clause that does not keep it.
func TestFindsWhatIsWrong(t *testing.T) {
	said := map[string]string{
		"contract/missing": "exists: reported true, want false",
		"contract/kept":    `: listeners[80].handle: reported "another", want "fake-`,
		"contract/arrives": `listeners[80].default.fixed.status: reported 418, want 404`,
	}
	for id, broken := range map[string]func(*fake.Cloud) wrong{
		"contract/missing": func(c *fake.Cloud) wrong {
			return wrong{Cloud: c, observe: func(o *lb.Observed) { o.Exists = true }}
		},
		"contract/kept": func(c *fake.Cloud) wrong {
			return wrong{Cloud: c, observe: func(o *lb.Observed) {
				for i := range o.Listeners {
					o.Listeners[i].Handle = "another"
				}
			}}
		},
		"contract/arrives": func(c *fake.Cloud) wrong {
			return wrong{Cloud: c, observe: func(o *lb.Observed) {
				for i := range o.Listeners {
					o.Listeners[i].Default = lb.Action{Kind: "fixed", Status: 418}
				}
			}}
		},
		"contract/twice": func(c *fake.Cloud) wrong {
			return wrong{Cloud: c, apply: func(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
				if _, ok := step.(plan.CreateListener); ok {
					if there, _ := c.Observe(ctx, seen.Key, false); len(there.Listeners) > 0 && len(seen.Listeners) == 0 {
						return plan.Result{}, providers.ErrRejected
					}
				}
				return c.Apply(ctx, seen, step)
			}}
		},
		"contract/createListener": func(c *fake.Cloud) wrong { // overwrites the listener
			return wrong{Cloud: c, apply: func(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
				result, err := c.Apply(ctx, seen, step)
				if s, ok := step.(plan.CreateListener); ok && err == nil {
					_, err = c.Apply(ctx, seen, plan.ModifyListener(s))
				}
				return result, err
			}}
		},
		"contract/modifyListener": func(c *fake.Cloud) wrong { // replaces the whole list
			return wrong{Cloud: c, apply: func(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
				result, err := c.Apply(ctx, seen, step)
				s, ok := step.(plan.ModifyListener)
				if !ok || err != nil {
					return result, err
				}
				there, err := c.Observe(ctx, seen.Key, false)
				if err != nil {
					return result, err
				}
				for _, id := range there.Listener(s.Listener.Port).Certificates {
					if !slices.Contains(s.Listener.Certificates, id) {
						_, err = c.Apply(ctx, seen, plan.DetachCertificate{Port: s.Listener.Port, Certificate: id})
					}
				}
				for _, id := range s.Listener.Certificates {
					if err == nil {
						_, err = c.Apply(ctx, seen, plan.AttachCertificate{Port: s.Listener.Port, Certificate: id})
					}
				}
				return result, err
			}}
		},
		"contract/registerTargets": func(c *fake.Cloud) wrong { // replaces the members
			return wrong{Cloud: c, apply: func(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
				if s, ok := step.(plan.RegisterTargets); ok {
					return plan.Result{}, c.SetTargets(ctx, seen.Key, s.Group, s.Targets)
				}
				return c.Apply(ctx, seen, step)
			}}
		},
		"contract/renumberRules": func(c *fake.Cloud) wrong { // makes the rule anew, with another handle
			return wrong{Cloud: c, apply: func(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
				s, ok := step.(plan.RespaceRules)
				if !ok {
					return c.Apply(ctx, seen, step)
				}
				for from, to := range s.To {
					there := seen.Listener(s.Port).Rule(from)
					if there == nil {
						continue
					}
					if _, err := c.Apply(ctx, seen, plan.DeleteRule{Port: s.Port, Priority: from, Rule: there.Rule}); err != nil {
						return plan.Result{}, err
					}
					if _, err := c.Apply(ctx, seen, plan.CreateRule{Port: s.Port, Priority: to, Rule: there.Rule}); err != nil {
						return plan.Result{}, err
					}
				}
				return plan.Result{}, nil
			}}
		},
		"contract/targets": func(c *fake.Cloud) wrong {
			return wrong{Cloud: c, setTargets: func(want []lb.Target) []lb.Target { return want[:min(1, len(want))] }}
		},
		"contract/listed": func(c *fake.Cloud) wrong {
			return wrong{Cloud: c, list: func([]lb.Key) []lb.Key { return nil }}
		},
		"contract/deleted": func(c *fake.Cloud) wrong {
			return wrong{Cloud: c, apply: func(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
				if _, ok := step.(plan.DeleteTargetGroup); ok {
					return plan.Result{}, providers.ErrDenied
				}
				return c.Apply(ctx, seen, step)
			}}
		},
		"contract/place": func(c *fake.Cloud) wrong { return wrong{Cloud: c} },
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			_, s := subject(t, func(c *fake.Cloud) providers.Provider { return broken(c) })
			if id == "contract/place" {
				s.Settings = `{"nothing":"knows this"}`
			}
			findings := providertest.Check(t.Context(), s)
			if alone := strings.Contains(id, "Listener") || id == "contract/renumberRules" || id == "contract/registerTargets"; alone && count(findings, check.Wrong) != 1 {
				t.Errorf("other clauses find it, too: %v", states(findings))
			}
			if states(findings)[id] != check.Wrong {
				t.Errorf("not found; found: %v", states(findings))
			}
			for _, f := range findings {
				if words := said[f.ID]; f.ID == id && (!strings.Contains(f.Detail, words) || strings.Contains(f.Detail, "lb.")) {
					t.Errorf("it does not say %q in the words of the protocol: %s", words, f.Detail)
				}
			}
		})
	}
}

// TestInterrupted ends a run while it makes things.
func TestInterrupted(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	cloud, s := subject(t, func(c *fake.Cloud) providers.Provider {
		return wrong{Cloud: c, apply: func(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
			if _, ok := step.(plan.CreateRule); ok {
				end()
			}
			return c.Apply(ctx, seen, step)
		}}
	})
	got := states(providertest.Check(ctx, s))
	if got["contract/interrupted"] != check.Unknown || got["contract/deleted"] != check.OK || len(got) > 5 {
		t.Errorf("found: %v", got)
	}
	nothingLeft(t, cloud)
}

// TestNoTestsInTheBinary keeps package testing, with its flags, out of what users run.
func TestNoTestsInTheBinary(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "fairlead.dev/fairlead").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if slices.Contains(linked, "testing") || !slices.Contains(linked, "fairlead.dev/fairlead/cli") {
		t.Errorf("package testing is linked, or too little is listed: %d packages", len(linked))
	}
}
