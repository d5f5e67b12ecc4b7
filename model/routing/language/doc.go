// Package language compares patterns as sets of texts. A Language is the set of texts that a path
// or a regular expression matches whole; Find searches a text that is in some languages and in none
// of others, and comes to a shortest one. A Comparer does this for the paths of a table, within a
// number of steps for each Ingress.
package language
