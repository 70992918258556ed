package loader

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRates(t *testing.T) {
	for _, rates := range []struct {
		commands float64
		bytes    int64
	}{{500, 0}, {0, 500 * 27}} {
		cfg := config(serve(t, like))
		cfg.Rate, cfg.ByteRate = rates.commands, rates.bytes
		rep, err := Run(context.Background(), script(strings.Repeat("SET a 1\n", 200)), cfg)
		if err != nil || rep.Duration < 350*time.Millisecond {
			t.Errorf("%s: %v after %v", fmt.Sprint(rates), err, rep.Duration)
		}
	}
}
