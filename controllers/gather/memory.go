package gather

import "sync"

// mostFound is the most Ingresses about which something is remembered, which include deleted ones.
const mostFound = 10_000

// A Memory keeps what the front end of ingress-nginx found about Ingresses.
type Memory struct {
	mu    sync.Mutex
	found map[any]any
}

// Load returns what was found about an Ingress.
func (m *Memory) Load(ingress any) (found any, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, known = m.found[ingress]
	return found, known
}

// Store keeps what was found about an Ingress.
func (m *Memory) Store(ingress, found any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.found[ingress]; m.found == nil || len(m.found) >= mostFound && !known {
		m.found = map[any]any{}
	}
	m.found[ingress] = found
}
