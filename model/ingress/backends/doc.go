// Package backends makes actions and backends of Services and Backend objects.
package backends
