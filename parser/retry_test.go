package parser

import (
	"bytes"
	"testing"
)

func TestRetry(t *testing.T) {
	for _, row := range []struct {
		line string
		want Retry
	}{
		{"SET k v", Overwrites},
		{"SET k v NX", NonIdempotent},
		{"set k v get", NonIdempotent},
		{"GET k", Overwrites},
		{"MSET a 1 b 2", Overwrites},
		{"INCR k", NonIdempotent},
		{"RENAME a b", NonIdempotent},
		{"COPY a b REPLACE", Derives},
		{"SUNIONSTORE d a b", Derives},
		{"SUNIONSTORE d a a", NonIdempotent},
		{"SDIFFSTORE d a d", NonIdempotent},
		{"BITOP XOR d d a", NonIdempotent},
		{"BITOP NOT d a", Derives},
		{"ZUNIONSTORE d 2 a b", Derives},
		{"ZUNIONSTORE d 2 a d", NonIdempotent},
		{"GEOSEARCHSTORE d s FROMLONLAT 1 2 BYRADIUS 3 m", Derives},
		{"PFMERGE d a b", Derives},
		{"FCALL f 1 k", NonIdempotent},
		{"MY.COMMAND k", NonIdempotent},
		{"SELECT 1", Overwrites},
		{"MULTI", Overwrites},
		{"EXEC", Overwrites},
		{"WATCH k", Overwrites},
	} {
		args := bytes.Fields([]byte(row.line))
		var ops Ops
		if got := ops.Find(args).Retry(args); got != row.want {
			t.Errorf("%s: %d, not %d", row.line, got, row.want)
		}
	}
}
