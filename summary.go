package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// speaks tells whether counts are printed at all.
func (e *ending) speaks() bool { return e.status() != 0 || !e.settings.quiet }

// summary is what standard output ends with.
func (e *ending) summary() string {
	if e.settings.summary == "json" {
		return e.json()
	}
	return e.text()
}

// text returns what redis-cli --pipe prints: that the input was read to its
// end, that every sent command was answered, and the counts.
func (e *ending) text() string {
	var text strings.Builder
	if e.report.InputDone {
		text.WriteString("All data transferred. Waiting for the last reply...\n")
	}
	if e.connected() && e.report.Unanswered == 0 {
		text.WriteString("Last reply received from server.\n")
	}
	fmt.Fprintf(&text, "errors: %d, replies: %d\n", e.errors(), e.report.Replies)
	return text.String()
}

// summaryObject is what --summary json prints.
type summaryObject struct {
	Errors       int64           `json:"errors"`
	Replies      int64           `json:"replies"`
	Commands     int64           `json:"commands"` // sent to their last byte
	Acknowledged int64           `json:"acknowledged"`
	Refused      int64           `json:"refused"`
	Unknown      int64           `json:"unknown"`
	NotSent      int64           `json:"not_sent"`
	Unconfirmed  int64           `json:"unconfirmed"` // records of all runs, see loader.Report
	Position     summaryPosition `json:"position"`    // where to go on from
	Seconds      float64         `json:"seconds"`
	Bytes        int64           `json:"bytes"`
	Exit         int             `json:"exit"`
	Kinds        []summaryKind   `json:"kinds"`
	Nodes        []summaryNode   `json:"nodes"`
}

type summaryPosition struct {
	File   string `json:"file"` // "" behind the end of the input
	Line   int    `json:"line"`
	Offset int64  `json:"offset"`
	Record int64  `json:"record"`
}

type summaryKind struct {
	Text  string `json:"text"`
	Count int64  `json:"count"`
	First string `json:"first"` // file:line
}

type summaryNode struct {
	Addr    string `json:"addr"`
	Server  string `json:"server"`
	Version string `json:"version"`
	Role    string `json:"role"`
	Replies int64  `json:"replies"`
	Errors  int64  `json:"errors"`
}

// json returns the ending as one line of JSON. Texts are as printable as on
// the console.
func (e *ending) json() string {
	r, describe := e.report, describer{values: e.settings.showValues}
	s := summaryObject{
		Errors: e.errors(), Replies: r.Replies, Commands: r.Sent,
		Acknowledged: r.Acknowledged, Refused: r.Refused, Unknown: r.Unknown, NotSent: r.NotSent, Unconfirmed: r.Unconfirmed.Records,
		Position: summaryPosition{File: printable(r.File), Line: r.Position.Line, Offset: r.Position.Offset, Record: r.Position.N},
		Seconds:  r.Duration.Seconds(), Bytes: r.Bytes, Exit: e.status(),
		Kinds: []summaryKind{}, Nodes: []summaryNode{},
	}
	for _, k := range r.Kinds {
		s.Kinds = append(s.Kinds, summaryKind{describe.failure([]byte(k.Text), nil), k.Count, place(k.First)})
	}
	for _, n := range r.Nodes {
		v := n.Server
		s.Nodes = append(s.Nodes, summaryNode{v.Addr, printable(v.Name), printable(v.Version), printable(v.Role), n.Replies, n.Errors})
	}
	line, err := json.Marshal(s)
	if err != nil { // a NaN would be one, and there is none
		panic("internal error: " + err.Error())
	}
	return string(line) + "\n"
}
