package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
)

// library is the server of the desks of a city library.
type library struct {
	*site

	holds, events, sessions int
}

type book struct {
	Record   string `json:"record"`
	Title    string `json:"title"`
	Author   string `json:"author"`
	Shelf    string `json:"shelf"`
	Branch   string `json:"branch"`
	OnShelf  int    `json:"copies_on_shelf"`
	Reserved int    `json:"holds"`
}

var books = []book{
	{"BR-2207", "The Tin Drum", "Günter Grass", "B GRA 14", "north", 0, 3},
	{"BR-2291", "Field Guide to Lichens", "M. Halvorsen", "Q 388 HAL", "harbour", 2, 0},
	{"BR-2306", "Lichens of the Coast", "P. Aasen", "Q 388 AAS", "north", 1, 0},
	{"BR-3140", "A History of Tides", "J. Oduya", "P 212 ODU", "harbour", 1, 1},
}

type searchFor struct {
	Text string `json:"text" jsonschema:"words of the title or the author"`
}

func (l *library) service(w http.ResponseWriter, req *http.Request) error {
	if _, since, _ := l.asked("search"); l.task == "T03" && since < 150*time.Second {
		return respond(w, 503, `{"error":{"type":"search_phase_execution_exception","reason":"all shards failed"},"status":503}`)
	}
	words, found := strings.Fields(strings.ToLower(decode[searchFor](req).Text)), []book{}
	for _, b := range books {
		text := strings.ToLower(b.Title + " " + b.Author)
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			found = append(found, b)
		}
	}
	return respond(w, 200, map[string]any{"books": found})
}

type holdOn struct {
	Record string `json:"record"`
	Card   string `json:"card" jsonschema:"the number of the reader's card"`
	Branch string `json:"pickup_branch" jsonschema:"north, harbour or hill"`
}

var branches = []string{"north", "harbour", "hill"}

// place works in a session of the desk, of which the first one is over.
func (l *library) place(_ context.Context, in holdOn) (any, error) {
	if l.sessions == 0 {
		return nil, l.say(errors.New("place hold: ILS error 4401: session expired"),
			fault.New(fault.KindPreconditionFailed, "the desk's session with the catalogue is over").
				Step("Open a new one, and place the hold again", "open_desk_session", map[string]any{"branch": in.Branch}))
	}
	if !slices.ContainsFunc(books, func(b book) bool { return b.Record == in.Record }) {
		return nil, l.say(fmt.Errorf("place hold: no record %q", in.Record), fault.NotFound("record", in.Record))
	}
	if err := l.branch("pickup_branch", in.Branch); err != nil {
		return nil, err
	}
	l.holds++
	l.did(fmt.Sprintf("hold:%s:%s:%s", in.Record, in.Card, in.Branch))
	return map[string]any{"hold": fmt.Sprintf("H-%d", 880+l.holds), "queue": 4}, nil
}

func (l *library) branch(argument, name string) error {
	if slices.Contains(branches, name) {
		return nil
	}
	return l.say(fmt.Errorf("unknown branch %q", name), fault.OneOf(argument, name, branches...))
}

type branchOf struct {
	Branch string `json:"branch" jsonschema:"north, harbour or hill"`
}

func (l *library) open(_ context.Context, in branchOf) (any, error) {
	if err := l.branch("branch", in.Branch); err != nil {
		return nil, err
	}
	l.sessions++
	return map[string]any{"session": "open", "branch": in.Branch, "minutes": 30}, nil
}

type event struct {
	Branch    string   `json:"branch"`
	Date      string   `json:"date"`
	Start     string   `json:"start"`
	Minutes   int      `json:"minutes"`
	Seats     int      `json:"seats"`
	Audience  string   `json:"audience"`
	Equipment []string `json:"equipment,omitempty"`
	Contact   struct {
		Phone string `json:"phone"`
	} `json:"contact"`
}

// eventSchema says of most arguments what they are. The handler alone knows the form of a phone number and the length
// of slots, as it often does.
const eventSchema = `{
	"type": "object", "additionalProperties": false,
	"required": ["title", "branch", "room", "date", "start", "minutes", "seats", "audience", "contact"],
	"properties": {
		"title": {"type": "string", "maxLength": 40}, "branch": {"type": "string"}, "room": {"type": "string"},
		"date": {"type": "string", "pattern": "^\\d{2}\\.\\d{2}\\.\\d{4}$"}, "start": {"type": "string", "pattern": "^\\d{2}:\\d{2}$"},
		"minutes": {"type": "integer"}, "seats": {"type": "integer", "minimum": 1, "maximum": 120},
		"audience": {"type": "string", "enum": ["A", "C", "Y", "S"], "description": "a code: adults, children, youth, seniors"},
		"equipment": {"type": "array", "items": {"type": "string", "enum": ["projector", "microphone", "piano"]}},
		"contact": {
			"type": "object", "additionalProperties": false, "required": ["name", "phone"],
			"properties": {"name": {"type": "string"}, "phone": {"type": "string"}}
		}
	}
}`

func (l *library) event(_ context.Context, in event) (any, error) {
	if err := l.branch("branch", in.Branch); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(in.Contact.Phone, "+") {
		return nil, l.say(errors.New("create event: parse contact: invalid country code"),
			fault.Invalid("contact.phone", in.Contact.Phone, "a phone number with its country code", "+4930901820"))
	}
	if in.Minutes%30 != 0 {
		return nil, l.say(fmt.Errorf("create event: %d is not a number of slots", in.Minutes), fault.Invalid("minutes", in.Minutes, "a multiple of 30"))
	}
	l.events++
	phone := strings.NewReplacer(" ", "", "-", "", "/", "", "(0)", "", "(", "", ")", "").Replace(in.Contact.Phone)
	l.did(fmt.Sprintf("event:%s:%s:%s:%d:%d:%s:%v:%s", in.Branch, in.Date, in.Start, in.Minutes, in.Seats, in.Audience, in.Equipment, phone))
	return map[string]any{"event": fmt.Sprintf("EV-%d", 340+l.events)}, nil
}

func newLibrary(s *site) *mcp.Server {
	l := &library{site: s}
	s.serve(l.service, nil)
	m := mcp.NewServer(&mcp.Implementation{Name: "library-desk", Version: "1.8.2"}, nil)
	tool(m, "search_catalogue", "Search the catalogue of all branches.", reads,
		remote[searchFor](s, "search catalogue", http.MethodGet, "http://search.library.example:9200/catalogue/_search"))
	tool(m, "place_hold", "Reserve a book for a reader.", s.only(adds), l.place)
	tool(m, "open_desk_session", "Open a session of a desk with the catalogue.", s.only(idempotent), l.open)
	mcp.AddTool(m, &mcp.Tool{Name: "create_event", Description: "Put an event into the calendar of a branch.", Annotations: s.only(adds), InputSchema: json.RawMessage(eventSchema)},
		func(ctx context.Context, _ *mcp.CallToolRequest, in event) (*mcp.CallToolResult, any, error) {
			out, err := l.event(ctx, in)
			return nil, out, err
		})
	return m
}
