package expect

import (
	"strings"
	"testing"
)

// Each value of a ConfigMap has expectations, and no name is used twice in all of them.
func TestExpectationsOfAConfigMap(t *testing.T) {
	text := func(name string) string { return "expectations:\n- name: " + name + "\n  must: {answered: true}\n" }
	all, err := ReadData(map[string]string{"b.yaml": text("second"), "a.yaml": text("first")})
	if err != nil || len(all) != 2 || all[0].Name != "first" || all[1].Name != "second" {
		t.Errorf("read %+v, %v", all, err)
	}
	for want, data := range map[string]map[string]string{
		"no key":                               {},
		`"b", line 2: name "x" is used in "a"`: {"a": text("x"), "b": text("x")},
		`data "a", line 1`:                     {"a": "expectation: []"},
	} {
		if _, err := ReadData(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", data, err, want)
		}
	}
}
