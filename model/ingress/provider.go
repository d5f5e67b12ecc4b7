package ingress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/model/diag"
)

// This file reads spec.provider of classes and Backends: settings that only the provider of a load
// balancer understands.

// The bounds of such settings.
const (
	longestSettings = 16 << 10 // bytes of JSON
	deepestSettings = 32       // objects and lists within one another
)

// ProviderSettings are what the class of a snapshot says to the provider alone, and what the
// Backends beside its Ingresses do, each once.
func ProviderSettings(s Snapshot) (class string, groups []string) {
	for _, b := range s.Backends {
		if text := providerSettings(b.Spec.Provider); text != "" && len(b.Spec.Services) > 0 {
			groups = append(groups, text)
		}
	}
	slices.Sort(groups)
	return providerSettings(s.Class.Provider), slices.Compact(groups)
}

// WithoutRefusedSettings returns the snapshot without the changes that ask for a load balancer
// whose class has settings that the provider does not take. What is served already stays; its
// owners are told, too.
func (s Snapshot) WithoutRefusedSettings(refused map[string]string) (Snapshot, []diag.Diagnostic) {
	if !s.RefusesSettings(refused) {
		return s, nil
	}
	why := refused[providerSettings(s.Class.Provider)]
	changes := s.Changes()
	found := []diag.Diagnostic{{Severity: diag.Error, Reason: diag.SettingsRefused, Source: s.Class.Source().At("spec.provider"), Message: why}}
	for _, m := range changes {
		found = append(found, diag.Diagnostic{Severity: diag.Error, Reason: diag.SettingsRefused, Source: sourceOf(m.Ingress),
			Message: fmt.Sprintf("not served by a new load balancer, or as it was changed: the provider does not take spec.provider of class %s: %s", s.Class.Name, why)})
	}
	return s.Refuse(changes), found
}

// RefusesSettings reports whether the provider does not take the settings of the class.
func (s Snapshot) RefusesSettings(refused map[string]string) bool {
	return refused[providerSettings(s.Class.Provider)] != ""
}

// validateProviderSettings is what is wrong with settings before their provider sees them.
func validateProviderSettings(settings *runtime.RawExtension, at *field.Path) field.ErrorList {
	if settings == nil {
		return nil
	}
	if len(settings.Raw) > longestSettings {
		return field.ErrorList{field.TooLong(at, "", longestSettings)}
	}
	if _, err := inOneForm(settings.Raw); err != nil {
		return field.ErrorList{field.Invalid(at, "", err.Error())}
	}
	return nil
}

// providerSettings are valid settings in the one form that equal settings have; "" for none.
func providerSettings(settings *runtime.RawExtension) string {
	if settings == nil {
		return ""
	}
	text, err := inOneForm(settings.Raw)
	if err != nil {
		return "" // validateProviderSettings has said so
	}
	return text
}

// inOneForm is a JSON object without spaces and with its names in order; "" for an empty one.
func inOneForm(raw []byte) (string, error) {
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

// depth is how many objects and lists there are within one another.
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
