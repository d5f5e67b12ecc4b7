package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// numberText numbers a list in which + is a rule that is added and a number is the one of an old
// rule, and writes the numbers of all, with > before the new number of a rule that is renumbered.
func numberText(t *testing.T, list string, c lb.Capabilities) string {
	t.Helper()
	var lines []Line
	var old []int
	for n, word := range strings.Fields(list) {
		if word == "+" {
			lines = append(lines, Line{absent, n, Added})
			continue
		}
		var number int
		if _, err := fmt.Sscan(word, &number); err != nil {
			t.Fatal(err)
		}
		lines, old = append(lines, Line{len(old), n, Kept}), append(old, number)
	}
	got, ok := Number(lines, old, c)
	if !ok {
		return "full"
	}
	var out []string
	renumbered := 0
	for i, l := range lines {
		word := fmt.Sprint(got.Priority[i])
		if l.Old != absent && got.Priority[i] != old[l.Old] {
			renumbered++
			if word = fmt.Sprint(old[l.Old], ">", word); got.Renumbered[old[l.Old]] != got.Priority[i] {
				t.Errorf("%s: the rule at %d has the number %d and is renumbered to %d", list, old[l.Old], got.Priority[i], got.Renumbered[old[l.Old]])
			}
			word = strings.ReplaceAll(word, " ", "")
		}
		out = append(out, word)
	}
	if len(got.Renumbered) != renumbered {
		t.Errorf("%s: renumbered are %v, and should be %d rules", list, got.Renumbered, renumbered)
	}
	return strings.Join(out, " ")
}

// between writes the old numbers from one to another, a step apart.
func between(from, to, step int) string {
	var out []string
	for ; from <= to; from += step {
		out = append(out, fmt.Sprint(from))
	}
	return strings.Join(out, " ")
}

func TestNumbers(t *testing.T) {
	// A sixteenth of a range is for parking rules, or an eighth of a small one: of 7 numbers none,
	// of 1000 the last 16.
	for _, tt := range []struct {
		why       string
		list      string
		low, high int
		want      string
	}{
		{"a full range", "+ + + + + + +", 1, 7, "1 2 3 4 5 6 7"},
		{"one rule too many", "+ + + + + + + +", 1, 7, "full"},
		{"a full range from 3", "+ + + + + + +", 3, 9, "3 4 5 6 7 8 9"},
		{"one rule too many from 3", "+ + + + + + + +", 3, 9, "full"},
		{"first rules are spread evenly", "+ + +", 1, 7, "2 4 6"},
		{"and stay off the parking rules", "+ +", 1, 1000, "328 656"},
		{"small steps at the end", "500 + +", 1, 1000, "500 507 515"},
		{"small steps at the beginning", "+ + 500", 1, 1000, "485 493 500"},
		{"smaller ones where the end is near", "980 + +", 1, 1000, "980 981 983"},
		{"smaller ones where the beginning is near", "+ + 5", 1, 1000, "2 4 5"},
		{"the middle of a gap", "500 + 600", 1, 1000, "500 550 600"},
		{"a gap that just has room", "500 + + 503", 1, 1000, "500 501 502 503"},
		{"a gap that lacks one", "500 + + 502", 1, 1000, "500>123 368 616 502>861"},
		{"the neighbour on the right has room", "1 2 3 4 + 5", 1, 7, "1 2 3 4 5 5>6"},
		{"neighbours on the right have room", "1 2 + 3 4", 1, 7, "1 2 4 3>5 4>6"},
		{"all get lower numbers", "2 3 4 5 6 7 +", 1, 7, "2>1 3>2 4>3 5>4 6>5 7>6 7"},
		{"all get higher numbers", "+ 1 2 3 4 5 6", 1, 7, "1 1>2 2>3 3>4 4>5 5>6 6>7"},
		{"half of them get others", "1 2 3 + 4 5 6", 1, 7, "1 2 3 4 4>5 5>6 6>7"},
		{"numbers change hands where there are no others", "1 + 2 + 3 + 4", 1, 7, "1 2 2>3 4 3>5 6 4>7"},
		{"what is renumbered keeps its number", "1 + 2 3 + 4 5", 1, 7, "1 2 2>3 3>4 5 4>6 5>7"},
		{"three additions renumber rules once", "1 + 2 + 3 4 + 5", 1, 20, "1>6 9 2>11 13 3>14 4>15 16 5>17"},
		{"additions get the most room", "10 11 12 13 + 14 15 16", 1, 40, "10 11>17 12>19 13>20 26 14>31 15>33 16>34"},
		{"a second addition behind what has moved", "10 11 12 13 + 14 15 16 + 17 18 19", 1, 64,
			"10>1 11>3 12>5 13>7 30 14>44 15>46 16>48 49 17>51 18>53 19>55"},
		{"a step at the end is a 128th of the range", "100 +", 1, 272, "100 102"},
		{"what has moved stays where there is some room", "24 + 25 28 +", 1, 32, "24>3 13 25>22 28>23 26"},
		{"the first number is not used twice", "+ 2 4", 2, 5, "2 2>3 4"},
		{"the last number is not used twice", "3 + 4", 1, 4, "3>1 2 4>3"},
		{"all get the numbers that are left", "+ 1 6 +", 1, 6, "2 1>3 6>4 5"},
		{"the second addition makes no room where the first has", "+ 1 7 +", 1, 8, "2 1>3 7>4 5"},
		{"a window that just has room", "4 7 +", 2, 7, "4 7>5 6"},
		{"a quarter of the range is plenty", "+ 2 5", 2, 12, "3 2>4 5"},
		{"less is not", "+ 1 6", 1, 22, "8 1>15 6>18"},
	} {
		got := numberText(t, tt.list, lb.Capabilities{MinPriority: tt.low, MaxPriority: tt.high})
		if got != tt.want {
			t.Errorf("%s: %s in %d to %d become %q, want %q", tt.why, tt.list, tt.low, tt.high, got, tt.want)
		}
	}
}

