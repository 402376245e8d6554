package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// account is who the server runs as. PostgreSQL refuses to run as root, so a
// caller that is root (as in most containers) lends it another name.
type account struct {
	credential *syscall.Credential // nil: the caller itself
	name       string
}

// serverAccount is the caller, or for root an account that may do nothing.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}

	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(found.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(found.Gid, 10, 32)
		if errors.Join(err1, err2) != nil || uid == 0 {
			continue
		}

		return account{name: name, credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}

	return account{}, errors.New("run PostgreSQL as root: it refuses, and there is neither an account postgres " +
		"nor an account nobody to run it as; add one, or run the tests as another user")
}

// makeRoot makes a folder that the account owns, where it can get at it.
func (a account) makeRoot() (string, error) {
	candidates := []string{os.TempDir(), "/tmp", "/var/tmp"}

	for _, parent := range candidates {
		if a.credential != nil && !open(parent) {
			continue // root can enter it and the account cannot
		}
		root, err := os.MkdirTemp(parent, "fencerow-pg-")
		if err != nil {
			continue
		}
		if a.credential != nil {
			if err := os.Chown(root, int(a.credential.Uid), int(a.credential.Gid)); err != nil {
				return "", errors.Join(fmt.Errorf("give a data folder to the account %s: %w", a.name, err), os.Remove(root))
			}
		}

		return root, nil
	}

	return "", fmt.Errorf("make a data folder for PostgreSQL in %s: none can be written and entered by its account; set TMPDIR",
		strings.Join(candidates, ", "))
}

// open tells whether everybody may enter a folder and all that it is in.
func open(folder string) bool {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}

	for ; ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if folder == filepath.Dir(folder) {
			return true
		}
	}
}

// command is a program to be run by the account. It sees none of the caller's
// PG… variables: they would point it at another server.
func (a account) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "TMPDIR=" + dir}
	if libraries, ok := os.LookupEnv("LD_LIBRARY_PATH"); ok {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+libraries)
	}
	// A session of its own: an interrupt typed at the terminal ends the test,
	// and the end of the test ends the server, in this order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: a.credential}
	cmd.WaitDelay = time.Second

	return cmd
}

func (a account) run(dir, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()

	out, err := a.command(ctx, dir, name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("run %s: %w: %s", filepath.Base(name), err, strings.TrimSpace(tail(string(out), 20)))
	}

	return string(out), nil
}
