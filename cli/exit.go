package cli

import "errors"

// This file holds exit codes and the errors that stand for them.

// Exit codes. A script can tell a plan with steps from one without, and both from a failure.
const (
	exitDone = 0
	exitFail = 1
	exitToDo = 2
)

// errToDo ends plan where there is something to do, and explain --all where an Ingress is not served
// as asked.
var errToDo = errors.New("there is something to do")

// errWrong ends a check that found something wrong, and has printed it.
var errWrong = errors.New("something is wrong")
