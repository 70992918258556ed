STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: build test bench torture simulate mutants lint tools

build:
	go build .

test: tools
	CGO_ENABLED=1 go test -race -timeout 15m $(TESTFLAGS) ./...

# Side by side with redis-cli --pipe; `make bench BENCH=200000` for a quick run,
# PICTURE=file.svg for a picture.
bench: tools
	BENCH=$(BENCH) PICTURE=$(abspath $(PICTURE)) go test -run '^$$' -bench . -benchtime 1x -timeout 60m .

# The model tests, each with a thousand schedules of faults; SCHEDULES=n for n.
torture: tools
	SCHEDULES=$(or $(SCHEDULES),1000) CGO_ENABLED=1 go test -race -count 1 -run Model -timeout 4h -v . ./loader

# The engine of a load against simulated servers: SCHEDULES=n from SEED=n on.
simulate:
	go test -count 1 -timeout 6h -run '^TestSchedules$$' -v ./internal/simulate -args -schedules $(or $(SCHEDULES),1000000) -seed $(or $(SEED),1)

# Known faults, planted in the engine one at a time; the simulator must find
# each. MUTANTS="name ..." for some of them.
mutants:
	go run ./internal/simulate/mutants -schedules $(or $(SCHEDULES),200000) $(MUTANTS)

lint:
	@files=$$(gofmt -s -l .); test -z "$$files" || { echo "$$files"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...
	go mod tidy -diff

# What the tests need: a real Redis, its redis-cli, and the C compiler that
# -race links with.
tools:
	@if ! command -v redis-server >/dev/null || ! command -v redis-cli >/dev/null || ! command -v gcc >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends redis-server redis-tools gcc libc6-dev; \
		else \
			echo "missing: install the packages redis-server, redis-tools, gcc and libc6-dev" >&2; exit 1; \
		fi; \
	fi
