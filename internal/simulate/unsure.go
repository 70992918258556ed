package simulate

// disorder notes that the order of the input was violated: a fault, unless a lost
// connection could not be ended and the engine says so.
func (s *schedule) disorder(format string, args ...any) {
	if !s.unfenced {
		s.fail(format, args...)
		return
	}
	s.trace("DISORDER "+format, args...)
	s.violated = true
}

// fences reports whether a dial ends the lost connections that it names.
func (s *schedule) fences(lost int) bool {
	if lost == 0 || !s.shape.unfenced || s.extra.IntN(2) == 0 {
		return true
	}
	s.unfenced = true
	return false
}

// verifySure checks that the engine says when the order is not sure, and only
// then.
func (s *schedule) verifySure() {
	unsure := s.engine.Result().OrderUnsure
	switch {
	case s.violated && !unsure:
		s.fail("the order was violated, and the engine does not say so")
	case unsure && !s.unfenced:
		s.fail("every lost connection was ended, and the order is said to be unsure")
	}
}
