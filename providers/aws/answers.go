package aws

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// This file reads answers of AWS that may lack what the call is for: the SDK checks that what AWS
// sends has the right form, and nothing else.

// only is the one thing that a call is about. AWS answered without it where the list is empty: it
// is not known then whether there is one.
func only[T any](list []T, call, what string) (*T, error) {
	if len(list) == 0 {
		return nil, unsaid(call, what)
	}
	return &list[0], nil
}

// said is an ARN or an ID that an answer is to hold.
func said(text *string, call, what string) (string, error) {
	if aws.ToString(text) == "" {
		return "", unsaid(call, what)
	}
	return *text, nil
}

// unsaid is an answer that lacks what the call is for. The next try finds out what there is.
func unsaid(call, what string) error { return fmt.Errorf("AWS answered %s without %s", call, what) }

func each[A, B any](in []A, f func(A) B) []B {
	var out []B
	for _, a := range in {
		out = append(out, f(a))
	}
	return out
}
