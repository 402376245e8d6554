package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// claim is what the folder of results says of an operation: that it was sent.
type claim struct {
	file string // that says so
	what string
}

// maxResultLine bounds what is read as one line of a results file. A longer one is none.
const maxResultLine = 1 << 20

// refuseForgotten ends a run whose folder of results says that requests of the input were sent before, where the
// database does not know it: another database sent them, and this one would buy them again. It reads only; what it
// cannot read stops nobody.
func (b *batch) refuseForgotten(dir, database string) error {
	unknown := map[string]bool{}
	for _, item := range b.in.Items {
		if known, ok := b.stored[item.ID]; !ok || known.untouched {
			unknown[item.ID] = true
		}
	}
	if len(unknown) == 0 || dir == "" {
		return nil
	}
	claims := b.app.resultClaims(filepath.Join(dir, resultsName), unknown)
	b.recordClaims(filepath.Join(dir, recordsDir), unknown, claims)
	if len(claims) == 0 {
		return nil
	}
	return &codeError{exitUsage, errors.New(b.forgotten(claims, dir, database))}
}

// maxClaims is how many operations a refusal names.
const maxClaims = 5

func (b *batch) forgotten(claims map[string]claim, dir, database string) string {
	var text strings.Builder
	first, named := "", 0
	for _, item := range b.in.Items { // in the order of the input
		c, ok := claims[item.ID]
		if !ok {
			continue
		}
		if first == "" {
			first = c.file
			fmt.Fprintf(&text, "%s says that %d operations of %s were sent before, and the database %s does not know it: nothing was prepared and nothing was sent, since that would buy them again",
				c.file, len(claims), b.in.Name, database)
		}
		if named++; named > maxClaims {
			continue
		}
		fmt.Fprintf(&text, "\n  %s: %s", called(item.ID), c.what)
		if c.file != first {
			fmt.Fprintf(&text, " (%s)", c.file)
		}
	}
	if named > maxClaims {
		fmt.Fprintf(&text, "\n  and %d more", named-maxClaims)
	}
	fmt.Fprintf(&text, "\nWhat to do: name the database that sent them with --db or $FENCEROW_DB, and its --schema and --table-prefix if it has some. Without them it is %s in the working folder.", defaultDB)
	fmt.Fprintf(&text, "\nIf it is lost: take these operations out of %s; their remote jobs still exist at the remote.", b.in.Name)
	fmt.Fprintf(&text, "\nTo buy them again on purpose: name another folder than %s with --out.", dir)
	return text.String()
}

// resultClaims reads which of the ids a results file says were sent.
func (a *app) resultClaims(path string, ids map[string]bool) map[string]claim {
	claims := map[string]claim{}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return claims
	}
	bad, first := 0, 0
	if err == nil {
		defer file.Close()
		r := bufio.NewReaderSize(file, maxResultLine)
		for number := 1; err == nil; number++ {
			var line []byte
			line, err = r.ReadSlice('\n')
			var result resultJSON
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				for errors.Is(err, bufio.ErrBufferFull) {
					_, err = r.ReadSlice('\n')
				}
			case len(bytes.TrimSpace(line)) == 0:
				continue
			case json.Unmarshal(line, &result) == nil && result.ID != "":
				if what := result.sent(); what != "" && ids[result.ID] {
					claims[result.ID] = claim{path, what}
				}
				continue
			}
			if bad++; bad == 1 {
				first = number
			}
		}
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		a.sayf("fencerow: %s cannot be read, so that it is not known what was sent before: %v", path, err)
	case bad > 0:
		a.sayf("fencerow: %s: %d lines were not understood, the first is line %d: it is damaged, or no list of results", path, bad, first)
	}
	return claims
}

// sent says how a line of results shows that a request was sent, or may have been; "" if it does not.
func (r resultJSON) sent() string {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	job, file, reason := text(r.RemoteJobID), text(r.File), text(r.Reason)
	switch {
	case job != "" && file != "":
		return fmt.Sprintf("remote job %s, delivered to %s", job, file)
	case job != "":
		return "remote job " + job
	case file != "":
		return "delivered to " + file
	case r.Outcome == nil && contains(program().Reasons, reason):
		return "uncertain, " + reason + ": it may have been sent"
	}
	return ""
}

// recordsDir is where the records of what was delivered lie.
const recordsDir = ".fencerow"

// recordClaims adds what the records beside the results say: a run that was killed wrote no list.
func (b *batch) recordClaims(dir string, ids map[string]bool, claims map[string]claim) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Ext(path) != ".jsonl" {
			return nil // it says nothing; what else is there may
		}
		var owner struct {
			Operation   string `json:"operation"`
			Provider    string `json:"provider"`
			Account     string `json:"account"`
			RemoteJobID string `json:"remote_job_id"`
		}
		if json.Unmarshal(firstLine(path), &owner) != nil || !ids[owner.Operation] || owner.RemoteJobID == "" ||
			owner.Provider != b.spec.Provider() || owner.Account != b.spec.Account {
			return nil
		}
		if _, told := claims[owner.Operation]; !told {
			claims[owner.Operation] = claim{path, "remote job " + owner.RemoteJobID}
		}
		return nil
	})
}

func firstLine(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	line, _ := bufio.NewReader(io.LimitReader(file, 64<<10)).ReadBytes('\n')
	return line
}
