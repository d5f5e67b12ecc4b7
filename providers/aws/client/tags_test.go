package client

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
)

// A value of a tag has up to 256 characters
// (https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html, "Tag naming limits"), and a
// key of a load balancer may have more: it is in as many tags as it takes.
func TestKeysAreInTags(t *testing.T) {
	owner := Owner{"test"}
	for _, length := range []int{1, 255, 256, 257, 512, 513, 700} {
		key := lb.Key(strings.Repeat("abcdefghi/", 70)[:length])
		more := map[string]string{"team": "web"}
		tags := owner.Owned(key, more)
		for name, value := range tags {
			if len(value) > ValueLength || value == "" {
				t.Errorf("%d: %s has %d characters", length, name, len(value))
			}
		}
		if want := 2 + (length+255)/256; len(tags) != want || len(more) != 1 || tags["team"] != "web" {
			t.Errorf("%d: %d tags, want %d: %v", length, len(tags), want, slices.Sorted(maps.Keys(tags)))
		}
		if got := KeyIn(tags); got != key {
			t.Errorf("%d: the key in the tags is %s", length, got)
		}
		if !owner.Owns(key, tags) || owner.Owns(key+"x", tags) || (Owner{"other"}).Owns(key, tags) {
			t.Errorf("%d: %v are another's", length, tags)
		}
	}
	want := map[string]string{"fairlead.dev/installation": "test", "fairlead.dev/key": strings.Repeat("k", 256), "fairlead.dev/key.2": "k"}
	if diff := cmp.Diff(want, owner.Owned(lb.Key(strings.Repeat("k", 257)), nil)); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestTagsAreInOrder(t *testing.T) {
	var got []string
	for _, tag := range ELBTags(map[string]string{"b": "2", "a": "1", "c": "3"}) {
		got = append(got, aws.ToString(tag.Key)+aws.ToString(tag.Value))
	}
	if !slices.Equal(got, []string{"a1", "b2", "c3"}) {
		t.Errorf("tags %v", got)
	}
	signed := map[string]string{"a": "1", TagDigest: "2"}
	if got := WithoutDigest(signed); len(got) != 1 || len(signed) != 2 {
		t.Errorf("without the digest, %v are %v", signed, got)
	}
}

// What a class wrote is listed in as many tags as it takes, each of at most 256 characters, and is
// read as it was written.
func TestListsOfWhatIsWrittenAreRead(t *testing.T) {
	var long []string
	for i := range 60 {
		long = append(long, fmt.Sprintf("attribute %d_%s", i, strings.Repeat("x", i%11)))
	}
	for _, names := range [][]string{nil, {"a"}, {"a b", "=41", "ü", "tag:x"}, {strings.Repeat("n", 127), strings.Repeat("m", 128)},
		{strings.Repeat("n", 128), strings.Repeat("m", 128)}, {strings.Repeat("l", 256), "k"}, {"k", strings.Repeat("l", 256)}, long} {
		tags, total := map[string]string{}, 0
		ListWritten(tags, names)
		for name, value := range tags {
			if len(value) > ValueLength || value == "" || !strings.HasPrefix(name, TagWrittenList) {
				t.Errorf("%s has %d characters: %q", name, len(value), value)
			}
			total += len(value) + 1
		}
		if got := WrittenIn(tags); !slices.Equal(got, names) {
			t.Errorf("%q are read as %q", names, got)
		}
		if least := (total + ValueLength) / (ValueLength + 1); len(names) < 10 && len(tags) != least {
			t.Errorf("%d names are in %d tags, want %d", len(names), len(tags), least)
		}
	}
}

// Tags of a class are known by marks, which are as short as that many of them have room in one tag.
func TestTagsOfAClassAreMarked(t *testing.T) {
	tags := map[string]string{"team": "web", "cost centre": "42", "somebody": "else", TagDigest: "1"}
	MarkTags(tags, map[string]string{"team": "web", "cost centre": "42"})
	if got := len(tags[TagWrittenList+"-tags"]); got != 10 {
		t.Errorf("two marks have %d characters", got)
	}
	if diff := cmp.Diff(map[string]string{"team": "web", "cost centre": "42"}, WrittenTags(tags)); diff != "" {
		t.Errorf("tags of the class (-want +got):\n%s", diff)
	}
	if got := SurplusTags(tags, map[string]string{"team": "api"}); !slices.Equal(got, []string{"cost centre", TagDigest, TagWrittenList + "-tags"}) {
		t.Errorf("what goes is %v", got)
	}
	none := map[string]string{}
	if MarkTags(none, nil); len(none) > 0 || WrittenTags(none) != nil {
		t.Errorf("no tags are marked by %v", none)
	}
}

func TestWordsAreQuoted(t *testing.T) {
	const plain = "azAZ09_.:/+-@"
	if got := QuoteTag(plain); got != plain {
		t.Errorf("%s is quoted as %s", plain, got)
	}
	for word, want := range map[string]string{"a b": "a=20b", "=": "=3D", "`{[": "=60=7B=5B", "ü": "=C3=BC", "": ""} {
		if got := QuoteTag(word); got != want || UnquoteTag(got) != word {
			t.Errorf("%q is quoted as %q, and read as %q", word, got, UnquoteTag(got))
		}
	}
	if got := UnquoteTag("a=2g=ff"); got != "a=2g=ff" {
		t.Errorf("what is no number is read as %q", got)
	}
}
