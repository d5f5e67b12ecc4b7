package controllers

// This file is maps to sets.

func add[A, B comparable](m map[A]map[B]bool, a A, b B) {
	if m[a] == nil {
		m[a] = map[B]bool{}
	}
	m[a][b] = true
}

func remove[A, B comparable](m map[A]map[B]bool, a A, b B) {
	delete(m[a], b)
	if len(m[a]) == 0 {
		delete(m, a)
	}
}
