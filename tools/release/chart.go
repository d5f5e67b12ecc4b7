package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// This file packs the Helm chart, which becomes that of the version.

const chartDir = "config/chart/fairlead"

// stamps returns for files of the chart the line that names a version, and the one in its place.
func (r release) stamps() map[string][2]string {
	number := strings.TrimPrefix(r.version, "v")
	return map[string][2]string{
		"Chart.yaml": {
			"\nversion: 0.1.0\n",
			"\nversion: " + number + "\nappVersion: " + r.version + "\n",
		},
		"values.yaml": {"\n  tag: \"\"\n", "\n  tag: " + r.version + "\n"},
	}
}

// chart returns what `helm package` makes, with the time of the commit.
func (r release) chart(ctx context.Context) (file, error) {
	listed, err := git(ctx, r.tree, "ls-files", "-z", "--", chartDir)
	if err != nil {
		return file{}, err
	}
	stamps := r.stamps()
	var files []file
	for name := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(r.tree, name))
		if err != nil {
			return file{}, err
		}
		name = strings.TrimPrefix(name, chartDir+"/")
		if stamp, stamped := stamps[name]; stamped {
			if strings.Count(string(data), stamp[0]) != 1 {
				return file{}, fmt.Errorf("%s: want %q once", name, strings.TrimSpace(stamp[0]))
			}
			data = []byte(strings.Replace(string(data), stamp[0], stamp[1], 1))
		}
		files = append(files, file{name: path.Join("fairlead", name), data: data})
	}
	data, err := compressed(r.at, files)
	return file{name: "fairlead-" + strings.TrimPrefix(r.version, "v") + ".tgz", data: data}, err
}
