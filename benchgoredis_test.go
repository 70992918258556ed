package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

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

// goRedisReaders return a function that fills in the next record.
var goRedisReaders = map[string]func(io.Reader) func(*person) error{"csv": personsOfCSV, "jsonl": personsOfJSON}

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

// beGoRedis is a loader as one writes it with go-redis, in Pipelines of 1000:
// go-redis FORMAT -p PORT.
func beGoRedis() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[3]})
	next := goRedisReaders[os.Args[1]](bufio.NewReaderSize(os.Stdin, 1<<20))
	pipe, n := client.Pipeline(), 0
	var p person
	err := next(&p)
	for ; err == nil; err = next(&p) {
		pipe.HSet(ctx, "u:"+p.ID, "id", p.ID, "name", p.Name, "city", p.City, "born", p.Born, "score", string(p.Score))
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
