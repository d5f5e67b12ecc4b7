package golden

import (
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/objects"
)

// This file adds the objects that a story takes for granted.

// addService adds the Service that "shop/web:80" stands for, with one pod. Services of one story have different
// addresses.
func addService(o *ingress.Objects, spelt string, index int) error {
	made, err := objects.Service(spelt, index)
	if err != nil {
		return err
	}
	o.Services = append(o.Services, made.Service)
	o.EndpointSlices = append(o.EndpointSlices, made.Endpoints)
	o.Pods = append(o.Pods, made.Pod)
	return nil
}

// addSecret adds a TLS Secret whose certificate is for the hosts.
func addSecret(o *ingress.Objects, spelt string, hosts []string) error {
	made, err := objects.Secret(spelt, hosts)
	if err != nil {
		return err
	}
	o.Secrets = append(o.Secrets, made)
	return nil
}
