package engine

// Risk is a part of the input that a server has acknowledged and may have lost.
type Risk struct {
	Address string
	Range   Range
}

// risk knows what servers may have lost.
type risk struct {
	e     *Engine
	found []Risk
}

// restarted notes which process answers at a node. It reports whether the load
// must stop, as that is another one than before.
func (r *risk) restarted(n *node, process string) bool {
	before := n.process
	n.process = process
	if before == "" || process == "" || before == process {
		return false
	}
	if n.acknowledged.Commands > 0 {
		r.found = append(r.found, Risk{n.address, n.acknowledged})
		n.acknowledged = Range{}
	}
	return r.e.cfg.OnDisconnect != Resend
}
