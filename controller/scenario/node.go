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
	rack, moves := a.text("rack", "rack-1"), len(a.list("rack")) > 0
	switch {
	case len(words) == 1 && words[0] == "add":
		p.script.AddNode(rack, room)
	case len(words) == 1 && moves:
		err = p.script.LabelNode(words[0], rack)
	case len(words) == 1:
		err = p.script.Room(words[0], room)
	case len(words) == 2:
		err = p.script.Node(words[0], words[1])
	default:
		err = errors.New("usage: node <name> lost|back|reboot|taint|delete, node <name> room=<pods>, node <name> rack=<rack or none>, or node add [rack=<rack>] room=<pods>")
	}
	if err == nil {
		p.goOn()
	}
	return err
}
