package main

import (
	"fmt"
	"regexp"
	"strings"
)

// This file takes the release notes from CHANGELOG.md, which is written as keepachangelog.com says.

// notesOf returns the section of a version, without its heading.
func notesOf(changelog, version string) (string, error) {
	number := strings.TrimPrefix(version, "v")
	heading := regexp.MustCompile(`(?m)^## \[` + regexp.QuoteMeta(number) + `\] - \d{4}-\d{2}-\d{2}$`)
	at := heading.FindStringIndex(changelog)
	if at == nil {
		return "", fmt.Errorf("CHANGELOG.md has no heading \"## [%s] - YYYY-MM-DD\"", number)
	}
	section, _, _ := strings.Cut(changelog[at[1]:], "\n## ")
	section = strings.TrimSpace(section)
	if section == "" {
		return "", fmt.Errorf("CHANGELOG.md says nothing about %s", version)
	}
	return section, nil
}

// releaseNotes returns the notes as a page of their own.
func (r release) releaseNotes() file {
	text := fmt.Sprintf("# Fairlead %s\n\n%s\n\nMade of commit %s.\n", r.version, r.notes, r.commit)
	return file{name: "RELEASE-NOTES.md", data: []byte(text)}
}
