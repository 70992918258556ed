package main

import (
	"strings"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "65536": 65536, "64KiB": 64 << 10, "8MiB": 8 << 20, "2GiB": 2 << 30, "10MB": 10_000_000, "3KB": 3000, "1GB": 1e9, "7B": 7,
		"": 0, "0": 0, "-1": 0, "1.5MB": 0, "8 MiB": 0, "8mib": 0, "8M": 0, "MiB": 0, "0KB": 0, "99999999999999GiB": 0, "9223372036854775808": 0,
	} {
		if got, ok := parseSize(text); ok != (want > 0) || ok && got != want {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
}

func TestParseDuration(t *testing.T) {
	const bad = -1
	for text, want := range map[string]time.Duration{
		"0": 0, "30": 30 * time.Second, "0.5": time.Second / 2, "500ms": time.Second / 2, "5m": 5 * time.Minute, "1m30s": 90 * time.Second,
		"": bad, "-1": bad, "-1s": bad, "s": bad, "5 m": bad, "NaN": bad, "Inf": bad, "1e400": bad, "ten": bad,
	} {
		if got, ok := parseDuration(text); ok != (want != bad) || ok && got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}

// TestValuesThatCannotBeRead holds that each mistake is told with the name of
// its option, and that nothing is counted then.
func TestValuesThatCannotBeRead(t *testing.T) {
	for _, args := range []string{
		"--port http", "--port 0", "--port 65536", "--db two", "--db -1", "--connect-timeout soon",
		"--skip -1", "--limit x", "--max-record 8M", "--delimiter ;\"", "--delimiter=", "--columns a,,b", "--fields=",
		"--window 0", "--window -5", "--window-bytes 0", "--timeout -3",
		"--max-errors -1", "--max-errors 0%", "--max-errors 101%", "--max-errors %", "--max-errors NaN%", "--expect many",
		"--url http://localhost", "--url redis://h/x", "--url=",
		"--pass-file missing", "--user ann",
		"--rate 0", "--rate fast", "--rate inf", "--byte-rate 0", "--on-disconnect retry", "--retry-for soon", "--wait-ready -1s", "--lock /no/such/folder/lock",
		"--exactly-once=", "--exactly-once x --connections 2", "--exactly-once x --cluster", "--exactly-once x --wait-replicas 1", "--forget=",
	} {
		name, _, _ := strings.Cut(args, " ")
		name, _, _ = strings.Cut(name, "=")
		status, stdout, stderr := respipe("", strings.Fields(args)...)
		if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "respipe: "+name) {
			t.Errorf("%s: status %d\n%s%s", args, status, stdout, stderr)
		}
	}
}

func TestURLMistakesShowNoPassword(t *testing.T) {
	for _, url := range []string{"redis://ann:s3cret@h:port", "redis://ann:s3cret@h/x", "redis://ann:s3cret%zz@h", "s3cret", "rediss://ann:s3cret@h:port"} {
		for _, args := range [][]string{{"-u", url}, {"-u", url, "-h", "localhost"}, {"--urk=" + url}} {
			status, stdout, stderr := respipe("", args...)
			if status != 2 || strings.Contains(stdout+stderr, "s3cret") {
				t.Errorf("%q: status %d\n%s%s", args, status, stdout, stderr)
			}
		}
	}
}
