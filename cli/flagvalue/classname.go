package flagvalue

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// This file holds flags that name an IngressClass.

// NoName is the value of a flag that names a class, where the flag is given without a name.
const NoName = "true"

// ClassName returns a flag that names a class. The value true stands for yes; where yes is empty,
// the value has to be a name. The value false stands for no class.
func ClassName(value *string, yes string) pflag.Value { return className{value, yes} }

// ClassLiteral adds the flag that names the class that is served without an IngressClass.
func ClassLiteral(flags *pflag.FlagSet, value *string) {
	flags.Var(ClassName(value, ""), "ingress-class-literal",
		"serve Ingresses whose annotation kubernetes.io/ingress.class is `NAME`, without parameters, "+
			"where no IngressClass has this name; unset: they are not served, for the reason ClassUnknown "+
			"or ClassMissing")
}

type className struct {
	value *string
	yes   string
}

func (c className) String() string {
	if c.value == nil {
		return "" // of the zero value, which pflag asks for
	}
	return *c.value
}

func (c className) Set(v string) error {
	switch v {
	case "true":
		if c.yes == "" {
			return errors.New("it has to be the name of a class")
		}
		v = c.yes
	case "", "false":
		*c.value = ""
		return nil
	}
	if problems := validation.IsDNS1123Subdomain(v); len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	*c.value = v
	return nil
}

func (c className) Type() string { return "name" }