func TestRulesMoveUntilThereIsRoom(t *testing.T) {
	c := lb.Capabilities{MinPriority: 1, MaxPriority: 1000}
	for _, tt := range []struct {
		why, list  string
		renumbered int
	}{
		{"24 rules are enough where most numbers are unused", between(100, 400, 5) + " + " + between(401, 800, 5), 24},
		{"more than 24 where there are no unused ones", between(300, 399, 1) + " + " + between(400, 499, 1), 200},
	} {
		if got := numberText(t, tt.list, c); strings.Count(got, ">") != tt.renumbered {
			t.Errorf("%s: %d rules are renumbered, want %d: %s", tt.why, strings.Count(got, ">"), tt.renumbered, got)
		}
	}
}

// Rules are added at one place after the other, and get numbers without others being renumbered in most cases.
func TestAdditionsSeldomRenumberRules(t *testing.T) {
	c := lb.Capabilities{MinPriority: 1, MaxPriority: 50000}
	for why, place := range map[string]func(at, i int) int{
		"always behind the same rule":    func(at, _ int) int { return at },
		"always before the same rule":    func(at, i int) int { return at + i },
		"now before, now behind":         func(at, i int) int { return at + i/2 },
		"in the middle of the last gaps": func(at, i int) int { return at + i - i%2 },
	} {
		for _, at := range []int{0, 1, 50, 99, 100} {
			first, _ := Number(slices.Repeat([]Line{{absent, 0, Added}}, 100), nil, c)
			numbers, calls := first.Priority, 0
			for i := range 100 {
				lines := make([]Line, len(numbers))
				for n := range lines {
					lines[n] = Line{n, n, Kept}
				}
				got, _ := Number(slices.Insert(lines, place(at, i), Line{absent, 0, Added}), numbers, c)
				if len(got.Renumbered) > 40 {
					t.Fatalf("%s at %d: addition %d renumbers %d rules", why, at, i, len(got.Renumbered))
				}
				if len(got.Renumbered) > 0 {
					calls++
				}
				numbers = got.Priority
			}
			if calls > 10 {
				t.Errorf("%s at %d: 100 additions take %d calls that renumber", why, at, calls)
			}
		}
	}
}

// Numbers must keep the order of both lists, stay in the range, and give rules only numbers
// that nothing uses, because some clouds refuse a number that changes hands in the call.
func TestNumbersAreInOrderAndUnused(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		c := lb.Capabilities{MinPriority: 1, MaxPriority: 1 + r.IntN(60)}
		high := c.MaxPriority - len(plan.ParkingPriorities(c))
		var lines []Line
		var old []int
		for n := range 1 + r.IntN(high) {
			if r.IntN(2) == 0 {
				lines = append(lines, Line{Old: absent, New: n, Change: Added})
			} else {
				lines = append(lines, Line{Old: len(old), New: absent, Change: Kept})
				old = append(old, 0)
			}
		}
		free := r.Perm(high)
		slices.Sort(free[:len(old)])
		for i := range old {
			old[i] = 1 + free[i]
		}
		got, ok := Number(lines, old, c)
		if !ok {
			t.Fatalf("%d lines do not fit into %d", len(lines), high)
		}
		roomy := 2*len(lines)+len(old) <= high
		for i, l := range lines {
			if got.Priority[i] < 1 || got.Priority[i] > high || i > 0 && got.Priority[i] <= got.Priority[i-1] {
				t.Fatalf("lines %v with old %v have the numbers %v", lines, old, got.Priority)
			}
			if l.Old == absent {
				continue
			}
			to, is := got.Renumbered[old[l.Old]]
			if is != (got.Priority[i] != old[l.Old]) || is && to != got.Priority[i] {
				t.Fatalf("the rule at %d gets %d but is renumbered to %d", old[l.Old], got.Priority[i], to)
			}
			if is && roomy && slices.Contains(old, to) {
				t.Fatalf("the rule at %d is renumbered to %d, which is in use: %v", old[l.Old], to, old)
			}
		}
	}
}
