package traffic

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

var seed = flag.Uint64("seed", 0, "seed of random logs; 0 takes a new one")

// chunked divides a text, and overwrites each chunk once it was given, as its next user does. It
// returns the lines by number, and the numbers of those that are too long.
func chunked(text string, halves bool) (lines map[int]string, long []int) {
	lines = map[int]string{}
	r := reader{from: strings.NewReader(text), problem: func(line int, _ error) { long = append(long, line) }}
	if halves {
		r.from = iotest.HalfReader(r.from)
	}
	r.give = func(c chunk) bool {
		n := c.first
		for line := range strings.Lines(string(c.text)) {
			lines[n] = strings.TrimSuffix(line, "\n")
			n++
		}
		clear(c.text[:cap(c.text)])
		c.done()
		return true
	}
	r.read()
	return lines, long
}

func TestLinesComeOutOfChunksWhole(t *testing.T) {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed %d", s)
	rng := rand.New(rand.NewPCG(s, 1))
	for range 6 {
		var all []string
		var long []int
		want := map[int]string{}
		for i := range 2000 {
			size := rng.IntN(600)
			if rng.IntN(200) == 0 {
				size = rng.IntN(3 * longestLine)
			}
			line := strings.Repeat(string(rune('a'+i%26)), size)
			all = append(all, line)
			if len(line) <= longestLine {
				want[i+1] = line
			} else {
				long = append(long, i+1)
			}
		}
		text := strings.Join(all, "\n")
		if rng.IntN(2) == 0 {
			text += "\n"
		}
		got, tooLong := chunked(text, rng.IntN(2) == 0)
		for n, line := range want {
			if got[n] != line {
				t.Fatalf("line %d has %d bytes, want %d", n, len(got[n]), len(line))
			}
		}
		for _, n := range tooLong {
			if !slices.Contains(long, n) {
				t.Errorf("line %d is said to be too long", n)
			}
		}
	}
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		part, whole int64
		want        string
	}{{0, 10, "0 %"}, {1, 7, "14.29 %"}, {127_100, 41_000_000, "0.31 %"}, {1, 41_000_000, "0.000002 %"}, {10, 10, "100.00 %"}, {0, 0, "0 %"}, {1, 10_000, "0.01 %"}, {9, 100_000, "0.009 %"}} {
		if got := share(c.part, c.whole); got != c.want {
			t.Errorf("%d of %d are %s, want %s", c.part, c.whole, got, c.want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 41_000_000: "41,000,000"} {
		if got := number(n); got != want {
			t.Errorf("%d is %s", n, fmt.Sprintf("%s, want %s", got, want))
		}
	}
}
