// Package multimap is maps of sets.
package multimap

// Add adds an element to the set of a key.
func Add[A, B comparable](m map[A]map[B]bool, a A, b B) {
	if m[a] == nil {
		m[a] = map[B]bool{}
	}
	m[a][b] = true
}

// Remove removes an element from the set of a key, and the key with its last element.
func Remove[A, B comparable](m map[A]map[B]bool, a A, b B) {
	delete(m[a], b)
	if len(m[a]) == 0 {
		delete(m, a)
	}
}
