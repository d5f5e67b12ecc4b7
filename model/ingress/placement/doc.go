// Package placement sorts Ingresses into load balancers, by class, group, scheme and name.
package placement
