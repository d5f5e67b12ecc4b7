package awserr

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// This file checks that answers of AWS have the parts that the provider needs: the SDK checks only
// their form.

// Only returns the one resource that a call is about. After an error it is not known whether the
// resource exists: AWS has answered with an empty list.
func Only[T any](list []T, call, what string) (*T, error) {
	if len(list) == 0 {
		return nil, Missing(call, what)
	}
	return &list[0], nil
}

// Required returns an ARN or an ID that an answer must have.
func Required(text *string, call, what string) (string, error) {
	if aws.ToString(text) == "" {
		return "", Missing(call, what)
	}
	return *text, nil
}

// Missing returns the error of an answer that lacks a part. The next try reads the resource.
func Missing(call, what string) error {
	return fmt.Errorf("AWS answered %s without %s", call, what)
}
