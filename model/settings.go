package model

import (
	"fmt"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file answers 503 if a Backend has settings that its provider does not accept.

// refuseSettings makes each route and default that forwards to a backend with refused settings
// answer 503, with a diagnostic for each owner and backend. Refused has the reasons by settings.
func refuseSettings(config *routing.Config, refused map[string]string) []diag.Diagnostic {
	var found []diag.Diagnostic
	reported := map[string]bool{}
	check := func(a *routing.Action, owner routing.Owner, at diag.Source) {
		for _, w := range a.Forward {
			b := config.Backends[w.Backend]
			why := refused[b.Provider]
			if b.Provider == "" || why == "" {
				continue
			}
			if once := owner.String() + "\n" + string(b.ID); !reported[once] {
				reported[once] = true
				found = append(found, diag.Diagnostic{Severity: diag.Error,
					Reason: diag.SettingsRefused, Source: at,
					Message: fmt.Sprintf("requests for Service %s are answered 503: the provider does not take "+
						"spec.provider of the Backend: %s", b.Service, why)})
			}
			*a = a.Unavailable()
			return
		}
	}
	for i := range config.Routes {
		check(&config.Routes[i].Action, config.Routes[i].Owner, config.Routes[i].Source)
	}
	for i := range config.Defaults {
		check(&config.Defaults[i].Action, config.Defaults[i].Owner, config.Defaults[i].Source)
	}
	return found
}
