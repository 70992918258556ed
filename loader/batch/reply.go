package batch

// replies are the replies to the entries of a batch, in their order, where they
// are kept.
type replies struct {
	bytes []byte
	ends  []int // of those that have come
}

const replyEndBytes = 8

func (r *replies) size() int      { return len(r.bytes) + replyEndBytes*len(r.ends) }
func (r *replies) empty() replies { return replies{r.bytes[:0], r.ends[:0]} }

// AddReply keeps the reply to the next entry; an empty one says that there is none.
func (b *Batch) AddReply(reply []byte) {
	b.replies.bytes = append(b.replies.bytes, reply...)
	b.replies.ends = append(b.replies.ends, len(b.replies.bytes))
}

// CopyReplies keeps the replies of another batch, whose entries were copied
// behind those that have theirs.
func (b *Batch) CopyReplies(from *Batch) {
	for i := range from.replies.ends {
		b.AddReply(from.Reply(i))
	}
}

// DropReplies forgets the replies: the entries are sent again.
func (b *Batch) DropReplies() { b.replies = b.replies.empty() }

// ReplyBytes returns how many bytes the replies have.
func (b *Batch) ReplyBytes() int { return len(b.replies.bytes) }

// Reply returns the reply to entry i; nil if it is not kept, or has not come.
func (b *Batch) Reply(i int) []byte {
	r := &b.replies
	if i >= len(r.ends) {
		return nil
	}
	from := 0
	if i > 0 {
		from = r.ends[i-1]
	}
	if from == r.ends[i] {
		return nil
	}
	return r.bytes[from:r.ends[i]:r.ends[i]]
}
