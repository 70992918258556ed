package formats

import "respipe/parser"

// linesFormat is one value a line, in the column text. Empty lines are skipped.
var linesFormat = Format{
	Name:  "lines",
	Whole: true,
	Records: func(in *Input, opt *Options, want Want) Records {
		return &lineReader{in: in, max: opt.maxRecord(), want: want}
	},
}

// lineReader reads the format lines.
type lineReader struct {
	in     *Input
	max    int // of a line, in bytes
	want   Want
	pick   []int
	names  [][]byte
	fields [][]byte
}

// Head returns the one column; nothing stands before the first line.
func (r *lineReader) Head() (columns []string, err error) {
	columns = []string{"text"}
	r.pick, r.names, err = r.want.choose(columns)
	if err != nil {
		return columns, &parser.Broken{Pos: r.in.Pos(), Err: err}
	}
	r.fields = make([][]byte, len(r.pick))
	return columns, nil
}

// Read reads the next line that is not empty.
func (r *lineReader) Read(rec *parser.Record) error {
	for {
		rec.Pos = r.in.Pos()
		line, err := r.in.Line(r.max)
		if err == errTooLong {
			return &parser.Error{Pos: rec.Pos, Err: err}
		}
		if err != nil {
			return err
		}
		if len(line) == 0 {
			continue
		}
		for i, column := range r.pick {
			if column >= 0 {
				r.fields[i] = line
			}
		}
		rec.Names, rec.Fields, rec.Raw = r.names, r.fields, line
		return nil
	}
}
