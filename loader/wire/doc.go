// Package wire is one connection to a server as the engine's shell uses it:
// batches of commands go in without waiting, and out comes how many of them are
// answered. It knows neither commands nor nodes; what the replies mean is for the
// engine, what they are is for package reply.
//
// A Conn has a goroutine that reads, and one that writes what the socket does not
// take at once. The shell calls Write and Take from one goroutine, and waits on a
// Waker that its connections share; nothing else passes between them.
package wire
