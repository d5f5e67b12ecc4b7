package saved

import (
	"encoding/json"
	"errors"
	"fmt"

	"fairlead.dev/fairlead/cli/manifests"
)

// This file reads what plan -o json or -o yaml has printed. A flag names such a file: it is never
// distinguished from manifests by its content, which the author of a change writes.

// MostBytes is the limit for the size of a file.
const MostBytes = 1 << 30

// Load reads the state in a file.
func Load(file string) (*State, error) {
	text, err := manifests.ReadFile(file, MostBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if text, err = manifests.ToJSON(text); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var printed struct {
		LoadBalancers json.RawMessage    `json:"loadBalancers"`
		Steps         json.RawMessage    `json:"steps"`
		Routing       *State             `json:"routing"`
		Problems      manifests.Problems `json:"problems"`
	}
	err = json.Unmarshal(text, &printed)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: reading the output of a plan: %w", file, err)
	case printed.LoadBalancers == nil || printed.Steps == nil:
		return nil, fmt.Errorf("%s: %w", file, errOther)
	case printed.Routing == nil:
		return nil, fmt.Errorf("%s: %w", file, errOlder)
	}
	printed.Routing.Problems = printed.Problems
	return printed.Routing, nil
}

var (
	errOlder = errors.New("the output of a plan without the key routing, by an older version: " +
		"plan again")
	errOther = errors.New("not a saved state, which is what plan -o json has printed")
)
