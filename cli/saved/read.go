package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/cli/manifests"
)

// This file reads what plan -o json or -o yaml has printed.

// mostBytes is the limit for the size of a file.
const mostBytes = 1 << 30

// Load reads the state in a file; nil if the file is no output of plan.
func Load(file string) (*State, error) {
	about, err := os.Stat(file)
	if err != nil || !about.Mode().IsRegular() || about.Size() > mostBytes {
		return nil, nil //nolint:nilerr // manifests are read from it, which says what is wrong
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil //nolint:nilerr // likewise
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return nil, nil //nolint:nilerr // likewise: it may have several documents
	}
	var printed struct {
		LoadBalancers json.RawMessage    `json:"loadBalancers"`
		Steps         json.RawMessage    `json:"steps"`
		Routing       *State             `json:"routing"`
		Problems      manifests.Problems `json:"problems"`
	}
	err = json.Unmarshal(text, &printed)
	switch {
	case printed.LoadBalancers == nil || printed.Steps == nil:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: reading the output of a plan: %w", file, err)
	case printed.Routing == nil:
		return nil, fmt.Errorf("%s: %w", file, errOlder)
	}
	printed.Routing.Problems = printed.Problems
	return printed.Routing, nil
}

var errOlder = errors.New("the output of a plan without the key routing, by an older version: " +
	"plan again")
