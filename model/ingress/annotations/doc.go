// Package annotations reads the annotations of Ingresses under their class, and reports those that
// are unknown, misplaced, or of other controllers.
package annotations
