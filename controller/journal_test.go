package controller

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"lws-controller/controller/group"
)

func readJournal(t *testing.T, path string) []Line {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []Line
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if len(s.Bytes()) == 0 {
			continue
		}
		var l Line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", s.Bytes(), err)
		}
		lines = append(lines, l)
	}
	return lines
}

// TestJournalFileStandsAlone: each file begins with what is known, so that it can
// be replayed without the one before.
func TestJournalFileStandsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := newJournal(path, 2000)
	if err != nil {
		t.Fatal(err)
	}
	c := &Controller{Options: Options{Journal: j}}
	m := newMemory(types.NamespacedName{Namespace: "ns", Name: "s"})
	now := time.Unix(1000, 0).UTC()
	observed := func(version string) {
		c.journalBegin(m, now)
		c.fold(m, 3, group.Observed(group.Pod{Name: "s-3", UID: "u", Version: version}), now)
		j.writePending()
	}
	for _, version := range []string{"1", "2", "3"} {
		observed(version)
	}
	if lines := readJournal(t, path); len(lines) != 4 || !lines[0].Begin || lines[3].Event.Pod.Version != "3" {
		t.Fatalf("first file has %d lines: %+v", len(lines), lines)
	}
	for range 20 {
		observed("3")
	}
	if _, err := os.Stat(path + ".1"); err != nil {
		t.Fatalf("the journal grew and was not changed: %v", err)
	}
	lines := readJournal(t, path)
	if !lines[0].Begin || lines[1].Event == nil || lines[1].Event.Pod.Version != "3" || lines[1].Group != 3 {
		t.Errorf("the next file does not begin with what is known: %+v", lines[:2])
	}
	go j.run()
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	again, err := OpenJournal(path, 2000)
	if err != nil {
		t.Fatal(err)
	}
	again.write(Line{Set: "ns/s", Begin: true})
	if err := again.Close(); err != nil || len(readJournal(t, path)) != len(lines)+1 {
		t.Errorf("reopened journal: err %v, %d lines; want one more than %d", err, len(readJournal(t, path)), len(lines))
	}
}

func TestJournalErrorEndsTheJournalOnly(t *testing.T) {
	j, err := OpenJournal(filepath.Join(t.TempDir(), "journal"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	j.file.Close() // the disk is full, say
	j.write(Line{Set: "ns/s", Begin: true})
	<-j.done
	j.write(Line{Set: "ns/s", Begin: true})
	if err := j.Close(); err == nil {
		t.Error("Close does not tell that the journal is incomplete")
	}
	var none *Journal
	none.now()
}

// TestJournalTellsWhatItLost: lines that there is no room for are counted in the
// file, and sets begin anew after that.
func TestJournalTellsWhatItLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := newJournal(path, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for range maxPending + 3 {
		j.write(Line{Set: "ns/s", Begin: true})
	}
	if j.now() != 1 {
		t.Error("sets begin anew before there is room for that")
	}
	j.writePending()
	if j.now() != 2 {
		t.Error("sets do not begin anew")
	}
	j.write(Line{Set: "ns/s", Begin: true})
	go j.run()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	lines := readJournal(t, path)
	if n := len(lines); n != maxPending+2 || lines[n-2].Lost != 3 || !lines[n-1].Begin {
		t.Errorf("%d lines, the last two are %+v", n, lines[max(0, n-2):])
	}
}

// BenchmarkJournalEvent is what an event costs the sync that takes it down.
func BenchmarkJournalEvent(b *testing.B) {
	j, err := newJournal(filepath.Join(b.TempDir(), "journal"), 1<<40)
	if err != nil {
		b.Fatal(err)
	}
	defer j.file.Close()
	c := &Controller{Options: Options{Journal: j}}
	m := newMemory(types.NamespacedName{Namespace: "default", Name: "set"})
	e := group.Observed(group.Pod{Name: "set-12-3", Worker: 3, UID: "a8b2c7f0-5f0e-4f6c-a6a4-0d4f7f0c6f3e", Version: "123456",
		Controller: "b8b2c7f0-5f0e-4f6c-a6a4-0d4f7f0c6f3e", Revision: "7c9bcccd48", Incarnation: 2, Size: 8, Node: "node-7", Phase: "Running", Ready: true})
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		c.journalEvent(m, 12, e, now)
		if len(j.pending) == 1000 {
			b.StopTimer()
			j.writePending() // the goroutine's part
			b.StartTimer()
		}
	}
}
