package formats

// jsonPlace is where a jsonReader stands among the values of a file.
type jsonPlace struct {
	mayOpen bool // an array here is a file of records
	inArray bool // this is one
	first   bool // none of its elements has been read
	due     bool // a value is due here, so what stands here is one
	passing bool // behind a refused line
}

// flags of what is kept of a jsonPlace.
const (
	mayOpen flags = 1 << iota
	inArray
	opening // the array began on this line, and none of its elements is right
	due
	passing
)

// kept is that of keeper. At a record that is right it does not matter whether
// it is the first of its array: so the state is the same for all of them.
func (r *jsonReader) kept(next bool) kept {
	if !next {
		return kept{flags: r.at, ahead: r.looked}
	}
	k := kept{ahead: r.looked}
	k.set(mayOpen, r.mayOpen)
	k.set(inArray, r.inArray)
	k.set(opening, r.first && r.opened == r.in.line)
	k.set(due, r.due)
	k.set(passing, r.passing)
	return k
}

// goOn is that of keeper.
func (r *jsonReader) goOn(k kept) {
	r.jsonPlace = jsonPlace{
		mayOpen: k.flags&mayOpen != 0,
		inArray: k.flags&inArray != 0,
		first:   k.flags&opening != 0,
		due:     k.flags&due != 0,
		passing: k.flags&passing != 0,
	}
	r.opened, r.checked, r.looked = r.in.line, k.ahead, k.ahead
}
