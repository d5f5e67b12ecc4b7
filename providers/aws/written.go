package aws

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file keeps lists in tags: of what was written of a resource's settings, and of the tags of
// its class. A value has room for few characters and does not take all of them, so a long list of
// settings goes over several tags, and names are quoted. A resource has room for few tags, too, so
// those of a class are marked in one.

// tagWrittenList is the tag that the list begins in; it goes on in those with a number behind.
const tagWrittenList = "fairlead.dev/written"

// valueLength is the longest value of a tag.
const valueLength = 256

// tagWrittenTags is the tag that marks those of a class.
const tagWrittenTags = tagWrittenList + "-tags"

// tagWritten is what tags of a class stood behind in the list of settings, before they had one of
// their own.
const tagWritten = "tag:"

// markLength is how many characters stand for the name of a tag: few enough for all that a class
// can have, and enough to tell them from what somebody else may write.
const markLength = 5

// mark stands for the name of a tag.
func mark(name string) string {
	sum := sha256.Sum256([]byte(name))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:markLength]
}

// noteTags marks tags of a class among others, where there are any.
func noteTags(tags, ofClass map[string]string) {
	var marks strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ofClass)) {
		marks.WriteString(mark(name))
	}
	if marks.Len() > 0 {
		tags[tagWrittenTags] = marks.String()
	}
}

// ofClass reports which of some tags are those of a class.
func ofClass(tags map[string]string) func(name string) bool {
	listed, marks := writtenIn(tags), map[string]bool{}
	for part := range slices.Chunk([]byte(tags[tagWrittenTags]), markLength) {
		marks[string(part)] = true
	}
	return func(name string) bool { return marks[mark(name)] || slices.Contains(listed, tagWritten+name) }
}

// noteWritten puts a list into tags.
func noteWritten(tags map[string]string, names []string) {
	line, part := "", 0
	for _, name := range names {
		name = quote(name)
		if line != "" && len(line)+1+len(name) > valueLength {
			tags[writtenTag(part)] = line
			line, part = "", part+1
		}
		line = strings.TrimLeft(line+" "+name, " ")
	}
	if line != "" {
		tags[writtenTag(part)] = line
	}
}

// writtenIn is the list that is in tags.
func writtenIn(tags map[string]string) []string {
	var names []string
	for part := 0; tags[writtenTag(part)] != ""; part++ {
		for name := range strings.FieldsSeq(tags[writtenTag(part)]) {
			names = append(names, unquote(name))
		}
	}
	return names
}

// writtenTags are the tags of a class among others.
func writtenTags(tags map[string]string) map[string]string {
	var out map[string]string
	written := ofClass(tags)
	for name, value := range tags {
		if !written(name) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out
}

// surplus are the tags of before that a shorter list leaves behind, those of a class that are no
// more, and a digest of what has no settings any more.
func surplus(before, after map[string]string) []string {
	var out []string
	written := ofClass(before)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		_, stays := after[name]
		if !stays && (strings.HasPrefix(name, tagWrittenList) || name == tagDigest || written(name)) {
			out = append(out, name)
		}
	}
	return out
}

// quote spells a word with characters that stand between spaces in the value of a tag. Others are
// numbers.
func quote(word string) string {
	var out strings.Builder
	for i := range len(word) {
		switch c := word[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("_.:/+-@", c) >= 0:
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, "=%02X", c)
		}
	}
	return out.String()
}

// quoted is a character that stands as a number.
var quoted = regexp.MustCompile(`=[0-9A-F]{2}`)

// unquote is a word as it was.
func unquote(word string) string {
	return quoted.ReplaceAllStringFunc(word, func(number string) string {
		c, err := strconv.ParseUint(number[1:], 16, 8)
		if err != nil {
			return number
		}
		return string([]byte{byte(c)})
	})
}

func writtenTag(part int) string {
	if part == 0 {
		return tagWrittenList
	}
	return tagWrittenList + "-" + strconv.Itoa(part)
}
