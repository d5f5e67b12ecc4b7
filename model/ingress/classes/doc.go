// Package classes decides which Ingresses are Fairlead's, and reads and checks the parameters of
// their IngressClasses.
package classes
