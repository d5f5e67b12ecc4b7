// Package listeners decides on which ports, with which certificates, and for which clients each
// member of a load balancer is served.
package listeners
