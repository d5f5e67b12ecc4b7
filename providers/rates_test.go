package providers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/providers"
)

func TestRatesAreWrittenAsTheyAreRead(t *testing.T) {
	for text, want := range map[string]providers.Rates{
		"":                       {},
		"write=3/20":             {"write": {PerSecond: 3, Burst: 20}},
		"write=1000000/1":        {"write": {PerSecond: 1e6, Burst: 1}},
		"read=0.5/1,write=12/99": {"read": {PerSecond: 0.5, Burst: 1}, "write": {PerSecond: 12, Burst: 99}},
	} {
		var got providers.Rates
		if err := got.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", text, diff)
		}
		if again, err := got.MarshalText(); err != nil || string(again) != text {
			t.Errorf("%q is written as %q, %v", text, again, err)
		}
	}
	for _, text := range []string{"write", "write=3", "write=3/0", "write=0/1", "write=-1/1", "write=NaN/1", "=1/1", "write=1000001/1", "write=3/99999999999999999999", "write=3/20;read=1/1"} {
		if err := new(providers.Rates).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestOnlyKnownRatesCanBeReplaced(t *testing.T) {
	usual := providers.Rates{"read": {PerSecond: 50, Burst: 200}, "write": {PerSecond: 3, Burst: 20}}
	got, err := usual.With(providers.Rates{"write": {PerSecond: 1, Burst: 2}})
	if err != nil || got["write"].Burst != 2 || got["read"] != usual["read"] || usual["write"].Burst != 20 {
		t.Errorf("one that is replaced makes %v of %v, %v", got, usual, err)
	}
	if _, err := usual.With(providers.Rates{"wirte": {PerSecond: 1, Burst: 2}}); err == nil {
		t.Error("one that does not exist is replaced")
	}
}
