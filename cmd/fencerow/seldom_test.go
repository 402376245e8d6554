package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestAWarningThatSeveralLoopsHaveIsToldOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := newSeldom(slog.New(slog.NewTextHandler(&out, nil)))
	for range 3 {
		log.With("loop", 1).Warn("away")
		log.Warn("back")
		log.Error("lost")
	}
	text := out.String()
	if strings.Count(text, "away") != 1 || strings.Count(text, "back") != 1 || strings.Count(text, "lost") != 3 {
		t.Error(text)
	}
}
