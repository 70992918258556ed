package engine

// cell is what an event does in a state.
type cell struct {
	name   string // of the handler
	handle func(*Engine, *Event)
}

// The cells.
var (
	ignored  = cell{"ignored", func(*Engine, *Event) {}}
	attach   = cell{"attach", onAttach}
	redial   = cell{"redial", onRedial}
	replies  = cell{"replies", onReplies}
	drained  = cell{"drained", onDrainedReplies}
	lost     = cell{"lost", onLost}
	topology = cell{"topology", onTopology}
	probed   = cell{"probed", onProbed}
	tick     = cell{"tick", onTick}
	flush    = cell{"flush", onFlush}
	ends     = cell{"ends", onInputEnded}
	stops    = cell{"stops", onStopAsked}
	closes   = cell{"closes", onCloseLate}
)

// table says what each event does in each state.
//
// Replies are completed at once as long as nothing is wrong, and only counted
// while a repair or a stop is under way. Whatever comes when the load is Done
// is ignored, and a connection that is made too late is closed.
var table = [stateCount][eventCount]cell{
	Connecting: {
		Connected: attach, DialFailed: redial, Replies: ignored, Lost: lost, Topology: topology,
		Probed: ignored, Tick: tick, InputPaused: ignored, InputEnded: ends, StopAsked: stops,
	},
	Running: {
		Connected: attach, DialFailed: redial, Replies: replies, Lost: lost, Topology: ignored,
		Probed: probed, Tick: tick, InputPaused: flush, InputEnded: ends, StopAsked: stops,
	},
	Barrier: {
		Connected: attach, DialFailed: redial, Replies: replies, Lost: lost, Topology: ignored,
		Probed: probed, Tick: tick, InputPaused: ignored, InputEnded: ends, StopAsked: stops,
	},
	Draining: {
		Connected: attach, DialFailed: redial, Replies: drained, Lost: lost, Topology: ignored,
		Probed: probed, Tick: tick, InputPaused: ignored, InputEnded: ends, StopAsked: stops,
	},
	Repairing: {
		Connected: attach, DialFailed: redial, Replies: drained, Lost: lost, Topology: topology,
		Probed: probed, Tick: tick, InputPaused: ignored, InputEnded: ends, StopAsked: stops,
	},
	Finishing: {
		Connected: attach, DialFailed: redial, Replies: replies, Lost: lost, Topology: ignored,
		Probed: probed, Tick: tick, InputPaused: flush, InputEnded: ignored, StopAsked: stops,
	},
	Stopping: {
		Connected: closes, DialFailed: redial, Replies: drained, Lost: lost, Topology: ignored,
		Probed: probed, Tick: tick, InputPaused: ignored, InputEnded: ends, StopAsked: stops,
	},
	Done: {
		Connected: closes, DialFailed: ignored, Replies: ignored, Lost: ignored, Topology: ignored,
		Probed: ignored, Tick: ignored, InputPaused: ignored, InputEnded: ignored, StopAsked: ignored,
	},
}
