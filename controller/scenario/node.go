package scenario

import (
	"errors"
)

// node adds a node, changes its room, or has something happen to it.
func node(p *play, a args) error {
	words := a.words()
	room, err := a.number("room", 1000)
	if err != nil {
		return err
	}
	switch {
	case len(words) == 1 && words[0] == "add":
		p.script.AddNode(room)
	case len(words) == 1:
		err = p.script.Room(words[0], room)
	case len(words) == 2:
		err = p.script.Node(words[0], words[1])
	default:
		err = errors.New("usage: node <name> lost|back|reboot|taint|delete, node <name> room=<pods>, or node add room=<pods>")
	}
	if err == nil {
		p.goOn()
	}
	return err
}
