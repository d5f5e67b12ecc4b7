// Package members has the Ingresses of a load balancer: their settings, their limits, and which of
// several decides a setting.
package members
