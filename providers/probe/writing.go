package probe

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file tests calls that change the load balancer of the run.

// requiredTrial is the ID of the trial that all later ones need.
const requiredTrial = "provider/twice-at-once"

var writing = []trial{
	{"provider/unknown-op", "a step of an op that is not known is refused",
		"refuse it with the problem unknown",
		func(p *probe, ctx context.Context) error {
			id := rand.Text()
			a, err := p.steps(ctx, id, v1.Step{Op: "fairleadCheck"})
			if err != nil {
				return err
			}
			return expectStepProblem(a, id, v1.ProblemUnknown)
		}},
	{"provider/cut-off", "a step whose request is cut off is not carried out", "carry out nothing of a request that is not whole", (*probe).cutOff},
	{requiredTrial, "a step that comes twice at once is carried out once, with one result",
		"keep the result of each step ID for ten minutes, and let a second request of the ID wait for " +
			"the first", (*probe).createAtOnce},
	{"provider/other-step", "the ID of one step is refused for another one",
		"refuse it with the problem malformed",
		func(p *probe, ctx context.Context) error {
			id := rand.Text()
			if r, err := p.sendStep(ctx, id, p.loadBalancer()); err != nil {
				return err
			} else if r.Problem != nil {
				return fmt.Errorf("the step createLoadBalancer failed: %w", r.Problem)
			}
			a, err := p.steps(ctx, id, p.targetGroup(group+"-other"))
			if err != nil {
				return err
			}
			return expectStepProblem(a, id, v1.ProblemMalformed)
		}},
	{"provider/true-already", "a step that is true already succeeds and changes nothing", "look what there is before something is made", (*probe).repeatSteps},
	{"provider/listed", "a load balancer that exists is listed",
		"list the keys of all load balancers, also of those that are being deleted",
		func(p *probe, ctx context.Context) error { return p.expectListed(ctx, true) }},
	{"provider/targets", "members that are put twice are there once", "make PUT /load-balancer/targets replace the members, and answer with 204", (*probe).setTargets},
	{"provider/certificate", "a certificate that is imported is reported, with its names", "tell the certificates that steps imported in GET /load-balancer", (*probe).importCertificate},
	{"provider/client-secret", "a step with a client secret is carried out or rejected", "reject what the provider cannot do with the problem rejected", (*probe).signIn},
	{"provider/batch", "several steps of one call have a result each, and one that fails does not " +
		"keep the others from being done",
		"carry out each step by itself; or say with calls.stepsPerApply that one is taken",
		(*probe).sendBatch},
	{"provider/timeout", "a step is not begun when its Fairlead-Timeout is over",
		"count the milliseconds from when the header of the request is read, and look again before " +
			"each step", (*probe).sendLate},
}

// expectStepProblem returns an error unless a call, or its one step, is refused with a type of
// problem.
func expectStepProblem(a answer, id string, want v1.ProblemType) error {
	if a.status != http.StatusOK {
		return expectProblem(a, []int{400, 422}, want)
	}
	r, err := a.result(id)
	if err != nil {
		return err
	}
	switch {
	case r.Problem == nil:
		return fmt.Errorf("the step succeeded; it has to have a problem of the type %q", want)
	case r.Problem.Type != want:
		return fmt.Errorf("the step has a problem of the type %q, not %q", r.Problem.Type, want)
	}
	return nil
}

// errCut ends a request that is cut off.
var errCut = errors.New("cut off")

// cutBody is the end of a body that ends early.
type cutBody struct{}

func (cutBody) Read([]byte) (int, error) { return 0, errCut }

func (p *probe) cutOff(ctx context.Context) error {
	step := v1.Requested{ID: rand.Text(), Step: p.targetGroup(group)}
	body, err := json.Marshal(v1.Apply{Steps: []v1.Requested{step}})
	if err != nil {
		return fmt.Errorf("writing a step: %w", err)
	}
	// The JSON is complete. Only the length shows that the request is not.
	r := request{method: http.MethodPost, path: v1.PathSteps, query: url.Values{"key": {p.key}},
		reader: io.MultiReader(bytes.NewReader(body), cutBody{}), length: int64(len(body)) + 100}
	if a, err := p.send(ctx, r); err == nil && a.status < 400 {
		return fmt.Errorf("it answered a request that was cut off with the status %d", a.status)
	}
	if err := pause(ctx, p.Pause); err != nil {
		return err
	}
	seen, err := p.observe(ctx)
	if err == nil && len(seen.TargetGroups) > 0 {
		err = errors.New("the target group is there")
	}
	return err
}

// createAtOnce sends the step that creates the load balancer several times at once, with the same
// ID.
func (p *probe) createAtOnce(ctx context.Context) error {
	for {
		const times = 4
		var (
			id      = rand.Text()
			results [times]v1.Result
			errs    [times]error
			wait    sync.WaitGroup
		)
		for i := range times {
			wait.Go(func() { results[i], errs[i] = p.sendStep(ctx, id, p.loadBalancer()) })
		}
		wait.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
		one, _ := json.Marshal(results[0]) // it was read from JSON
		for _, r := range results[1:] {
			if other, _ := json.Marshal(r); !bytes.Equal(one, other) {
				return fmt.Errorf("the results differ: %s and %s", one, other)
			}
		}
		problem := results[0].Problem
		if problem == nil {
			return nil
		}
		if !isTemporary(problem) {
			return fmt.Errorf("the step createLoadBalancer failed: %w", problem)
		}
		if err := p.waitFor(ctx, problem); err != nil {
			return err
		}
	}
}

