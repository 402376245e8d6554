package render

import (
	"encoding/json"

	"github.com/fencerow/fencerow/transitions"
)

// The JSON form of a program. Names are stable: other people's programs read it.
type (
	jsonProgram struct {
		Name     string       `json:"name"`
		Phases   []jsonPhase  `json:"phases"`
		Actions  []jsonAction `json:"actions"`
		Outcomes []string     `json:"outcomes"`
		Reasons  []string     `json:"reasons"`
		Columns  []jsonColumn `json:"columns"`
		Events   []jsonEvent  `json:"events"`
		Joined   []jsonJoined `json:"joined"` // events that one statement may fire
	}
	jsonPhase struct {
		Name       string `json:"name"`
		True       string `json:"true"`
		Action     string `json:"action,omitempty"`
		Sendable   bool   `json:"sendable"`
		Effecting  bool   `json:"effecting"`
		HasOutcome bool   `json:"has_outcome"`
		Restless   bool   `json:"restless"`
		Lapse      string `json:"lapse"`
	}
	jsonAction struct {
		Name string `json:"name"`
		By   string `json:"by,omitempty"`
		Doc  string `json:"doc"`
	}
	jsonColumn struct {
		Name    string   `json:"name"`
		Kind    string   `json:"kind"`
		NotNull bool     `json:"not_null"`
		Default any      `json:"default"`
		Words   []string `json:"words,omitempty"`
		Doc     string   `json:"doc"`
	}
	jsonEvent struct {
		Name    string       `json:"event"`
		From    []string     `json:"from"` // empty for an event that creates the row
		To      string       `json:"to"`   // "" is the phase that it was in
		Creates bool         `json:"creates"`
		Fence   string       `json:"fence"`
		Actor   string       `json:"actor"`
		Doc     string       `json:"doc"`
		Guards  []jsonGuard  `json:"guards"`
		Effects []jsonEffect `json:"effects"`
		Params  []jsonParam  `json:"params"`
		Forms   []string     `json:"forms"`
	}
	jsonJoined struct {
		First string `json:"first"`
		Then  string `json:"then"`
		Doc   string `json:"doc"`
	}
	jsonGuard struct {
		Name string `json:"name"`
		Expr string `json:"expr"`
		Doc  string `json:"doc"`
	}
	jsonEffect struct {
		Column string `json:"column"`
		Expr   string `json:"expr"`
	}
	jsonParam struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
)

// JSON writes the program for other programs to read.
func JSON(p *transitions.Program) ([]byte, error) {
	out := jsonProgram{Name: p.Name, Outcomes: some(p.Outcomes), Reasons: some(p.Reasons), Phases: []jsonPhase{}, Actions: []jsonAction{}, Joined: []jsonJoined{}}
	for _, ph := range p.Phases {
		out.Phases = append(out.Phases, jsonPhase{ph.Name, ph.True, ph.Action, ph.Sendable, ph.Effecting, ph.HasOutcome, ph.Restless, ph.Lapse})
	}
	for _, a := range p.Actions {
		out.Actions = append(out.Actions, jsonAction(a))
	}
	for _, c := range p.Columns {
		out.Columns = append(out.Columns, jsonColumn{c.Name, c.Kind.String(), c.NotNull, plain(c.Default), p.Words(c), c.Doc})
	}
	for _, r := range p.Rules {
		out.Events = append(out.Events, eventOf(r))
	}
	for _, r := range p.Joined {
		out.Joined = append(out.Joined, jsonJoined{r.First.Event, r.Then.Event, r.Doc})
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

func eventOf(r *transitions.Rule) jsonEvent {
	e := jsonEvent{
		Name: r.Event, From: some(r.From), To: r.To, Creates: r.New, Fence: fenceName(r.Fence), Actor: r.Actor, Doc: r.Doc,
		Guards: []jsonGuard{}, Effects: []jsonEffect{}, Params: []jsonParam{}, Forms: []string{},
	}
	for _, g := range r.Guards {
		e.Guards = append(e.Guards, jsonGuard{g.Name, g.Expr.String(), g.Doc})
	}
	for _, s := range r.Sets {
		e.Effects = append(e.Effects, jsonEffect{s.Col, s.Expr.String()})
	}
	for _, d := range r.Params {
		e.Params = append(e.Params, jsonParam{d.Name, d.Kind.String()})
	}
	for _, f := range r.Forms {
		e.Forms = append(e.Forms, string(f))
	}
	return e
}

// some is never nil, so that an empty list is [] and not null.
func some(words []string) []string { return append([]string{}, words...) }

// fenceName is the fence as programs write it: "open" where documents show a dash.
func fenceName(f transitions.Fence) string {
	if f == transitions.Open {
		return "open"
	}
	return string(f)
}

func plain(v transitions.Value) any {
	switch v.Kind() {
	case transitions.NoKind:
		return nil
	case transitions.Int:
		return v.Int()
	case transitions.Bool:
		return v.Bool()
	default:
		return v.Text()
	}
}
