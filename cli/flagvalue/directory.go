package flagvalue

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/pflag"
)

// This file holds flags that name a directory.

// Directory returns a flag that names a directory, which has to exist; "" names none.
func Directory(path *string) pflag.Value { return directory{path} }

type directory struct{ path *string }

func (d directory) String() string {
	if d.path == nil {
		return "" // of the zero value, which pflag asks for
	}
	return *d.path
}

func (d directory) Set(v string) error {
	if v == "" {
		*d.path = ""
		return nil
	}
	info, err := os.Stat(v)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no directory %s", v)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", v)
	}
	*d.path = v
	return nil
}

// Type is for pflag.
func (d directory) Type() string { return "directory" }
