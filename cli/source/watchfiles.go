package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"fairlead.dev/fairlead/cli/manifests"
)

// calmFiles is the time without changes after which files are read: editors and git write several at
// once.
const calmFiles = 150 * time.Millisecond

// WatchFiles sends once after each burst of changes to the manifests in the paths, and closes the
// channel when the context ends.
func WatchFiles(ctx context.Context, paths []string) (<-chan struct{}, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching files: %w", err)
	}
	for _, path := range paths {
		if err := watcher.Add(watchedDirectory(path)); err != nil {
			_ = watcher.Close() // the first error is returned
			return nil, fmt.Errorf("%s: watching: %w", path, err)
		}
	}
	changes := make(chan struct{})
	go func() {
		defer close(changes)
		defer func() { _ = watcher.Close() }()
		forward(ctx, watcher, changes)
	}()
	return changes, nil
}

// watchedDirectory returns the directory to watch for a path. A file is watched through its
// directory: most editors replace the file.
func watchedDirectory(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

func forward(ctx context.Context, watcher *fsnotify.Watcher, changes chan<- struct{}) {
	var rest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-watcher.Events:
			if manifests.IsManifest(filepath.Base(event.Name)) && !event.Has(fsnotify.Chmod) {
				rest = time.After(calmFiles)
			}
		case lost := <-watcher.Errors:
			if lost != nil { // events were lost, so that something may have changed
				rest = time.After(calmFiles)
			}
		case <-rest:
			rest = nil
			select {
			case changes <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}
}