// repeatSteps repeats steps with other IDs.
func (p *probe) repeatSteps(ctx context.Context) error {
	var before v1.Observed
	for again := range 2 {
		for _, s := range []v1.Step{p.loadBalancer(), p.targetGroup(group)} {
			if err := p.step(ctx, s); err != nil {
				return err
			}
		}
		seen, err := p.observe(ctx)
		if err != nil {
			return err
		}
		switch {
		case !seen.Exists:
			return errors.New("the load balancer that was made does not exist")
		case len(seen.TargetGroups) != 1 || seen.TargetGroups[0].ID != group:
			return fmt.Errorf("it has %d target groups; one was made, %s", len(seen.TargetGroups), group)
		case seen.Settings == nil && seen.Digest == "" || seen.TargetGroups[0].Settings == nil &&
			seen.TargetGroups[0].Digest == "":
			return errors.New("it tells neither the settings nor the digest that came with them")
		case again > 0 &&
			(seen.Handle != before.Handle || seen.TargetGroups[0].Handle != before.TargetGroups[0].Handle):
			return fmt.Errorf("the handles were %q and %q, and are %q and %q", before.Handle,
				before.TargetGroups[0].Handle, seen.Handle, seen.TargetGroups[0].Handle)
		}
		before = seen
	}
	return nil
}

// expectListed returns an error unless the key is in the list, or is not in it.
func (p *probe) expectListed(ctx context.Context, want bool) error {
	var reply v1.LoadBalancerList
	if err := p.get(ctx, v1.PathLoadBalancers, nil, &reply); err != nil {
		return err
	}
	if is := slices.Contains(reply.Keys, p.key); is != want {
		return fmt.Errorf("%q is listed: %v", p.key, is)
	}
	return nil
}

// setTargets sets members twice, then none. The address is reserved for documentation (RFC 5737),
// and does not exist.
func (p *probe) setTargets(ctx context.Context) error {
	query := url.Values{"key": {p.key}, "group": {group}}
	member := v1.TargetHealth{Address: "192.0.2.1", Port: 8080}
	for _, members := range [][]v1.TargetHealth{{member}, {member}, {}} {
		body, err := json.Marshal(v1.TargetList{Targets: members})
		if err != nil {
			return fmt.Errorf("writing members: %w", err)
		}
		a, err := p.send(ctx,
			request{method: http.MethodPut, path: v1.PathTargets, query: query, body: body})
		if err != nil {
			return err
		}
		if p, _ := a.problem(); p.Type == v1.ProblemRejected { // another answer has no type
			return errSkipped("it takes no member " + member.Address + ": " + p.Error())
		}
		if a.status != http.StatusNoContent {
			return a.unexpectedStatus("204")
		}
		var reply v1.TargetList
		if err := p.get(ctx, v1.PathTargets, query, &reply); err != nil {
			return err
		}
		reply.Targets = slices.DeleteFunc(reply.Targets, func(t v1.TargetHealth) bool {
			return t.State == "draining"
		})
		same := slices.EqualFunc(members, reply.Targets, func(a, b v1.TargetHealth) bool {
			return a.Address == b.Address && a.Port == b.Port
		})
		if !same {
			return fmt.Errorf("the members that were put are %v, those that are reported are %v", members,
				reply.Targets)
		}
	}
	return nil
}

// deletionTrial deletes all objects, twice.
var deletionTrial = trial{
	"provider/deleted", "what was made is deleted, and a deletion that comes again succeeds",
	"let a step that deletes what is not there succeed; delete what is left of the key by hand",
	(*probe).clear,
}

func (p *probe) clear(ctx context.Context) error {
	ctx, end := context.WithTimeout(ctx, p.CleanupTimeout)
	defer end()
	// A repeated step is answered when the step is done. Then its objects can be observed.
	for _, r := range p.unanswered {
		_, _ = p.send(ctx, r) // its objects are deleted below
	}
	seen, err := p.observe(ctx)
	if err != nil {
		return fmt.Errorf("of %s may be left: %w", p.key, err)
	}
	steps := []v1.Step{{Op: v1.DeleteLoadBalancer}}
	for _, g := range seen.TargetGroups {
		steps = append(steps, v1.Step{Op: v1.DeleteTargetGroup, TargetGroupID: g.ID})
	}
	for _, c := range seen.Certificates {
		steps = append(steps, v1.Step{Op: v1.DeleteCertificate, CertificateID: c.ID})
	}
	if seen.Firewall != "" {
		steps = append(steps, v1.Step{Op: v1.DeleteFirewall})
	}
	var failed error
	for _, s := range steps {
		for range 2 {
			if err := p.step(ctx, s); err != nil {
				failed = errors.Join(failed, err)
			}
		}
	}
	seen, err = p.observe(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("of %s may be left: %w", p.key, err)
	case seen.Exists || len(seen.TargetGroups)+len(seen.Certificates) > 0 || seen.Firewall != "":
		err = fmt.Errorf("of %s there are left: load balancer %v, target groups %d, certificates %d, "+
			"firewall %q", p.key, seen.Exists, len(seen.TargetGroups), len(seen.Certificates), seen.Firewall)
	default:
		err = p.expectListed(ctx, false)
	}
	return errors.Join(failed, err)
}
