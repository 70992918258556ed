package engine

import "respipe/loader/batch"

// entryBytes is what an entry costs beside its RESP.
const entryBytes = 24

// window bounds what is in flight. The commands of a connection are given back
// when they are answered, the bytes when they are complete.
type window struct {
	cfg   *Config
	bytes int // of all batches, charged and not given back
}

// admits reports whether n commands of so many bytes may be appended to the
// batch of a connection. With nothing in flight one entry of any size may.
func (w *window) admits(c *connection, n, bytes int) bool {
	load := c.load()
	if load > 0 && w.cfg.Window > 0 && load+n > w.cfg.Window {
		return false
	}
	return w.fits(n, bytes)
}

// fits reports whether there is room for n commands of so many bytes.
func (w *window) fits(n, bytes int) bool {
	return w.bytes == 0 || w.bytes+bytes+n*entryBytes <= w.cfg.WindowBytes
}

// charge counts the bytes that a batch has grown by.
func (w *window) charge(b *batch.Batch) {
	cost := len(b.RESP) + entryBytes*len(b.Entries)
	w.bytes += cost - b.Charged
	b.Charged = cost
}

// giveBack counts the bytes of a batch as free.
func (w *window) giveBack(b *batch.Batch) {
	w.bytes -= b.Charged
	b.Charged = 0
}

// limits returns how many commands and bytes a batch may have: a quarter of
// the window, so that the server is busy while the next one is filled.
func (w *window) limits() (commands, bytes int) {
	commands, bytes = w.cfg.BatchCommands, w.cfg.BatchBytes
	if w.cfg.Window > 0 {
		commands = min(commands, max(1, w.cfg.Window/4))
	}
	return commands, min(bytes, max(1, w.cfg.WindowBytes/4))
}
