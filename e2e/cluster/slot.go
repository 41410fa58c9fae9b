package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// A slot is what a cluster has for itself: a block of ports and a folder. A file
// lock marks it as taken, so clusters of several processes keep apart, and what
// a killed process left behind is removed by the next one that gets the slot.
type slot struct {
	dir  string
	port int // the first of portsPerSlot
	lock *os.File
}

// The blocks lie below the range from which systems take ports for outgoing
// connections (32768 on Linux, 49152 elsewhere): the port of a component that is
// down for a while must not be taken by a client meanwhile.
const (
	firstPort    = 21000
	portsPerSlot = 5
	slots        = 200
)

func takeSlot() (*slot, error) {
	root := filepath.Join(os.TempDir(), "lws-controller-clusters-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	for i := range slots {
		s := &slot{dir: filepath.Join(root, strconv.Itoa(i)), port: firstPort + i*portsPerSlot}
		var err error
		s.lock, err = TryLock(s.dir + ".lock")
		if errors.Is(err, ErrLocked) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !s.portsFree() {
			s.lock.Close()
			continue
		}
		if err := errors.Join(os.RemoveAll(s.dir), os.MkdirAll(s.dir, 0o700)); err != nil {
			s.lock.Close()
			return nil, err
		}
		return s, nil
	}
	return nil, fmt.Errorf("no free ports: %d clusters are running, or other programs use the ports from %d on", slots, firstPort)
}

func (s *slot) portsFree() bool {
	for i := range portsPerSlot {
		l, err := net.Listen("tcp", s.addr(i))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// addr is the address of the slot's i-th port.
func (s *slot) addr(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port+i)) }

// free gives the slot back, and removes its folder unless it shall be kept for
// reading: then it stays until the slot is taken again.
func (s *slot) free(keep bool) error {
	var err error
	if !keep {
		err = os.RemoveAll(s.dir)
	}
	return errors.Join(err, s.lock.Close())
}
