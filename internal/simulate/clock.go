package simulate

import "time"

// happening is something that happens at a time.
type happening struct {
	at time.Duration
	n  int // among those of one time the earlier one first
	do func()
}

// clock is virtual time: a heap of what will happen.
type clock struct {
	now   time.Duration
	queue []happening
	n     int
}

// after lets something happen after a delay.
func (c *clock) after(d time.Duration, do func()) {
	c.n++
	c.queue = append(c.queue, happening{c.now + max(d, 0), c.n, do})
	q := c.queue
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if !q[i].before(&q[up]) {
			break
		}
		q[i], q[up] = q[up], q[i]
		i = up
	}
}

func (h *happening) before(other *happening) bool {
	return h.at < other.at || h.at == other.at && h.n < other.n
}

// next takes what happens next and sets the time to it.
func (c *clock) next() func() {
	q := c.queue
	first, last := q[0], len(q)-1
	q[0], q[last] = q[last], happening{}
	q = q[:last]
	c.queue = q
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && q[child+1].before(&q[child]) {
			child++
		}
		if !q[child].before(&q[i]) {
			break
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
	c.now = first.at
	return first.do
}
