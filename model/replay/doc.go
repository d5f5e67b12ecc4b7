// Package replay answers the lines of access logs from routing tables and from the rules of
// listeners, and compares the answers with those in the lines.
//
// A line does not have all of a request: headers other than User-Agent are missing. A condition on
// these may hold or not, so a line can have several possible answers (conditions.go, class.go). A
// line disagrees only if no possible answer is the one that was logged (verdict.go).
package replay
