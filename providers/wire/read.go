package wire

import (
	"maps"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file translates the settings that a deep observation read. They replace a digest only if it
// is their digest: an older operator reads the digest, with the same result.

// encodeReadSettings adds settings to an observation.
func encodeReadSettings(out *v1.Observed, read *lb.ReadSettings) {
	if read == nil {
		return
	}
	if s := read.LoadBalancer; s != nil && out.Digest == string(lb.DigestOf(*s)) {
		reply := encodeSettings(*s)
		out.Settings = &reply
	}
	for i := range out.Listeners {
		l := &out.Listeners[i]
		if s, known := read.Listeners[l.Port]; known && l.Digest == string(lb.DigestOf(s)) {
			reply := encodeListenerSettings(s)
			l.Settings = &reply
		}
	}
	for i := range out.TargetGroups {
		g := &out.TargetGroups[i]
		if s, known := read.TargetGroups[lb.GroupID(g.ID)]; known && g.Digest == string(lb.DigestOf(s)) {
			g.Settings = &v1.GroupSettings{
				Health: v1.HealthCheck(s.HealthCheck), Attributes: s.Attributes, Tags: s.Tags,
			}
		}
	}
	for i := range out.Certificates {
		c := &out.Certificates[i]
		if s := read.Certificates[lb.CertificateID(c.ID)]; c.Digest == string(s.Digest()) {
			c.Tags = maps.Clone(s.Tags)
		}
	}
}

// decodeReadSettings returns the settings in an observation, or nil if there are none.
func decodeReadSettings(o v1.Observed) *lb.ReadSettings {
	out := &lb.ReadSettings{
		Listeners:    map[int32]lb.ListenerSettings{},
		TargetGroups: map[lb.GroupID]lb.GroupSettings{},
		Certificates: map[lb.CertificateID]lb.CertificateSettings{},
	}
	if o.Settings != nil {
		s := decodeSettings(*o.Settings)
		out.LoadBalancer = &s
	}
	for _, l := range o.Listeners {
		if l.Settings != nil {
			out.Listeners[l.Port] = decodeListenerSettings(*l.Settings)
		}
	}
	for _, g := range o.TargetGroups {
		if g.Settings != nil {
			out.TargetGroups[lb.GroupID(g.ID)] = decodeGroupSettings(*g.Settings)
		}
	}
	for _, c := range o.Certificates {
		if len(c.Tags) > 0 {
			out.Certificates[lb.CertificateID(c.ID)] = lb.CertificateSettings{Tags: c.Tags}
		}
	}
	if out.LoadBalancer == nil && len(out.Listeners)+len(out.TargetGroups)+len(out.Certificates) == 0 {
		return nil
	}
	return out
}

func decodeGroupSettings(s v1.GroupSettings) lb.GroupSettings {
	return lb.GroupSettings{
		HealthCheck: routing.HealthCheck(s.Health), Attributes: s.Attributes, Tags: s.Tags,
	}
}
