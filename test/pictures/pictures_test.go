package pictures

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/page"
)

//go:generate go test . -run ^TestPictures$ -update

// TestPictures draws each picture, and compares it with the one that is committed.
func TestPictures(t *testing.T) {
	texts, err := filepath.Glob("../../docs/pictures/*.txt")
	if err != nil || len(texts) < 6 {
		t.Fatalf("%d pictures: %v", len(texts), err)
	}
	for _, file := range texts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		svg, err := Draw(string(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		page.Check(t, strings.TrimSuffix(file, ".txt")+".svg", svg)
	}
}

// TestMistakesInAPictureAreNamed: an arrow to nothing is no picture.
func TestMistakesInAPictureAreNamed(t *testing.T) {
	const head = "title T\nabout A\nbox a 0 0 1 One\n"
	for text, want := range map[string]string{
		head + "arrow a b":       "one of them is no box",
		head + "box b 0 x 1 Two": "line 4",
		head + "circle c":        "circle is no word",
		"box a 0 0 1 One":        "a title and an about",
	} {
		if _, err := Draw(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
