// Package codec translates between the SDK's types and what travels: form values and XML, or JSON.
package codec

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fairlead/test/albsim/refusal"
)

// A Dialect is how a protocol of form values and XML names things.
type Dialect struct {
	// Asked and Answered are the names of a struct's field in a request and in an answer.
	Asked, Answered func(in reflect.Type, field string) string
	// Listed comes between the name of a list and a number in a request.
	Listed string
	// Item is the element of a list in an answer.
	Item string
}

// AsNamed is the Dialect in which the names of fields are the names on the wire.
var AsNamed = Dialect{
	Asked:    func(_ reflect.Type, field string) string { return field },
	Answered: func(_ reflect.Type, field string) string { return field },
	Listed:   ".member", Item: "member",
}

// A form is the values of a request that is being read.
type form struct {
	Dialect
	values url.Values
	known  map[string]bool // the values that were understood
}

// Decode fills a struct from form values: Name.member.1.Field=value.
func (d Dialect) Decode(values url.Values, into any) error {
	f := form{Dialect: d, values: values, known: map[string]bool{"Action": true, "Version": true}}
	if err := f.value("", reflect.ValueOf(into).Elem()); err != nil {
		return err
	}
	for key := range values {
		if !f.known[key] {
			return refusal.New("MalformedQueryString", "unknown parameter %q", key)
		}
	}
	return nil
}

func (f form) value(at string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Struct:
		return f.fields(at, v)
	case reflect.Pointer:
		if !f.present(at) {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return f.value(at, v.Elem())
	case reflect.Slice:
		return f.list(at, v)
	case reflect.Map:
		return f.entries(at, v)
	}
	if !f.values.Has(at) {
		return nil
	}
	f.known[at] = true
	return setScalar(v, f.values.Get(at))
}

func (f form) fields(at string, v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if err := f.value(dotted(at, f.Asked(v.Type(), field.Name)), v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func (f form) list(at string, v reflect.Value) error {
	if f.values.Has(at) { // an empty list
		f.known[at] = true
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return nil
	}
	for n := 1; ; n++ {
		member := fmt.Sprintf("%s%s.%d", at, f.Listed, n)
		if !f.present(member) {
			return nil
		}
		item := reflect.New(v.Type().Elem()).Elem()
		if err := f.value(member, item); err != nil {
			return err
		}
		v.Set(reflect.Append(v, item))
	}
}

func (f form) entries(at string, v reflect.Value) error {
	for n := 1; ; n++ {
		entry := fmt.Sprintf("%s.entry.%d", at, n)
		if !f.present(entry) {
			return nil
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		f.known[entry+".key"], f.known[entry+".value"] = true, true
		v.SetMapIndex(reflect.ValueOf(f.values.Get(entry+".key")), reflect.ValueOf(f.values.Get(entry+".value")))
	}
}

// present reports whether anything of a value was sent.
func (f form) present(at string) bool {
	if f.values.Has(at) {
		return true
	}
	for key := range f.values {
		if strings.HasPrefix(key, at+".") {
			return true
		}
	}
	return false
}

func dotted(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func setScalar(v reflect.Value, text string) error {
	var err error
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v.SetBool(b)
	case reflect.Int, reflect.Int32, reflect.Int64:
		var n int64
		n, err = strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
	default:
		err = fmt.Errorf("a %s cannot be sent", v.Type())
	}
	if err != nil {
		return refusal.New("MalformedQueryString", "%q: %v", text, err)
	}
	return nil
}

// Encode writes the fields of a struct as elements.
func (d Dialect) Encode(w io.Writer, out any) { d.write(w, reflect.Indirect(reflect.ValueOf(out))) }

func (d Dialect) write(w io.Writer, v reflect.Value) {
	if at, ok := v.Interface().(time.Time); ok {
		fmt.Fprint(w, at.UTC().Format(time.RFC3339))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() && field.Name != "ResultMetadata" && !empty(v.Field(i)) {
				d.element(w, d.Answered(v.Type(), field.Name), v.Field(i))
			}
		}
	case reflect.Pointer:
		d.write(w, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			d.element(w, d.Item, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			fmt.Fprintf(w, "<entry><key>%s</key><value>%s</value></entry>", Escaped(k.String()), Escaped(v.MapIndex(k).String()))
		}
	default:
		fmt.Fprint(w, Escaped(fmt.Sprint(v)))
	}
}

func (d Dialect) element(w io.Writer, name string, v reflect.Value) {
	fmt.Fprintf(w, "<%s>", name)
	d.write(w, v)
	fmt.Fprintf(w, "</%s>", name)
}

// empty reports whether a value is left out: a nil, or the empty string of an enumeration.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return v.IsNil()
	}
	return v.Kind() == reflect.String && v.Len() == 0
}

// EncodeJSON writes a struct as the JSON services do: times are seconds, what is nil is left out.
func EncodeJSON(w io.Writer, out any) {
	_ = json.NewEncoder(w).Encode(plain(reflect.ValueOf(out))) // plain data; a reader that is gone does not matter
}

// plain is a value as maps, lists and scalars.
func plain(v reflect.Value) any {
	if v.IsValid() && v.CanInterface() {
		if at, ok := v.Interface().(time.Time); ok {
			return float64(at.UnixMilli()) / 1000
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Struct:
		fields := map[string]any{}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() && field.Name != "ResultMetadata" && !empty(v.Field(i)) {
				fields[field.Name] = plain(v.Field(i))
			}
		}
		return fields
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Bytes() // base64
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	}
	return v.Interface()
}

// Escaped returns a text as XML has it.
func Escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
