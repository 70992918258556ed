package main

import (
	"testing"

	"respipe/internal/redistest"
)

var (
	setsAlone   = &contender{"standalone", "set.resp", respipeRESP.args}
	setsCluster = &contender{"cluster", "set.resp", respipeRESP.args}
	setsPeer    = &contender{"go-redis", "set.txt", []string{"go-redis", "txt", "-c"}}
)

// cluster loads SETs into three masters beside one server on the same cores,
// and beside go-redis.
func (w *workbench) cluster(b *testing.B) {
	alone, cluster := redistest.Start(b), redistest.StartCluster(b, 3, 0)
	took := map[*contender][]figures{}
	for range rounds {
		for _, c := range []*contender{setsAlone, setsCluster, setsPeer} {
			port := cluster.Masters()[0].Port
			if c == setsAlone {
				port = alone.Port
			}
			for _, s := range append(cluster.Masters(), alone) {
				s.CLI("FLUSHALL")
			}
			took[c] = append(took[c], w.run(b, c, port, w.n))
		}
	}
	report(b, took, w.n)
	one, three := took[setsAlone], took[setsCluster]
	w.atLeast(0.90, "×", "cluster of three, rate beside one server on the same cores", median(one, wallOf)/median(three, wallOf))
	w.atMost(1.50, "×", "the same, client CPU", median(three, cpuTimeOf)/median(one, cpuTimeOf))
	w.atLeast(3, "×", "the same, rate beside a go-redis ClusterClient, pipelines of 1000", median(took[setsPeer], wallOf)/median(three, wallOf))
}
