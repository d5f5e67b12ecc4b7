package lb

// Overlap reports whether a request can match both rules. It says true when it cannot tell.
func Overlap(a, b Rule, d Dialect) bool { return true }

// Contains reports whether outer matches every request that inner matches. It says false when it
// cannot tell.
func Contains(outer, inner Rule, d Dialect) bool { return outer.MatchKey() == inner.MatchKey() }
