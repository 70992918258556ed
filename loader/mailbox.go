package loader

import (
	"sync"
	"time"
)

// event is what a connection tells Run's goroutine.
type event struct {
	kind eventKind
	from *conn
	addr string // named
	b    *Batch
	db   int       // answered: the database selected now
	held bool      // answered: b is kept, as a block is open or something must be sent again
	redo bool      // answered: something must be sent again
	bad  bool      // answered: a command that changes the connection was refused
	at   time.Time // answered: when the last reply came
	err  error     // lost, probed; of a WAIT: why it was refused

	wait   bool // answered: b is a WAIT of our own
	enough bool // and enough replicas have what was sent before
}

type eventKind uint8

const (
	answered eventKind = iota // every command of b has its reply
	released                  // b, and those behind its next, are settled and written
	letGo                     // the bytes of b are not needed any more, its places are kept elsewhere
	lost                      // the connection is of no use any more
	probed                    // a second connection was made, or not
	named                     // the sentinels have told who is master; of no connection
)

// mailbox takes the events of all connections to Run's goroutine, however many
// there are. To put one in never waits.
type mailbox struct {
	bell chan struct{} // rings when there are events

	mu     sync.Mutex
	events []event
	spare  []event // taken before, used again
}

func newMailbox() *mailbox { return &mailbox{bell: make(chan struct{}, 1)} }

func (m *mailbox) put(e event) {
	m.mu.Lock()
	m.events = append(m.events, e)
	m.mu.Unlock()
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// take returns the events that are there, oldest first. They are valid until
// the next call.
func (m *mailbox) take() []event {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	clear(m.spare[:cap(m.spare)])
	m.events, m.spare = m.spare[:0], events
	return events
}
