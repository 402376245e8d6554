package promela

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// Limits of one search. The depth is far above what the bounds of Options allow; a search that meets one of them has
// not looked at everything, and is an error.
const (
	memoryMB = 4000
	maxDepth = 1_000_000
)

// Tools are the programs that a search needs.
type Tools struct {
	Spin     string // spin 6.5
	Compiler string // a C compiler
}

// FindTools looks for spin and a C compiler on the path. The error says what to install.
func FindTools() (Tools, error) {
	var t Tools
	var missing []string
	t.Spin, _ = exec.LookPath("spin")
	if t.Spin == "" {
		missing = append(missing, "spin, the model checker (Debian and Ubuntu: apt-get install spin; elsewhere: https://spinroot.com)")
	}
	for _, name := range []string{"cc", "gcc", "clang"} {
		if t.Compiler == "" {
			t.Compiler, _ = exec.LookPath(name)
		}
	}
	if t.Compiler == "" {
		missing = append(missing, "a C compiler (Debian and Ubuntu: apt-get install gcc libc6-dev)")
	}
	if missing != nil {
		return Tools{}, fmt.Errorf("search with spin: not on the path: %s", strings.Join(missing, "; and "))
	}
	return t, nil
}

// Check has spin search every interleaving of the model of the program within the bounds, depth first. The verdict says
// which invariant does not hold, or that all hold.
//
// An error is no verdict: a tool is missing or failed, or the search did not look at everything (out of memory, too
// deep, ended by ctx).
func Check(ctx context.Context, tools Tools, p *transitions.Program, o Options) (*Verdict, error) {
	return check(ctx, tools, p, o, false)
}

// Shortest is Check breadth first: a violation that it finds is one of the shortest, and the verdict tells its steps.
// Where all invariants hold it needs several times the memory of Check for the same verdict.
func Shortest(ctx context.Context, tools Tools, p *transitions.Program, o Options) (*Verdict, error) {
	return check(ctx, tools, p, o, true)
}

func check(ctx context.Context, tools Tools, p *transitions.Program, o Options, breadth bool) (*Verdict, error) {
	text, err := Model(p, o)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fencerow-spin-")
	if err != nil {
		return nil, fmt.Errorf("search with spin: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.WriteFile(filepath.Join(dir, "model.pml"), []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("search with spin: %w", err)
	}
	s := search{ctx: ctx, tools: tools, dir: dir, program: p}
	verdict, err := s.run(breadth)
	if err == nil && verdict.Violated != "" {
		verdict.Trace, err = s.replay()
	}
	return verdict, err
}

// search is one model in one folder.
type search struct {
	ctx     context.Context
	tools   Tools
	dir     string
	program *transitions.Program
}

// run generates, compiles and runs the checker. Depth first with scratch outside of the states is what the complete
// search needs the least memory for; breadth first spin wants all of it inside.
func (s search) run(breadth bool) (*Verdict, error) {
	generate := []string{"-a", "model.pml"}
	compile := []string{"-O1", "-w", "-DSAFETY", "-DNOREDUCE", fmt.Sprintf("-DMEMLIM=%d", memoryMB), "-o", "pan", "pan.c"}
	if breadth {
		generate = append([]string{"-DBREADTH"}, generate...)
		compile = append([]string{"-DBFS"}, compile...)
	}
	out, err := s.command(s.tools.Spin, generate...)
	if err != nil {
		return nil, fmt.Errorf("search with spin: generate the checker: %w: %s", err, out)
	}
	if bytes.Contains(out, []byte("Error")) { // spin has been seen to say so and to end well
		return nil, fmt.Errorf("search with spin: %s refuses the model: %s", s.tools.Spin, out)
	}
	if out, err = s.command(s.tools.Compiler, compile...); err != nil {
		return nil, fmt.Errorf("search with spin: compile the checker: %w: %s", err, out)
	}
	began := time.Now()
	// -E: where all bounds are spent nothing goes on, which is no fault. The hash table grows by itself.
	pan := exec.CommandContext(s.ctx, filepath.Join(s.dir, "pan"), "-E", fmt.Sprintf("-m%d", maxDepth))
	pan.Dir = s.dir
	out, err = pan.CombinedOutput()
	if err != nil && s.ctx.Err() != nil {
		return nil, fmt.Errorf("search with spin: not finished within %s: %w", time.Since(began).Round(time.Second), context.Cause(s.ctx))
	}
	v, perr := parse(out, s.program)
	if perr != nil {
		return nil, errors.Join(perr, err)
	}
	v.Seconds = time.Since(began).Seconds()
	v.CPU = (pan.ProcessState.UserTime() + pan.ProcessState.SystemTime()).Seconds()
	return v, nil
}

// replay tells the steps of the violation that was found.
func (s search) replay() ([]string, error) {
	out, err := s.command(filepath.Join(s.dir, "pan"), "-r")
	if len(out) == 0 {
		return nil, fmt.Errorf("search with spin: replay the violation: %w", err)
	}
	return steps(out, s.program), nil
}

func (s search) command(name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(s.ctx, name, args...)
	c.Dir = s.dir
	return c.CombinedOutput()
}
