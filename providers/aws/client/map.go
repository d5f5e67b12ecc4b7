package client

// Map returns the results of a function for each element of a list.
func Map[A, B any](in []A, f func(A) B) []B {
	var out []B
	for _, a := range in {
		out = append(out, f(a))
	}
	return out
}
