package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file tests which attributes are written, in which order with the tags that list them, and
// which are read back.

const list = client.TagWrittenList

// A ledger notes calls, and refuses those that begin with a text.
type ledger struct {
	calls   []string
	refused string
}

func (l *ledger) note(call string) error {
	l.calls = append(l.calls, call)
	if l.refused != "" && strings.HasPrefix(call, l.refused) {
		return awscalls.Refused("AccessDenied", "no")
	}
	return nil
}

// api notes the changes of tags.
func (l *ledger) api() client.API {
	return client.API{ELB: elbapi.NewFromConfig(awscalls.Config(func(in any) (any, error) {
		switch in := in.(type) {
		case *elbapi.AddTagsInput:
			tags := map[string]string{}
			for _, t := range in.Tags {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			return &elbapi.AddTagsOutput{}, l.note(fmt.Sprintf("tag %q", tags[list]))
		case *elbapi.RemoveTagsInput:
			return &elbapi.RemoveTagsOutput{}, l.note(fmt.Sprintf("untag %q", in.TagKeys))
		}
		return nil, l.note(fmt.Sprintf("%T", in))
	}))}
}

// kind notes the attributes that are written.
func (l *ledger) kind(blank bool) Kind {
	return Kind{usual: map[string]string{"idle.timeout": "60"}, blank: blank, Write: func(_ context.Context, _ string, some []Attribute) error {
		var call strings.Builder
		call.WriteString("write")
		for _, a := range some {
			fmt.Fprintf(&call, " %s=%s", aws.ToString(a.Key), aws.ToString(a.Value))
		}
		return l.note(call.String())
	}}
}

func TestAttributesAreListedBeforeTheyAreWritten(t *testing.T) {
	long := strings.Repeat("a", client.ValueLength-10) + ".long"
	for name, c := range map[string]struct {
		blank         bool
		refused       string
		want          map[string]string
		before, after map[string]string
		calls         []string
	}{
		"the first one": {
			want: map[string]string{"idle.timeout": "90"}, after: map[string]string{list: "idle.timeout"},
			calls: []string{`tag "idle.timeout"`, "write idle.timeout=90", `tag "idle.timeout"`},
		},
		"one more": {
			want:   map[string]string{"a.b": "1", "idle.timeout": "90"},
			before: map[string]string{list: "idle.timeout"}, after: map[string]string{list: "a.b idle.timeout"},
			calls: []string{`tag "a.b idle.timeout"`, "write a.b=1 idle.timeout=90", `tag "a.b idle.timeout"`},
		},
		"another value": {
			want:   map[string]string{"idle.timeout": "91"},
			before: map[string]string{list: "idle.timeout"}, after: map[string]string{list: "idle.timeout"},
			calls: []string{"write idle.timeout=91", `tag "idle.timeout"`},
		},
		"none any more": {
			before: map[string]string{list: "idle.timeout"},
			calls:  []string{"write idle.timeout=60", `untag ["` + list + `"]`, `tag ""`},
		},
		"one without a default stays": {
			before: map[string]string{list: "a.b"},
			calls:  []string{`untag ["` + list + `"]`, `tag ""`},
		},
		"the default of one of a listener is empty": {
			blank: true, before: map[string]string{list: "a.b"},
			calls: []string{"write a.b=", `untag ["` + list + `"]`, `tag ""`},
		},
		"what else was written is no attribute": {
			blank: true, before: map[string]string{list: "health tag:a.b"},
			calls: []string{`untag ["` + list + `"]`, `tag ""`},
		},
		"a tag of the list that is not needed in the end": {
			want: map[string]string{"idle.timeout": "90"}, before: map[string]string{list: long}, after: map[string]string{list: "idle.timeout"},
			calls: []string{fmt.Sprintf("tag %q", long), "write idle.timeout=90", `untag ["` + list + `-1"]`, `tag "idle.timeout"`},
		},
		"AWS refuses the tags": {
			refused: "tag", want: map[string]string{"idle.timeout": "90"},
			calls: []string{`tag "idle.timeout"`},
		},
		"AWS refuses the value": {
			refused: "write", want: map[string]string{"idle.timeout": "-1"},
			calls: []string{`tag "idle.timeout"`, "write idle.timeout=-1"},
		},
	} {
		l := &ledger{refused: c.refused}
		c.after = With(c.after, client.TagInstallation, "test")
		err := l.kind(c.blank).WriteAll(t.Context(), l.api(), "arn", c.want, c.before, c.after)
		if diff := cmp.Diff(c.calls, l.calls); diff != "" || (err != nil) != (c.refused != "") || err != nil && !errors.Is(err, providers.ErrDenied) {
			t.Errorf("%s: %v; calls (-want +got):\n%s", name, err, diff)
		}
	}
}

// Each kind is read, and written, by calls of its own.
func TestTheCallsOfEachKind(t *testing.T) {
	for name, of := range map[string]func(*elbapi.Client) Kind{
		"LoadBalancer": func(api *elbapi.Client) Kind { return OfLoadBalancers(api, "") }, "Listener": OfListeners, "TargetGroup": OfTargetGroups,
	} {
		var asked string
		api := elbapi.NewFromConfig(awscalls.Config(func(in any) (any, error) {
			asked = fmt.Sprintf("%T", in)
			return answered(in), nil
		}))
		got, err := of(api).Read(t.Context(), "arn")
		if err != nil || len(got) != 2 || aws.ToString(got[0].Key) != "written.one" || !strings.HasSuffix(asked, ".Describe"+name+"AttributesInput") {
			t.Errorf("%s: %s answers %v, %v", name, asked, got, err)
		}
		if err := of(api).Write(t.Context(), "arn", got); err != nil || !strings.HasSuffix(asked, ".Modify"+name+"AttributesInput") {
			t.Errorf("%s: %s answers %v", name, asked, err)
		}
		refusing := elbapi.NewFromConfig(awscalls.Config(func(any) (any, error) { return nil, awscalls.Refused("AccessDenied", "no") }))
		if _, err := of(refusing).Read(t.Context(), "arn"); err == nil {
			t.Errorf("%s: a refusal is no error", name)
		}
	}
}

// answered is the answer of a call: each resource has an attribute that was written, and another.
func answered(in any) any {
	written, other := aws.String("written.one"), aws.String("other.one")
	switch in.(type) {
	case *elbapi.DescribeLoadBalancerAttributesInput:
		return &elbapi.DescribeLoadBalancerAttributesOutput{Attributes: []elb.LoadBalancerAttribute{{Key: written, Value: written}, {Key: other, Value: other}}}
	case *elbapi.DescribeListenerAttributesInput:
		return &elbapi.DescribeListenerAttributesOutput{Attributes: []elb.ListenerAttribute{{Key: written, Value: written}, {Key: other, Value: other}}}
	case *elbapi.DescribeTargetGroupAttributesInput:
		return &elbapi.DescribeTargetGroupAttributesOutput{Attributes: []elb.TargetGroupAttribute{{Key: written, Value: written}, {Key: other, Value: other}}}
	case *elbapi.ModifyLoadBalancerAttributesInput:
		return &elbapi.ModifyLoadBalancerAttributesOutput{}
	case *elbapi.ModifyListenerAttributesInput:
		return &elbapi.ModifyListenerAttributesOutput{}
	}
	return &elbapi.ModifyTargetGroupAttributesOutput{}
}

// lookAt is a look at a load balancer, a listener and so many target groups. All but one group have
// attributes that were written.
func lookAt(groups int) *Look {
	l := &Look{
		Deep: true, Balancer: &elb.LoadBalancer{LoadBalancerArn: aws.String("arn:1")}, Listeners: []elb.Listener{{ListenerArn: aws.String("arn:2")}},
		Tags:       map[string]map[string]string{"arn:1": {list: "written.one"}, "arn:2": {list: "written.one"}},
		Attributes: map[string]map[string]string{}, Assumed: map[string]bool{},
	}
	for i := range groups {
		arn := fmt.Sprint("arn:", i+3)
		l.Groups = append(l.Groups, elb.TargetGroup{TargetGroupArn: aws.String(arn)})
		l.Tags[arn] = map[string]string{list: "written.one health"}
	}
	l.Groups = append(l.Groups, elb.TargetGroup{TargetGroupArn: aws.String("arn:untouched")})
	l.Tags["arn:untouched"] = map[string]string{list: "health"}
	return l
}

func TestAttributesThatWereWrittenAreReadBack(t *testing.T) {
	read := map[string]string{"written.one": "written.one"}
	for name, c := range map[string]struct {
		change  func(*Look)
		refused string // the input of a call that AWS refuses
		want    map[string]map[string]string
		assumed map[string]bool
		err     string
	}{
		"all":            {func(*Look) {}, "", map[string]map[string]string{"arn:1": read, "arn:2": read, "arn:3": read}, nil, ""},
		"nothing is due": {func(l *Look) { l.Deep = false }, "all", nil, nil, ""},
		"no balancer":    {func(l *Look) { *l = Look{Deep: true} }, "all", nil, nil, ""},
		"those of one are refused": {
			func(*Look) {}, "DescribeListenerAttributesInput",
			map[string]map[string]string{"arn:1": read, "arn:3": read}, map[string]bool{"arn:2": true},
			"reading the attributes of arn:2: AccessDenied",
		},
		"all are refused": {
			func(*Look) {}, "Describe", nil, map[string]bool{"arn:1": true, "arn:2": true, "arn:3": true},
			"reading the attributes of arn:1, arn:2, arn:3: AccessDenied",
		},
	} {
		l := lookAt(1)
		c.change(l)
		api := elbapi.NewFromConfig(awscalls.Config(func(in any) (any, error) {
			if c.refused != "" && (c.refused == "all" || strings.Contains(fmt.Sprintf("%T", in), c.refused)) {
				return nil, awscalls.Refused("AccessDenied", "no")
			}
			return answered(in), nil
		}))
		err := ReadAttributes(t.Context(), api, l)
		if (err != nil) != (c.err != "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
		if len(l.Attributes) != len(c.want) || c.want != nil && !cmp.Equal(l.Attributes, c.want) || len(l.Assumed) != len(c.assumed) || c.assumed != nil && !cmp.Equal(l.Assumed, c.assumed) {
			t.Errorf("%s: read %v, and not read %v", name, l.Attributes, l.Assumed)
		}
	}
}

// Few calls are made at once, however many target groups there are.
func TestAttributesAreReadFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Int32
		var seen []int32
		api := elbapi.NewFromConfig(awscalls.Config(func(in any) (any, error) {
			now.Add(1)
			defer now.Add(-1)
			time.Sleep(time.Second)
			return answered(in), nil
		}))
		go func() {
			for range 5 {
				time.Sleep(500 * time.Millisecond)
				seen = append(seen, now.Load())
				time.Sleep(500 * time.Millisecond)
			}
		}()
		l := lookAt(2*client.ParallelReads - 2)
		if err := ReadAttributes(t.Context(), api, l); err != nil || len(l.Attributes) != 2*client.ParallelReads {
			t.Errorf("%d are read, %v", len(l.Attributes), err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !slices.Equal(seen, []int32{client.ParallelReads, client.ParallelReads, 0, 0, 0}) {
			t.Errorf("%d calls at once, want %d", seen, client.ParallelReads)
		}
	})
}
