package gather

import "testing"

func TestAMemoryIsBounded(t *testing.T) {
	var m Memory
	if _, known := m.Load("a"); known {
		t.Error("an empty memory knows something")
	}
	for i := range 3*mostFound + 7 {
		m.Store(i, -i)
		m.Store(i, i)
		if found, known := m.Load(i); !known || found != i || len(m.found) > mostFound {
			t.Fatalf("of %d, %v is known, %t, and %d are remembered", i, found, known, len(m.found))
		}
	}
	if len(m.found) != 7 {
		t.Errorf("%d are remembered", len(m.found))
	}
}
