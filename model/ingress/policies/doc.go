// Package policies removes changes that cannot be served from a snapshot, each policy for one
// reason, and reports them to their owners. The last accepted versions are served instead.
package policies
