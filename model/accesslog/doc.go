// Package accesslog reads the access logs of Application Load Balancers.
//
// The format is that of Elastic Load Balancing, "Access logs for your Application Load Balancer",
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/, there
// load-balancer-access-logs.html: one line for each request, with fields between spaces. Fields
// that hold text of clients stand in double quotes. New fields can be added at the end of a line,
// and are left out.
package accesslog
