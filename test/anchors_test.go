package test

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// This file checks that links to headings lead to headings.

var (
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	headings = regexp.MustCompile(`(?m)^#+ (.+)$`)
	anchored = regexp.MustCompile(`\]\(([^)#:]*)#([^)]+)\)`)
)

func TestDocumentsPointAtHeadingsThatExist(t *testing.T) {
	pages := contents(t, ".md")
	anchors := map[string]map[string]bool{}
	for file, text := range pages {
		anchors[file] = anchorsOf(text)
	}
	found := 0
	for file, text := range pages {
		for _, link := range anchored.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			to := file
			if link[1] != "" {
				to = filepath.Join(filepath.Dir(file), link[1])
			}
			if found++; strings.HasSuffix(to, ".md") && !anchors[to][link[2]] {
				t.Errorf("%s points at #%s of %s, which has no such heading", file, link[2], to)
			}
		}
	}
	if found < 50 {
		t.Errorf("%d links to headings; the expression finds too few", found)
	}
}

// anchorsOf returns the anchors that GitHub gives to the headings of a page: in lower case, without
// punctuation, and with a number where two are equal.
func anchorsOf(text string) map[string]bool {
	marks := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	linked := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	out := map[string]bool{}
	for _, heading := range headings.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		plain := marks.ReplaceAllString(strings.ToLower(linked.ReplaceAllString(heading[1], "$1")), "")
		anchor := strings.ReplaceAll(plain, " ", "-")
		unique := anchor
		for i := 1; out[unique]; i++ {
			unique = anchor + "-" + strconv.Itoa(i)
		}
		out[unique] = true
	}
	return out
}

// TestTheNotesOfTheChartNameHeadings: a user reads them in a terminal, without links.
func TestTheNotesOfTheChartNameHeadings(t *testing.T) {
	notes := string(mustRead(t, "../config/chart/fairlead/templates/NOTES.txt"))
	named := regexp.MustCompile(`(docs/[\w/-]+\.md), "([^"]+)"`).FindAllStringSubmatch(notes, -1)
	if len(named) == 0 {
		t.Fatal("the notes name no heading")
	}
	for _, n := range named {
		page := string(mustRead(t, filepath.Join("..", n[1])))
		if !regexp.MustCompile(`(?m)^#+ ` + regexp.QuoteMeta(n[2]) + `$`).MatchString(page) {
			t.Errorf("the notes name %q, which is no heading of %s", n[2], n[1])
		}
	}
}
