package alb

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	acm "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/nightly"
)

// This file has AWS leave things out of answers that succeed. The SDK takes each field of an answer
// for optional.

// A lack is what an answer is without.
type lack struct {
	name string
	of   func(out reflect.Value)
}

// An incomplete is a call whose answers lack something.
type incomplete struct {
	call string
	lack
}

var lacks = []lack{
	{"everything", func(out reflect.Value) { out.SetZero() }},
	{"what is in its lists", func(out reflect.Value) {
		for i := range out.NumField() {
			if f := out.Field(i); f.Kind() == reflect.Slice && f.Len() > 0 {
				f.Set(reflect.MakeSlice(f.Type(), f.Len(), f.Len()))
			}
		}
	}},
	{"what is inside of what it lists", func(out reflect.Value) {
		for i := range out.NumField() {
			f := out.Field(i)
			if f.Kind() != reflect.Slice || f.Len() == 0 || f.Type().Elem().Kind() != reflect.Struct {
				continue
			}
			shallow := reflect.MakeSlice(f.Type(), f.Len(), f.Len())
			for j := range f.Len() {
				shallow.Index(j).Set(shallowly(f.Index(j)))
			}
			f.Set(shallow)
		}
	}},
}

// shallowly is a thing without what is more than a text or a number.
func shallowly(of reflect.Value) reflect.Value {
	out := reflect.New(of.Type()).Elem()
	for i := range of.NumField() {
		f := of.Field(i)
		inner := f.Kind() == reflect.Slice || f.Kind() == reflect.Pointer && f.Type().Elem().Kind() == reflect.Struct
		if of.Type().Field(i).IsExported() && !inner {
			out.Field(i).Set(f)
		}
	}
	return out
}

// actionIn is the name of the call that an input is of.
func actionIn(in any) string {
	return strings.TrimSuffix(reflect.TypeOf(in).Elem().Name(), "Input")
}

// wholeLife makes a load balancer with one of everything, looks at it deeply, changes it and
// deletes it. The errors are those of the tries that failed.
func wholeLife(w *world) []error {
	var errs []error
	settle := func() {
		for range 60 {
			rests, err := w.try()
			if rests {
				return
			}
			errs = append(errs, err)
			time.Sleep(patience)
		}
		w.Errorf("it does not come to rest: %v", errors.Join(errs...))
	}
	full(w)
	settle()
	if _, err := w.cloud.Observe(w.Context(), w.key, true); err != nil {
		errs = append(errs, err)
	}
	w.service("web", 2)
	w.ask("site", "health-check-path", "/up")
	w.serve("third", map[string]string{"/": "web"})
	w.ask("third", "certificate-arn", w.sim.Issue(time.Now().AddDate(1, 0, 0), acm.CertificateStatusIssued, "third.example.com"))
	settle()
	w.restart()
	settle()
	for _, name := range []string{"third", "site", "more"} {
		w.remove(name)
		settle()
	}
	return errs
}

func TestAnswersMayBeIncomplete(t *testing.T) {
	calls := map[string]bool{}
	inBubble(t, slow(), func(w *world) {
		w.sim.Amend(func(in, _ any) error {
			calls[actionIn(in)] = true
			return nil
		})
		wholeLife(w)
	})
	if len(calls) < 38 {
		t.Fatalf("only these calls are made: %v", slices.Sorted(maps.Keys(calls)))
	}
	delete(calls, "DescribeSubnets") // an answer without subnets says that there are none: a VPC may have none
	var all []incomplete
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		for _, l := range lacks {
			all = append(all, incomplete{call, l})
		}
	}
	for _, c := range nightly.Some(t, 40, all) {
		t.Run(c.call+" without "+c.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, slow(), func(w *world) {
				left := 3
				w.sim.Amend(func(in, out any) error {
					if actionIn(in) == c.call && left > 0 {
						left--
						c.of(reflect.ValueOf(out).Elem())
					}
					return nil
				})
				for _, err := range wholeLife(w) {
					var panicked *providers.Panic
					if errors.As(err, &panicked) {
						t.Error(err)
					}
				}
				if len(w.rejections) > 0 {
					t.Errorf("it is held against %v", w.rejections)
				}
			})
		})
	}
}
