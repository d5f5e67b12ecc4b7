package client

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// This file checks that answers of AWS have the parts that the provider needs: the SDK checks only
// their form.

// RequireOne returns the first resource of a list, or an error if AWS has answered with an empty
// list. The resource may exist all the same.
func RequireOne[T any](list []T, call, what string) (*T, error) {
	if len(list) == 0 {
		return nil, MissingError(call, what)
	}
	return &list[0], nil
}

// RequireID returns the ARN or ID of an answer, or an error if it is missing.
func RequireID(text *string, call, what string) (string, error) {
	if aws.ToString(text) == "" {
		return "", MissingError(call, what)
	}
	return *text, nil
}

// MissingError returns the error for an answer that lacks a part. The next try reads the resource.
func MissingError(call, what string) error {
	return fmt.Errorf("AWS answered %s without %s", call, what)
}
