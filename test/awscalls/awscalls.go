// Package awscalls answers the calls of the clients of AWS with a function, in tests of one package.
// Package test/albsim plays an account.
package awscalls

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

// Config returns the settings of clients. A function is given the input of each call, and returns
// the output or the error.
func Config(answer func(in any) (out any, err error)) aws.Config {
	answered := middleware.InitializeMiddlewareFunc("Answer", func(
		_ context.Context, in middleware.InitializeInput, _ middleware.InitializeHandler,
	) (out middleware.InitializeOutput, m middleware.Metadata, err error) {
		out.Result, err = answer(in.Parameters)
		return out, m, err
	})
	return aws.Config{Region: "eu-west-1", APIOptions: []func(*middleware.Stack) error{func(s *middleware.Stack) error {
		return s.Initialize.Add(answered, middleware.After) //nolint:misspell // the SDK names it so
	}}}
}

// Refused is the error of a call that AWS refuses.
func Refused(code, message string) error {
	return &smithy.GenericAPIError{Code: code, Message: message}
}
