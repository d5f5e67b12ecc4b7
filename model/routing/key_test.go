package routing

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKey(t *testing.T) {
	for text, want := range map[Key][4]string{
		"fairlead/shop/web/internal":               {"fairlead", "fairlead/shop/web/", "internal", ""},
		"fairlead/shop/web/internal=shop-edge":     {"fairlead", "fairlead/shop/web/", "internal", "shop-edge"},
		"fairlead/@all/internet-facing":            {"fairlead", "fairlead/@all/", "internet-facing", ""},
		"fairlead/@all.example/internal=shop-edge": {"fairlead", "fairlead/@all.example/", "internal", "shop-edge"},
		"fairlead/shop/@all/internet-facing=Shop1": {"fairlead", "fairlead/shop/@all/", "internet-facing", "Shop1"},
	} {
		if diff := cmp.Diff(want, [4]string{text.Class(), text.Whose(), text.Scheme(), text.Name()}); diff != "" {
			t.Errorf("class, whose, scheme and name of %s (-want +got):\n%s", text, diff)
		}
	}
	for want, got := range map[Key]Key{
		"fairlead/shop/web/internal":      NewKey([]string{"fairlead", "shop", "web"}, "internal", "", ""),
		"fairlead/@all/internal=shop-one": NewKey([]string{"fairlead", "@all"}, "internal", "", "shop-one"),
	} {
		if got != want {
			t.Errorf("the key is %s, want %s", got, want)
		}
	}
}

func TestTheKeyOfABinding(t *testing.T) {
	for key, want := range map[Key]string{
		NewBindingKey("shop", "web", ""):      "shop/web true",
		NewBindingKey("shop", "web", "other"): "shop/web true",
		"fairlead/shop/web/internal":          "/ false",
		"@binding":                            "/ false",
		"@binding/x":                          "/ false",
		"@binding/x/y":                        "/ false",
		"@binding/a/b/c/d":                    "/ false",
	} {
		namespace, name, is := key.Binding()
		if got := fmt.Sprintf("%s/%s %t", namespace, name, is); got != want {
			t.Errorf("of %s it is %s, want %s", key, got, want)
		}
	}
}
