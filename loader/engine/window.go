package engine

import "respipe/loader/batch"

// entryBytes is what an entry costs beside its RESP.
const entryBytes = 24

const (
	repliesPerBatch = 64  // commands in a batch whose replies are kept
	firstReply      = 512 // bytes that a reply is taken to have before one has come
)

// budget is the window: it bounds what is in flight. The commands of a
// connection are given back when they are answered, the bytes when they are
// complete. Where replies are kept their bytes count too, those to come by how
// long replies have been of late.
//
// It holds the load to its rates, too: behind each batch the input waits until
// they have made up for it. What is resent does not wait, but is made up for.
type budget struct {
	cfg       *Config
	bytes     int // of all batches, charged and not given back
	replySize int // bytes that a reply to come is taken to have; 0 where replies are not kept

	slowed bool // the rates allow nothing new
	until  Time // then they do

	starved bool // the source has to wait
	since   Time // since then
}

// begin makes the budget of a load.
func (w *budget) begin(cfg *Config) {
	if w.cfg = cfg; cfg.KeepReplies {
		w.replySize = firstReply
	}
}

// sent counts a batch against the rates, and marks it for the tuner.
func (w *budget) sent(now Time, b *batch.Batch) {
	if tuner := w.cfg.Tuner; tuner != nil {
		b.Mark = tuner.Sent(now)
	}
	if wait := w.cfg.Pace.Reserve(now, b.Len(), len(b.RESP)); wait > 0 {
		w.slowed, w.until = true, now+wait
	}
}

// tick lets new commands be taken if the rates allow it.
func (w *budget) tick(now Time) { w.slowed = w.slowed && now < w.until }

// deadline returns the earlier of a time and that at which the rates allow new
// commands.
func (w *budget) deadline(t Time, ok bool) (Time, bool) {
	if !w.slowed {
		return t, ok
	}
	return earlier(w.until)(t, ok)
}

// paused notes that the source has to wait, and fed that it has not any more.
func (w *budget) paused(now Time) {
	if !w.starved {
		w.starved, w.since = true, now
	}
}

func (w *budget) fed(now Time) {
	if w.starved && w.cfg.Tuner != nil {
		w.cfg.Tuner.Starved(now - w.since)
	}
	w.starved = false
}

// most returns how many commands may be in flight on a connection; 0 for any
// number.
func (w *budget) most() int {
	if w.cfg.Tuner != nil {
		return w.cfg.Tuner.Window()
	}
	return w.cfg.Window
}

// admits reports whether n commands of so many bytes may be appended to the
// batch of a connection. With nothing in flight one entry of any size may.
func (w *budget) admits(c *connection, n, bytes int) bool {
	if most, load := w.most(), c.load(); load > 0 && most > 0 && load+n > most {
		if w.cfg.Tuner != nil {
			w.cfg.Tuner.Blocked()
		}
		return false
	}
	return w.fits(n, bytes)
}

// fits reports whether there is room for n commands of so many bytes.
func (w *budget) fits(n, bytes int) bool {
	return w.bytes == 0 || w.bytes+bytes+n*(entryBytes+w.replySize) <= w.cfg.WindowBytes
}

// charge counts the bytes that a batch has grown by.
func (w *budget) charge(b *batch.Batch) {
	cost := b.Size() + entryBytes*b.Len() + w.replySize*(b.Len()-b.Answered)
	w.bytes += cost - b.Charged
	b.Charged = cost
}

// giveBack counts the bytes of a batch as free.
func (w *budget) giveBack(b *batch.Batch) {
	w.bytes -= b.Charged
	b.Charged = 0
}

// replied counts the replies that a batch has got, and learns how long they are.
func (w *budget) replied(b *batch.Batch) {
	if w.replySize == 0 {
		return
	}
	w.charge(b)
	if b.Answered == b.Len() {
		w.replySize = max(w.replySize-w.replySize/8, b.ReplyBytes()/b.Len(), 1)
	}
}

// limits returns how many commands and bytes a batch may have: a quarter of
// the window, so that the server is busy while the next one is filled.
func (w *budget) limits() (commands, bytes int) {
	commands, bytes = w.cfg.BatchCommands, min(w.cfg.BatchBytes, max(1, w.cfg.WindowBytes/4))
	if most := w.most(); most > 0 {
		commands = min(commands, max(1, most/4))
	}
	if w.cfg.KeepReplies {
		commands = min(commands, repliesPerBatch)
	}
	return w.cfg.Pace.Most(commands), w.cfg.Pace.MostBytes(bytes)
}
