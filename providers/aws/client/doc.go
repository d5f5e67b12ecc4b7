// Package client has the calls to AWS, and how each of them goes.
//
// The other packages of the provider decide which calls to make. This one hides that AWS answers late, too often and in
// other words: it keeps calls within the rates of an account and ends them in time, distinguishes what AWS does not find
// yet from what does not exist, explains errors in the classes of package providers, names and tags resources, and
// converts rules and health checks to the types of the SDK and back.
package client
