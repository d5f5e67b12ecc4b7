package fake

import (
	"maps"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file keeps the settings of objects for deep reads. The state file has only their digests;
// the settings are in FILE.settings.

// noSettings returns the settings of a load balancer that has no objects.
func noSettings() *lb.ReadSettings {
	return &lb.ReadSettings{
		Listeners:    map[int32]lb.ListenerSettings{},
		TargetGroups: map[lb.GroupID]lb.GroupSettings{},
		Certificates: map[lb.CertificateID]lb.CertificateSettings{},
	}
}

// withMaps returns settings from a file, with all their maps. An older binary wrote no settings.
func withMaps(s *lb.ReadSettings) *lb.ReadSettings {
	out := noSettings()
	if s != nil {
		out.LoadBalancer = s.LoadBalancer
		maps.Copy(out.Listeners, s.Listeners)
		maps.Copy(out.TargetGroups, s.TargetGroups)
		maps.Copy(out.Certificates, s.Certificates)
	}
	return out
}

// recordSettings stores the settings that a step sets. It returns false if the step sets none, like
// the second creation of an object.
func (r *record) recordSettings(step plan.Step) bool {
	to := r.settings
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		to.LoadBalancer = new(s.LoadBalancer.Settings) // a pointer into the step would keep all of it
	case plan.ModifyLoadBalancer:
		to.LoadBalancer = new(s.LoadBalancer.Settings)
	case plan.CreateListener:
		if r.observed.Listener(s.Listener.Port) != nil {
			return false
		}
		to.Listeners[s.Listener.Port] = s.Listener.Settings
	case plan.ModifyListener:
		to.Listeners[s.Listener.Port] = s.Listener.Settings
	case plan.DeleteListener:
		delete(to.Listeners, s.Port)
	case plan.CreateTargetGroup:
		if r.observed.TargetGroup(s.Group.ID) != nil {
			return false
		}
		to.TargetGroups[s.Group.ID] = groupSettings(s.Group)
	case plan.ModifyTargetGroup:
		to.TargetGroups[s.Group.ID] = groupSettings(s.Group)
	case plan.DeleteTargetGroup:
		delete(to.TargetGroups, s.Group)
	default:
		return r.recordTags(step)
	}
	return true
}

// recordTags stores the tags of a certificate that a step sets. It returns false if the step sets
// none.
func (r *record) recordTags(step plan.Step) bool {
	to := r.settings.Certificates
	switch s := step.(type) {
	case plan.ImportCertificate:
		to[s.Certificate.ID] = lb.CertificateSettings{Tags: s.Certificate.Tags}
	case plan.ReplaceCertificate:
		delete(to, s.Old)
		to[s.New.ID] = lb.CertificateSettings{Tags: s.New.Tags}
	case plan.ModifyCertificate:
		to[s.Certificate.ID] = lb.CertificateSettings{Tags: s.Certificate.Tags}
	case plan.DeleteCertificate:
		delete(to, s.Certificate)
	default:
		return false
	}
	return true
}

// readSettings returns a copy of the settings.
func (r *record) readSettings() *lb.ReadSettings {
	return &lb.ReadSettings{
		LoadBalancer: r.settings.LoadBalancer,
		Listeners:    maps.Clone(r.settings.Listeners),
		TargetGroups: maps.Clone(r.settings.TargetGroups),
		Certificates: maps.Clone(r.settings.Certificates),
	}
}

func groupSettings(g lb.TargetGroup) lb.GroupSettings {
	return lb.GroupSettings{HealthCheck: g.Health, Attributes: g.Attributes, Tags: g.Tags}
}

// writeSettings writes the settings of all objects.
func (c *Cloud) writeSettings() error {
	all := map[lb.Key]*lb.ReadSettings{}
	for key, r := range c.records {
		all[key] = r.settings
	}
	return c.files.Write(".settings", 0o644, all)
}
