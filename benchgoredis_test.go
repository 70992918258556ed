package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
)

// person is a record of the formats' benchmark.
type person struct {
	ID    string      `json:"id"`
	Name  string      `json:"name"`
	City  string      `json:"city"`
	Born  string      `json:"born"`
	Score json.Number `json:"score"`
}

func personsOfCSV(in io.Reader) func(*person) error {
	reader := csv.NewReader(in)
	reader.ReuseRecord = true
	reader.Read() // the header
	return func(p *person) error {
		fields, err := reader.Read()
		if err == nil {
			*p = person{fields[0], fields[1], fields[2], fields[3], json.Number(fields[4])}
		}
		return err
	}
}

func personsOfJSON(in io.Reader) func(*person) error {
	decoder := json.NewDecoder(in)
	return func(p *person) error { return decoder.Decode(p) }
}

// adders return a function that adds the command of the next record to a
// pipeline.
var adders = map[string]func(io.Reader) func(context.Context, redis.Pipeliner) error{
	"csv":   func(in io.Reader) func(context.Context, redis.Pipeliner) error { return addPersons(personsOfCSV(in)) },
	"jsonl": func(in io.Reader) func(context.Context, redis.Pipeliner) error { return addPersons(personsOfJSON(in)) },
	"txt":   addSets,
}

func addPersons(next func(*person) error) func(context.Context, redis.Pipeliner) error {
	var p person
	return func(ctx context.Context, pipe redis.Pipeliner) error {
		err := next(&p)
		if err == nil {
			pipe.HSet(ctx, "u:"+p.ID, "id", p.ID, "name", p.Name, "city", p.City, "born", p.Born, "score", string(p.Score))
		}
		return err
	}
}

// addSets reads lines of SET key value.
func addSets(in io.Reader) func(context.Context, redis.Pipeliner) error {
	lines := bufio.NewScanner(in)
	return func(ctx context.Context, pipe redis.Pipeliner) error {
		if !lines.Scan() {
			return cmp.Or(lines.Err(), io.EOF)
		}
		_, rest, _ := strings.Cut(lines.Text(), " ")
		key, value, _ := strings.Cut(rest, " ")
		pipe.Set(ctx, key, value, 0)
		return nil
	}
}

// beGoRedis is a loader as one writes it with go-redis, in Pipelines of 1000:
// go-redis FORMAT -p PORT, or go-redis FORMAT -c -p PORT for a cluster.
func beGoRedis() {
	ctx := context.Background()
	addr := "127.0.0.1:" + os.Args[len(os.Args)-1]
	var client redis.UniversalClient = redis.NewClient(&redis.Options{Addr: addr})
	if os.Args[2] == "-c" {
		client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}})
	}
	add := adders[os.Args[1]](bufio.NewReaderSize(os.Stdin, 1<<20))
	pipe, n := client.Pipeline(), 0
	err := add(ctx, pipe)
	for ; err == nil; err = add(ctx, pipe) {
		if n++; n%1000 == 0 {
			if _, err := pipe.Exec(ctx); err != nil {
				log.Fatal(err)
			}
		}
	}
	if err != io.EOF {
		log.Fatal(err)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("errors: 0, replies: %d\n", n)
}
