// Prints when CronJobs run, as robfig/cron computes it: the package that Kubernetes uses.
//
//	go mod init times && go get github.com/robfig/cron/v3@v3.0.1 && go run . > times.jsonl
package main

import (
	"encoding/json"
	"os"
	"time"

	"github.com/robfig/cron/v3"
)

type row struct {
	Schedule string   `json:"schedule"`
	Zone     string   `json:"zone"`
	After    string   `json:"after"`
	Times    []string `json:"times"`
}

func main() {
	schedules := []string{
		"0 2 * * *", "30 2 * * *", "0 3 * * *", "*/30 * * * *", "0 0 * * SUN",
		"0 0 29 2 *", "0 0 13 * FRI", "5,35 0,12 1 */3 MON-FRI",
	}
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"}
	starts := []string{
		"2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z", "2026-03-07T12:00:00Z", "2026-10-31T12:00:00Z",
		"2027-12-31T22:30:00Z", "2096-02-28T12:00:00Z",
	}
	var rows []row
	for _, text := range schedules {
		for _, zone := range zones {
			location, err := time.LoadLocation(zone)
			if err != nil {
				panic(err)
			}
			schedule, err := cron.ParseStandard(text)
			if err != nil {
				panic(err)
			}
			for _, start := range starts {
				at, _ := time.Parse(time.RFC3339, start)
				times := []string{}
				for next := at.In(location); len(times) < 4; {
					next = schedule.Next(next)
					if next.IsZero() {
						break
					}
					times = append(times, next.UTC().Format("2006-01-02T15:04Z"))
				}
				rows = append(rows, row{text, zone, start, times})
			}
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	for _, one := range rows {
		if err := encoder.Encode(one); err != nil {
			panic(err)
		}
	}
}
