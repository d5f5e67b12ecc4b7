package v1alpha1

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file has the states of a load balancer that is taken over, and its bindings, which are most of its record.

// DefaultKeepOld is KeepOld of a class that does not say it.
const DefaultKeepOld = 7 * 24 * time.Hour

// KeepsOld returns how long parts of the other controller that are no longer used stay.
func (a *Adoption) KeepsOld() time.Duration {
	if a.KeepOld == nil {
		return DefaultKeepOld
	}
	return a.KeepOld.Duration
}

// The states of a load balancer that is taken over, in their order.
const (
	AdoptionRecorded  = "Recorded"
	AdoptionPrepared  = "Prepared"
	AdoptionTaken     = "Taken"
	AdoptionReleasing = "Releasing"
	AdoptionReturned  = "Returned"
	AdoptionReleased  = "Released"
)

// Enter begins a state, unless it has begun.
func (m *AdoptionMemory) Enter(state string, now time.Time) {
	if m.State == state {
		return
	}
	m.State = state
	m.States = append(m.States, AdoptionState{State: state, At: metav1.NewTime(now).Rfc3339Copy()})
}

// Since returns when the state began; the zero time if that is not known.
func (m *AdoptionMemory) Since() time.Time {
	if n := len(m.States); n > 0 && m.States[n-1].State == m.State {
		return m.States[n-1].At.Time
	}
	return time.Time{}
}

// SetBindings stores objects, each as JSON.
func (m *AdoptionMemory) SetBindings(objects []json.RawMessage) error {
	m.Bindings = nil
	if len(objects) == 0 {
		return nil
	}
	plain, err := json.Marshal(objects)
	if err != nil {
		return fmt.Errorf("writing the bindings of %s: %w", m.Stack, err)
	}
	var out bytes.Buffer
	to := gzip.NewWriter(&out)
	if _, err = to.Write(plain); err == nil {
		err = to.Close()
	}
	if err != nil {
		return fmt.Errorf("compressing the bindings of %s: %w", m.Stack, err)
	}
	m.Bindings = out.Bytes()
	return nil
}

// BindingObjects returns the stored objects.
func (m *AdoptionMemory) BindingObjects() (objects []json.RawMessage, err error) {
	if len(m.Bindings) == 0 {
		return nil, nil
	}
	from, err := gzip.NewReader(bytes.NewReader(m.Bindings))
	if err == nil {
		var plain []byte
		if plain, err = io.ReadAll(io.LimitReader(from, maxPart)); err == nil {
			err = json.Unmarshal(plain, &objects)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the bindings of %s: %w", m.Stack, err)
	}
	return objects, nil
}
