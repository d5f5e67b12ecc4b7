package alb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/settings"
)

// This file reads settings of single ports: model_build_listener.go. Those of ports on which the Ingress
// does not listen have no effect.

// listenerAttributes reads listener-attributes.HTTPS-443.
func listenerAttributes(name, value string) made {
	_, port, _ := strings.Cut(strings.TrimPrefix(name, "listener-attributes."), "-")
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return dropped("its name does not end with a protocol and a port, as in listener-attributes.HTTPS-443")
	}
	value, err := unescaped(value)
	if err != nil {
		return refused("%s", err)
	}
	var out []string
	for _, item := range splitEscaped(value) {
		out = append(out, port+":"+strings.TrimSpace(item))
	}
	return made{own: map[string]string{settings.ListenerAttributes: strings.Join(out, ",")}}
}

// splitEscaped splits at commas without a backslash in front of them.
func splitEscaped(value string) (out []string) {
	start := 0
	for i := range len(value) + 1 {
		if i < len(value) && (value[i] != ',' || i > 0 && value[i-1] == '\\') {
			continue
		}
		if strings.TrimSpace(value[start:i]) != "" {
			out = append(out, value[start:i])
		}
		start = i + 1
	}
	return out
}

// A clientAuthentication is an entry of fairlead.dev/mutual-authentication.
type clientAuthentication struct {
	Port             int32  `json:"port"`
	Mode             string `json:"mode"`
	TrustStore       string `json:"trustStore,omitempty"`
	IgnoreExpiry     bool   `json:"ignoreExpiry,omitempty"`
	AdvertiseCANames bool   `json:"advertiseCANames,omitempty"`
}

// mutual reads mutual-authentication.
func mutual(value string) made {
	var all []struct {
		Port                          int32
		Mode                          string
		TrustStore                    string
		IgnoreClientCertificateExpiry bool
		AdvertiseTrustStoreCaNames    string
	}
	if err := readJSON(value, &all); err != nil {
		return refused("%s is no list of ports: %s", diag.Quote(value), err)
	}
	var out []clientAuthentication
	for _, m := range all {
		out = append(out, clientAuthentication{m.Port, m.Mode, m.TrustStore, m.IgnoreClientCertificateExpiry,
			strings.EqualFold(m.AdvertiseTrustStoreCaNames, "on")})
	}
	return made{own: map[string]string{settings.MutualAuthentication: dialect.JSON(out)}}
}

// portSettings leaves out the settings of ports on which the Ingress does not listen.
func (r *reader) portSettings() {
	own := r.out.Ingress.Annotations
	if value, is := own[settings.ListenerAttributes]; is && !r.isWritten(settings.ListenerAttributes) {
		kept := slices.DeleteFunc(splitEscaped(value), func(item string) bool {
			port, _, _ := strings.Cut(item, ":")
			n, err := strconv.ParseInt(port, 10, 32)
			return err != nil || !slices.ContainsFunc(r.ports, func(p v1alpha1.ListenPort) bool { return p.Port == int32(n) })
		})
		r.keep(settings.ListenerAttributes, strings.Join(kept, ","), len(kept))
	}
	if value, is := own[settings.MutualAuthentication]; is && !r.isWritten(settings.MutualAuthentication) {
		var all []clientAuthentication
		if err := readJSON(value, &all); err != nil {
			return // it was written by mutual
		}
		secure := r.ports.of(v1alpha1.ProtocolHTTPS)
		kept := slices.DeleteFunc(all, func(m clientAuthentication) bool { return !slices.Contains(secure, m.Port) })
		r.keep(settings.MutualAuthentication, dialect.JSON(kept), len(kept))
	}
}

// keep writes what is left of an annotation.
func (r *reader) keep(own, value string, items int) {
	if items > 0 {
		r.out.Ingress.Annotations[own] = value
		return
	}
	delete(r.out.Ingress.Annotations, own)
	r.judge(r.out.Origins[own], dialect.Dropped, fmt.Sprintf("the Ingress does not listen on the port: list it in %slisten-ports", Prefix))
}
