package engine

import "time"

// Time is a point in time: how long after the start of the load it lies.
type Time = time.Duration

// State is the state of a load.
type State uint8

// The states of a load.
const (
	Connecting State = iota // the first connections are being made
	Running                 // commands are taken and sent
	Barrier                 // a command waits for all before it, or is waited for
	Draining                // nothing new is sent; what is in flight is being answered
	Repairing               // reconnecting, fetching the topology, resending
	Finishing               // the input has ended; what is in flight is being answered
	Stopping                // the load stops; what can still be answered is waited for
	Done                    // the load has ended
	stateCount
)

var stateNames = [stateCount]string{
	"connecting", "running", "barrier", "draining", "repairing", "finishing", "stopping", "done",
}

// String returns the name of the state.
func (s State) String() string { return stateNames[s] }

// ConnID names one established connection. The engine chooses it when it asks
// for the connection; the next one in the same place has another generation.
type ConnID struct {
	Place      int32 // of the connection among those of the load, from 1 on
	Generation int32
}
