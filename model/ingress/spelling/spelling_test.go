package spelling

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
)

var seed = flag.Uint64("seed", rand.Uint64(), "of the random names")

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"allowSourceRange": "allow source range", "OIDCProvider": "oidc provider", "requestMTLS": "request mtls", "mTLS": "m tls",
		"auth_url.Two-three": "auth url two three", "ipWhiteList": "ip white list", "oauth2": "oauth2", "A": "a", "--": "", "": "", "ÄrgerÖl": "ärger öl",
	} {
		if got := strings.Join(Words(name), " "); got != want {
			t.Errorf("the words of %q: %q, and not %q", name, got, want)
		}
	}
}

func TestWithin(t *testing.T) {
	cases := []struct {
		a, b string
		most int
		want bool
	}{
		{"", "", 0, true},
		{"", "ab", 2, true},
		{"", "abc", 2, false},
		{"listen-port", "listen-ports", 1, true},
		{"auth-tpye", "auth-type", 1, true},
		{"auth-tpye", "auth-type", 0, false},
		{"auth-url", "auth-uri", 1, true},
		{"inbuond", "inbound", 1, true},
		{"scheme", "schema", 1, true},
		{"scheme", "themes", 2, false},
		{"abcdef", "badcfe", 2, false},
		{"abcdef", "badcfe", 3, true},
	}
	for _, c := range cases {
		if got := Within(c.a, c.b, c.most); got != c.want {
			t.Errorf("Within(%q, %q, %d) = %v", c.a, c.b, c.most, got)
		}
		if got := Within(c.b, c.a, c.most); got != c.want {
			t.Errorf("Within(%q, %q, %d) = %v, and not so the other way round", c.b, c.a, c.most, got)
		}
	}
}

// TestWithinIsTheDistance compares with the whole table of distances.
func TestWithinIsTheDistance(t *testing.T) {
	t.Logf("-seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	word := func() string {
		text := make([]byte, random.IntN(8))
		for i := range text {
			text[i] = "abc"[random.IntN(3)]
		}
		return string(text)
	}
	for range 50_000 {
		a, b, most := word(), word(), random.IntN(4)
		if got, want := Within(a, b, most), distance(a, b) <= most; got != want {
			t.Fatalf("Within(%q, %q, %d) = %v; the distance is %d", a, b, most, got, distance(a, b))
		}
	}
}

func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

func TestResembles(t *testing.T) {
	cases := map[string]struct {
		name, other string
		want        bool
	}{
		"the same":                           {"listen-ports", "listen-ports", true},
		"a letter is missing":                {"listen-port", "listen-ports", true},
		"punctuation":                        {"Listen_Ports", "listen-ports", true},
		"two letters are swapped":            {"auth-tpye", "auth-type", true},
		"two edits":                          {"tarrget-typ", "target-type", true},
		"three edits":                        {"tarrgett-typ", "target-type", false},
		"short names resemble by one edit":   {"grup", "group", true},
		"short names do not resemble by two": {"grab", "group", false},
		"very short names never resemble":    {"waf", "wav", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Resembles(Squeeze(c.name), Squeeze(c.other)); got != c.want {
				t.Errorf("Resembles(%q, %q) = %v", c.name, c.other, got)
			}
		})
	}
}
