package aws

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file keeps a list in tags: of what was written of a resource's settings. A value has room for few
// characters and does not take all of them, so a long list goes over several tags, and names are quoted.

// tagWrittenList is the tag that the list begins in; it goes on in those with a number behind.
const tagWrittenList = "fairlead.dev/written"

// valueLength is the longest value of a tag.
const valueLength = 256

// tagWritten is what tags of a class stand behind in the list.
const tagWritten = "tag:"

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

// writtenTags are the tags of a class that the list in tags says were written, as far as they are there.
func writtenTags(tags map[string]string) map[string]string {
	var out map[string]string
	for _, name := range writtenIn(tags) {
		tag, isTag := strings.CutPrefix(name, tagWritten)
		if value, there := tags[tag]; isTag && there {
			out = with(out, tag, value)
		}
	}
	return out
}

// listed are tags of a class as the list of what was written names them.
func listed(tags map[string]string) []string {
	var out []string
	for _, name := range sorted(tags) {
		out = append(out, tagWritten+name)
	}
	return out
}

// surplus are the tags of before that a shorter list leaves behind, those that the list says were written
// and that are no more, and a digest of what has no settings any more.
func surplus(before, after map[string]string) []string {
	var out []string
	for _, name := range sorted(before) {
		_, stays := after[name]
		if !stays && (strings.HasPrefix(name, tagWrittenList) || name == tagDigest || slices.Contains(writtenIn(before), tagWritten+name)) {
			out = append(out, name)
		}
	}
	return out
}

// quote spells a word with characters that stand between spaces in the value of a tag. Others are numbers.
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
