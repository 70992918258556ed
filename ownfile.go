package main

// ownFileError says that a file which respipe itself keeps, of rejects, replies
// or of a checkpoint, cannot be written. It stops a load.
type ownFileError struct {
	option string
	err    error
}

func (e *ownFileError) Error() string { return "--" + e.option + ": " + e.err.Error() }
func (e *ownFileError) Unwrap() error { return e.err }

// ownFile wraps the error of writing such a file.
func ownFile(option string, err error) error {
	if err == nil {
		return nil
	}
	return &ownFileError{option, err}
}
