package expect

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
)

// This file reads the expectations of a ConfigMap.

// ReadData reads the expectations of the data of a ConfigMap. Each value is a text of expectations.
func ReadData(data map[string]string) ([]Expectation, error) {
	if len(data) == 0 {
		return nil, errors.New("its data has no key")
	}
	var out []Expectation
	keys := map[string]string{} // by name of an expectation
	for _, key := range slices.Sorted(maps.Keys(data)) {
		all, err := Read(data[key])
		if err != nil {
			return nil, fmt.Errorf("data %s, %w", diag.Quote(key), err)
		}
		for _, e := range all {
			if before, used := keys[e.Name]; used {
				return nil, fmt.Errorf("data %s, line %d: name %s is used in %s", diag.Quote(key), e.Line,
					diag.Quote(e.Name), diag.Quote(before))
			}
			keys[e.Name] = key
		}
		out = append(out, all...)
	}
	return out, nil
}
