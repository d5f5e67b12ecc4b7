package revision

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// This file tests that a revision is read with all its files, and stays inside its directory.

func TestFilesStayInsideTheirDirectory(t *testing.T) {
	outside := t.TempDir()
	for name, c := range map[string]struct {
		files    []entry
		contents []string
	}{
		"a path upwards":     {[]entry{{path: "../evil"}}, []string{"evil"}},
		"an absolute path":   {[]entry{{path: outside + "/evil"}}, []string{"evil"}},
		"behind a link":      {[]entry{{"link", true}, {path: "link/evil"}}, []string{outside, "evil"}},
		"a link to the file": {[]entry{{"evil", true}, {path: "evil"}}, []string{outside + "/evil", "evil"}},
	} {
		t.Run(name, func(t *testing.T) {
			var contents strings.Builder
			for _, text := range c.contents {
				fmt.Fprintf(&contents, "0 blob %d\n%s\n", len(text), text)
			}
			top := t.TempDir()
			dir := filepath.Join(top, "tree")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			// An error is as good as a file inside.
			err := extract(dir, c.files, strings.NewReader(contents.String()))
			for _, place := range []string{filepath.Join(outside, "evil"), filepath.Join(top, "evil")} {
				if _, found := os.Lstat(place); found == nil {
					t.Errorf("%s was written, with the error %v", place, err)
				}
			}
		})
	}
}

func TestLinksThatStayInside(t *testing.T) {
	for link, want := range map[[2]string]bool{
		{"a", "b"}: true, {"a/b", "../c"}: true, {"a/b", "c/d"}: true, {"a/b", "./c"}: true, {"a/b/c", "../../d/e"}: true,
		{"a", "../b"}: false, {"a/b", "../../c"}: false, {"a", "/etc/passwd"}: false, {"a", ""}: false,
		// If b is a link, too, .. leads to the parent of what it stands for.
		{"a", "b/../c"}: false, {"a/b", "../c/../../d"}: false, {"a", "b/.."}: false, {"a/b", ".."}: true,
	} {
		if got := staysInside(link[0], link[1]); got != want {
			t.Errorf("%s to %s stays inside: %t, want %t", link[0], link[1], got, want)
		}
	}
}

// TestARevisionHasAllFiles: those that git archive leaves out or changes, and links inside the
// repository.
func TestARevisionHasAllFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	files := map[string]string{
		".gitattributes": "left export-ignore\n*.sub export-subst\n", "left/a.yaml": "a: 1\n", "b.sub": "$Format:%H$\n",
		"with space/é.yaml": "no newline", "empty.yaml": "",
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"with space/link.yaml": "../left/a.yaml", "outside": "/etc/passwd"} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	command(t, "init", "-q", "-b", "trunk")
	command(t, "add", "-A")
	command(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first")
	command(t, "rm", "-q", "-r", "left")
	tree, err := Checkout(t.Context(), "trunk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Remove(); err != nil {
			t.Error(err)
		}
	})
	files["with space/link.yaml"] = files["left/a.yaml"]
	for name, want := range files {
		at, found, err := tree.Path(name)
		if err != nil || !found {
			t.Errorf("%s is not there, %v", name, err)
			continue
		}
		if got, err := os.ReadFile(at); err != nil || string(got) != want {
			t.Errorf("%s is %q, want %q, %v", name, got, want, err)
		}
	}
	if _, found, _ := tree.Path("outside"); found {
		t.Error("a link to a file outside is there")
	}
}

// TestAShallowCloneIsNamed where it lacks the revision.
func TestAShallowCloneIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	command(t, "init", "-q", "-b", "trunk", "origin")
	commit := []string{"-C", "origin", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m"}
	command(t, append(commit, "first")...)
	command(t, append(commit, "second")...)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	command(t, "clone", "-q", "--depth", "1", "file://"+here+"/origin", "shallow")
	t.Chdir("shallow")
	if _, err := Checkout(t.Context(), "origin/other"); err == nil || !strings.Contains(err.Error(), "this clone is shallow, and may lack origin/other") {
		t.Errorf("the error is %v", err)
	}
	t.Chdir("../origin")
	if _, err := Checkout(t.Context(), "other"); err == nil || strings.Contains(err.Error(), "shallow") {
		t.Errorf("the error of a whole clone is %v", err)
	}
}

func command(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}
