// Package snapshots holds everything that one load balancer depends on: its members, their last
// accepted versions, and the owners of their hosts.
package snapshots
