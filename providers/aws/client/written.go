package client

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

// This file keeps two lists in tags: the written settings of a resource, and its tags that come
// from its class. The value of a tag has a limited length and a limited set of characters, so a
// long list of settings needs several tags, and names are quoted. The number of tags is limited,
// too, so one tag has short marks of all tags of a class.

// TagWrittenList is the first tag of the list of settings. The list continues in tags with a
// number.
const TagWrittenList = "fairlead.dev/written"

// ValueLength is the longest value of a tag.
const ValueLength = 256

// tagWrittenTags is the name of the tag with the marks of the tags of a class.
const tagWrittenTags = TagWrittenList + "-tags"

// TagWritten begins the tags of a class in the list of settings. Earlier versions kept them there.
const TagWritten = "tag:"

// markLength is the length of the mark of a tag: short enough for all tags that a class can have,
// and long enough to distinguish them from tags of others.
const markLength = 5

// mark returns the mark of a tag.
func mark(name string) string {
	sum := sha256.Sum256([]byte(name))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:markLength]
}

// MarkTags adds the marks of the tags of a class, if there are any.
func MarkTags(tags, ofClass map[string]string) {
	if len(ofClass) > 0 {
		tags[tagWrittenTags] = marksOf(ofClass)
	}
}

// marksOf returns the marks of tags.
func marksOf(tags map[string]string) string {
	var marks strings.Builder
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		marks.WriteString(mark(name))
	}
	return marks.String()
}

// markFilter returns a function that reports whether the mark of a tag is among marks.
func markFilter(text string) func(name string) bool {
	marks := map[string]bool{}
	for part := range slices.Chunk([]byte(text), markLength) {
		marks[string(part)] = true
	}
	return func(name string) bool { return marks[mark(name)] }
}

// classTagFilter returns a function that reports whether a tag comes from the class.
func classTagFilter(tags map[string]string) func(name string) bool {
	listed, marked := WrittenIn(tags), markFilter(tags[tagWrittenTags])
	return func(name string) bool { return marked(name) || slices.Contains(listed, TagWritten+name) }
}

// ListWritten adds the list of written settings to tags.
func ListWritten(tags map[string]string, names []string) {
	line, part := "", 0
	for _, name := range names {
		name = QuoteTag(name)
		if line != "" && len(line)+1+len(name) > ValueLength {
			tags[writtenTag(part)] = line
			line, part = "", part+1
		}
		line = strings.TrimLeft(line+" "+name, " ")
	}
	if line != "" {
		tags[writtenTag(part)] = line
	}
}

// WrittenIn returns the list of settings in tags.
func WrittenIn(tags map[string]string) []string {
	var names []string
	for part := 0; tags[writtenTag(part)] != ""; part++ {
		for name := range strings.FieldsSeq(tags[writtenTag(part)]) {
			names = append(names, UnquoteTag(name))
		}
	}
	return names
}

// WrittenTags returns the tags that come from the class.
func WrittenTags(tags map[string]string) map[string]string {
	var out map[string]string
	written := classTagFilter(tags)
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

// SurplusTags returns the tags to remove: those of a longer list of settings, those that the class
// no longer has, and the digest if there are no settings any longer.
func SurplusTags(before, after map[string]string) []string {
	var out []string
	written := classTagFilter(before)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		_, stays := after[name]
		if !stays && (strings.HasPrefix(name, TagWrittenList) || name == TagDigest || written(name)) {
			out = append(out, name)
		}
	}
	return out
}

// QuoteTag encodes a word with characters that the value of a tag can have, without spaces. Other
// characters become numbers.
func QuoteTag(word string) string {
	var out strings.Builder
	for i := range len(word) {
		switch c := word[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("_.:/+-@", c) >= 0:
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, "=%02X", c)
		}
	}
	return out.String()
}

// quotedCharacter matches a character that QuoteTag has encoded.
var quotedCharacter = regexp.MustCompile(`=[0-9A-F]{2}`)

// UnquoteTag decodes a word that QuoteTag has encoded.
func UnquoteTag(word string) string {
	return quotedCharacter.ReplaceAllStringFunc(word, func(number string) string {
		c, err := strconv.ParseUint(number[1:], 16, 8)
		if err != nil {
			return number
		}
		return string([]byte{byte(c)})
	})
}

func writtenTag(part int) string {
	if part == 0 {
		return TagWrittenList
	}
	return TagWrittenList + "-" + strconv.Itoa(part)
}
