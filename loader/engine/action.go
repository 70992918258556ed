package engine

import "respipe/loader/batch"

// ActionKind says what the shell must do.
type ActionKind uint8

// The actions. Each but Submit, Close and End is answered by an event in
// bounded time; failing is an answer.
const (
	Submit        ActionKind = iota // write Batch to Conn
	Dial                            // connect to Address as Conn, end the connections Fence there, send Session: Connected or DialFailed
	Close                           // close Conn: no further event of it; Loss: it counts as lost
	FetchTopology                   // ask the nodes at Addresses: Topology
	Probe                           // ask the server at Address on another connection whether it is alive: Probed, with Conn
	End                             // the load has ended: see Engine.Result
)

// Action is something that the shell must do.
type Action struct {
	Kind      ActionKind
	Conn      ConnID
	Loss      Loss
	Batch     *batch.Batch // whose RESP is to be written
	Address   string
	Addresses []string
	Fence     []ConnID
	Session   [][]byte // the commands that restore the session state, in RESP
}

// Loss says why the engine takes a connection for lost that it closes.
type Loss uint8

// The causes of a loss.
const (
	NoLoss   Loss = iota
	Silent        // it owed replies for too long
	Refusing      // it has refused session state that other connections have
)
