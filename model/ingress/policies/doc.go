// Package policies takes changes out of a snapshot that cannot be served, each policy for one
// reason, and tells their owners. The last accepted versions are served instead.
package policies
