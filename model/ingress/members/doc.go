// Package members holds the Ingresses of a load balancer: what one asks for, how large it may be,
// and which of several decides a setting.
package members
