package ingress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file checks spec.provider of classes and Backends, which only providers understand, and
// makes it canonical.

// The bounds of such settings.
const (
	longestSettings = 16 << 10 // bytes of JSON
	deepestSettings = 32       // objects and lists within one another
)

// validateProviderSettings returns the errors in spec.provider that any provider would report.
func validateProviderSettings(settings *runtime.RawExtension, at *field.Path) field.ErrorList {
	if settings == nil {
		return nil
	}
	if len(settings.Raw) > longestSettings {
		return field.ErrorList{field.TooLong(at, "", longestSettings)}
	}
	if _, err := canonicalJSON(settings.Raw); err != nil {
		return field.ErrorList{field.Invalid(at, "", err.Error())}
	}
	return nil
}

// providerSettingsText returns valid settings in canonical form; "" for none.
func providerSettingsText(settings *runtime.RawExtension) string {
	if settings == nil {
		return ""
	}
	text, err := canonicalJSON(settings.Raw)
	if err != nil {
		return "" // validateProviderSettings reports this
	}
	return text
}

// canonicalJSON returns a JSON object without spaces and with sorted names; "" for an empty one.
func canonicalJSON(raw []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return "", fmt.Errorf("it has to be an object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("it has to be one object")
	}
	if depth(object) > deepestSettings {
		return "", fmt.Errorf("it has more than %d objects and lists within one another", deepestSettings)
	}
	if len(object) == 0 {
		return "", nil
	}
	text, err := json.Marshal(object)
	return string(text), err
}

// depth returns the depth of nested objects and lists.
func depth(value any) int {
	deepest := 0
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
	case []any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
	default:
		return 0
	}
	return deepest + 1
}
