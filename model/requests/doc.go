// Package requests finds the requests that two lists of entries answer differently. A list
// answers a request by its first entry that matches: that is how a host of a precedence.Table
// answers, and how the rules of a listener do.
//
// A Finder decides this for all requests, not for samples. It steps the automata of all paths over
// one text, shortest texts first (walk.go), and asks for each set of paths that match whether
// conditions can hold that make two entries the first of their lists (conditions.go). What does not
// fit into its budget is reported as undecided.
package requests
