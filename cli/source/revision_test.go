package source

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// This file tests that a revision is read with all its files, and stays inside its directory.

// A tree that git would not make itself: its file is in the parent directory.
func TestFilesStayInsideTheirDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	command(t, "init", "-q", "-b", "trunk")
	input(t, "evil", "hash-object", "-w", "--stdin")
	blob := input(t, "evil", "hash-object", "--stdin")
	inner := input(t, "100644 blob "+blob+"\tevil\n", "mktree")
	outer := input(t, "040000 tree "+inner+"\t..\n", "mktree")
	if _, err := Checkout(t.Context(), outer); err == nil || !strings.Contains(err.Error(), "invalid path") {
		t.Errorf("the error is %v", err)
	}
}

// input returns what a git command prints that has an input.
func input(t *testing.T, text string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
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

// Nothing that a repository names is executed, and no filter runs: files are as the repository has
// them.
func TestNothingIsExecuted(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(t.TempDir(), "executed")
	files := map[string]string{
		".gitattributes": "*.yaml filter=evil text eol=crlf\nid.txt ident\n", ".gitignore": "run\n",
		"a.yaml": "a: 1\nb: 2\n", "two\nlines.yaml": "c: 3\n", "id.txt": "$Id$\n",
	}
	command(t, "init", "-q", "-b", "trunk")
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command(t, "add", "-A")
	command(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first")
	run := filepath.Join(here, "run")
	if err := os.WriteFile(run, []byte("#!/bin/sh\necho $0 $* >> "+mark+"\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-commit"} {
		if err := os.Symlink(run, filepath.Join(".git", "hooks", hook)); err != nil {
			t.Fatal(err)
		}
	}
	for _, setting := range []string{"filter.evil.smudge", "filter.evil.clean", "core.fsmonitor", "core.pager", "diff.external"} {
		command(t, "config", setting, run)
	}
	tree, err := Checkout(t.Context(), "trunk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Remove() })
	for name, want := range files {
		at, _, err := tree.Path(name)
		if got, wrong := os.ReadFile(at); wrong != nil || err != nil || string(got) != want {
			t.Errorf("%s is %q, want %q, errors %v and %v", name, got, want, err, wrong)
		}
	}
	if said, err := os.ReadFile(mark); err == nil {
		t.Errorf("git has executed %s", said)
	}
}

// TestARepositoryAmongFilesIsNone: a change can add the files of a repository, with its settings, to
// a directory in which a pipeline runs.
func TestARepositoryAmongFilesIsNone(t *testing.T) {
	t.Chdir(t.TempDir())
	command(t, "init", "-q", "-b", "trunk")
	command(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first")
	command(t, "init", "-q", "--bare", "deploy")
	command(t, "-C", "deploy", "config", "core.bare", "false")
	command(t, "-C", "deploy", "config", "core.worktree", ".")
	command(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "--git-dir", "deploy", "commit", "-q", "--allow-empty", "-m", "evil")
	t.Chdir("deploy")
	_, err := Checkout(t.Context(), "HEAD")
	if err == nil || !strings.Contains(err.Error(), "bare repository") {
		t.Fatalf("git takes it for the repository: %v", err)
	}
	// Versions of git without the setting find it.
	t.Setenv("GIT_DIR", ".")
	if _, err := Checkout(t.Context(), "HEAD"); err == nil || !strings.Contains(err.Error(), "has no .git") {
		t.Errorf("the error is %v", err)
	}
}

// TestTheNameOfAFile is that of git, not of a temporary directory.
func TestTheNameOfAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	command(t, "init", "-q", "-b", "trunk")
	if err := os.WriteFile("a.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "add", "-A")
	command(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first")
	tree, err := Checkout(t.Context(), "trunk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Remove() })
	at, _, err := tree.Path("a.yaml")
	if got := tree.Name(at); got != "trunk:a.yaml" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for revision, want := range map[string]string{
		"origin/man": "there is no revision origin/man here: if the branch exists, git fetch origin man brings it",
		"man":        "there is no revision man here: git branch --all lists branches",
	} {
		if _, err := Checkout(t.Context(), revision); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// A sparse checkout has the same part of the files at a revision: one that is not checked out is not
// deleted.
func TestASparseCheckoutHasItsPart(t *testing.T) {
	t.Chdir(t.TempDir())
	command(t, "init", "-q", "-b", "trunk")
	for _, dir := range []string{"here", "left"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(dir+"/a.yaml", nil, 0o600), os.Symlink("a.yaml", dir+"/link.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	command(t, "add", "-A")
	command(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first")
	for _, part := range [][]string{{"--cone", "here"}, {"--no-cone", "/*", "!left"}} {
		command(t, append([]string{"sparse-checkout", "set"}, part...)...)
		tree, err := Checkout(t.Context(), "trunk")
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"here/a.yaml": true, "here/link.yaml": true, "left/a.yaml": false, "left/link.yaml": false} {
			if _, found, err := tree.Path(name); found != want || err != nil {
				t.Errorf("with %q, %s is there: %t, %v", part, name, found, err)
			}
		}
		command(t, "diff", "--quiet", "HEAD") // the index of the working directory is as before
		if err := tree.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// A submodule has its files in another repository.
func TestASubmoduleIsNotRead(t *testing.T) {
	t.Chdir(t.TempDir())
	command(t, "init", "-q", "-b", "trunk")
	command(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first")
	command(t, "update-index", "--add", "--cacheinfo", "160000", input(t, "", "rev-parse", "HEAD"), "manifests/team")
	command(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "second")
	tree, err := Checkout(t.Context(), "trunk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Remove() })
	for path, refused := range map[string]bool{
		"manifests": true, "manifests/team": true, "manifests/team/a.yaml": true, ".": true,
		"manifests/teams": false, "other": false,
	} {
		if _, _, err := tree.Path(path); (err != nil) != refused {
			t.Errorf("%s: %v, want an error: %t", path, err, refused)
		}
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
	if _, err := Checkout(t.Context(), "origin/other"); err == nil || !strings.Contains(err.Error(), "This clone is shallow, and may lack origin/other") {
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

// TestADirectoryWithoutARepository is reported in words.
func TestADirectoryWithoutARepository(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := Checkout(t.Context(), "main")
	if err == nil || !strings.HasPrefix(err.Error(), "this directory is in no git repository") {
		t.Errorf("the error is %v", err)
	}
}
