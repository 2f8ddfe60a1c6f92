package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
)

// rail is the server of a travel desk.
type rail struct {
	*site

	reservations []reservation
}

type train struct {
	Number   string `json:"train"`
	From     string `json:"from"`
	To       string `json:"to"`
	Depart   string `json:"departs"`
	Arrive   string `json:"arrives"`
	Platform string `json:"platform"`
}

var trains = []train{
	{"EC 171", "Hamburg", "Basel", "06:21", "13:47", "8"},
	{"ICE 275", "Hamburg", "Basel", "09:24", "16:12", "7"},
	{"ICE 277", "Hamburg", "Basel", "11:24", "18:12", "14"},
	{"RJX 63", "Munich", "Vienna", "09:30", "13:30", "12"},
	{"RJX 65", "Munich", "Vienna", "11:30", "15:30", "12"},
}

type findTrains struct {
	From string `json:"from" jsonschema:"a city"`
	To   string `json:"to" jsonschema:"a city"`
	Date string `json:"date" jsonschema:"YYYY-MM-DD"`
}

type fareOf struct {
	Train string `json:"train" jsonschema:"such as ICE 1"`
	Date  string `json:"date" jsonschema:"YYYY-MM-DD"`
	Class int    `json:"class" jsonschema:"1 or 2"`
}

type reserve struct {
	Train string `json:"train" jsonschema:"such as ICE 1"`
	Date  string `json:"date" jsonschema:"YYYY-MM-DD"`
	Seats int    `json:"seats"`
	Name  string `json:"name" jsonschema:"of the passenger"`
}

type reservation struct {
	ID string `json:"id"`
	reserve

	Places string `json:"places"`
}

func (r *rail) reserve(ctx context.Context, in reserve) (any, error) {
	if in.Seats < 1 || in.Seats > 6 {
		return nil, r.say(fmt.Errorf("reserve seats: %d seats", in.Seats), fault.Invalid("seats", in.Seats, "from 1 to 6 seats"))
	}
	return remote[reserve](r.site, "reserve seats", http.MethodPost, "https://198.51.100.9/reservations")(ctx, in)
}

type nameOf struct {
	Name string `json:"name" jsonschema:"of the passenger"`
}

func (r *rail) list(_ context.Context, in nameOf) (any, error) {
	found := slices.DeleteFunc(append([]reservation{}, r.reservations...), func(v reservation) bool { return v.Name != in.Name })
	return map[string]any{"reservations": found}, nil
}

type idOf struct {
	ID string `json:"id"`
}

func (r *rail) cancel(_ context.Context, in idOf) (any, error) {
	for i, v := range r.reservations {
		if v.ID == in.ID {
			r.reservations = append(r.reservations[:i], r.reservations[i+1:]...)
			r.did("cancelled:" + in.ID)
			return map[string]any{"cancelled": in.ID}, nil
		}
	}
	return nil, r.say(fmt.Errorf("cancel: reservation %q not found", in.ID), fault.NotFound("reservation", in.ID))
}

// service answers for the timetable, the fares and the reservations.
func (r *rail) service(w http.ResponseWriter, req *http.Request) error {
	switch req.Host {
	case "timetable.rail.example":
		if _, since, _ := r.asked("timetable"); r.task == "T01" && since < 20*time.Second {
			return respond(w, 503, "upstream connect error or disconnect/reset before headers. reset reason: connection termination")
		}
		in := decode[findTrains](req)
		found := slices.DeleteFunc(slices.Clone(trains), func(t train) bool { return t.From != in.From || t.To != in.To })
		return respond(w, 200, map[string]any{"trains": found})
	case "fares.rail.example":
		if _, since, _ := r.asked("fares"); since < 40*time.Second {
			left := strconv.Itoa(int((40*time.Second - since + time.Second - 1) / time.Second))
			w.Header().Set("Retry-After", left)
			return respond(w, 429, `{"title":"Too Many Requests","detail":"The quota of key travel-desk is used up. It is reset in `+left+` seconds."}`)
		}
		in := decode[fareOf](req)
		cents := map[string]int{"RJX 65": 7490, "RJX 63": 8990}[in.Train] * (3 - in.Class)
		return respond(w, 200, map[string]any{"train": in.Train, "date": in.Date, "class": in.Class, "price_cents": cents, "currency": "EUR"})
	}
	in := decode[reserve](req)
	times, _, _ := r.asked("reservations")
	made := reservation{fmt.Sprintf("RS-%d", 6117+times), in, fmt.Sprintf("coach 4, seats %d to %d", 30+10*times, 29+10*times+in.Seats)}
	r.reservations = append(r.reservations, made)
	r.did(fmt.Sprintf("reserved:%s:%s:%d:%s", in.Train, in.Date, in.Seats, in.Name))
	if times == 1 { // the answer is lost
		return reset("10.0.3.12:52114", "198.51.100.9:443")
	}
	return respond(w, 201, made)
}

func newRail(s *site) *mcp.Server {
	r := &rail{site: s}
	s.serve(r.service, nil)
	m := mcp.NewServer(&mcp.Implementation{Name: "travel-desk", Version: "2.1.0"}, nil)
	tool(m, "find_trains", "Find direct trains between two cities on a day.", reads, remote[findTrains](s, "find trains", http.MethodGet, "http://timetable.rail.example/v2/connections"))
	tool(m, "get_fare", "Get the fare of one passenger on a train.", s.only(reads), remote[fareOf](s, "get fare", http.MethodPost, "https://fares.rail.example/v1/quote"))
	tool(m, "reserve_seats", "Reserve seats on a train.", s.only(adds), r.reserve)
	tool(m, "list_reservations", "List the reservations of a passenger.", reads, r.list)
	tool(m, "cancel_reservation", "Cancel a reservation.", s.only(destroys), r.cancel)
	return m
}
