// Package requests finds the requests that two lists of entries answer differently. The first entry
// of a list that matches a request answers it, as for a host of a precedence.Table and the rules of
// a listener.
//
// A Finder decides this for all requests, not for samples. It steps the automata of all paths over
// one text, shortest texts first (walk.go), and decides for each set of matching paths whether
// conditions can make two entries the first of their lists (conditions.go). A search that exceeds
// its budget is undecided.
package requests
