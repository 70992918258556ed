// Package simulate drives the engine of a load against simulated servers in
// virtual time, in one goroutine, by a seed: the same seed gives the same
// schedule. After each schedule it checks what the servers have executed
// against what the engine has reported.
//
// The servers know nothing of the engine. They take bytes, parse RESP of their
// own accord, and answer in the words of a real server; so they can convict it.
//
//   - clock.go: virtual time and the queue of what happens in it
//   - input.go: the input of a load, made by the seed
//   - server.go, execute.go: servers, their keys and what commands do
//   - cluster.go: slots, migrations, failovers
//   - network.go: connections, and what may happen to bytes on their way
//   - shell.go: performs the engine's actions as a real shell would
//   - faults.go: what goes wrong in a schedule
//   - check.go: what must hold
//   - run.go: one schedule
package simulate
