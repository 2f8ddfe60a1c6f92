package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
)

// museum is the server of the collections of a museum.
type museum struct {
	*site

	moves int
	moved moveTo
}

type object struct {
	Number string `json:"number"`
	Title  string `json:"title"`
	Maker  string `json:"maker"`
	Year   int    `json:"year"`
}

var objects = []object{
	{"F-1881", "Harbour in the snow", "Thea Brandt", 1904},
	{"F-2033", "Ropewalk", "Thea Brandt", 1911},
	{"M-0417", "Model of a whaler", "unknown", 1862},
}

type numberOf struct {
	Number string `json:"number" jsonschema:"such as F-1000"`
}

func (m *museum) object(_ context.Context, in numberOf) (any, error) {
	for _, o := range objects {
		if o.Number == in.Number {
			return o, nil
		}
	}
	return nil, m.say(fmt.Errorf("object %q not found", in.Number), fault.NotFound("object", in.Number))
}

type makerOf struct {
	Maker string `json:"maker,omitempty"`
}

func (m *museum) find(_ context.Context, in makerOf) (any, error) {
	found := slices.DeleteFunc(slices.Clone(objects), func(o object) bool { return in.Maker != "" && in.Maker != o.Maker })
	return map[string]any{"objects": found}, nil
}

// secret stands in the address of the registrar's server, which the errors of net/http show.
const secret = "mk-7Qf2xLw91Zpd"

// loans asks the registrar's server, which never answers.
func (m *museum) loans(ctx context.Context, in numberOf) (any, error) {
	if _, err := m.object(ctx, numberOf{in.Number}); err != nil {
		return nil, err
	}
	return remote[numberOf](m.site, "loan history", http.MethodGet, "http://registrar.museum.example/loans/"+in.Number+"?api_key="+secret)(ctx, in)
}

type yearsOf struct {
	From int `json:"from" jsonschema:"the first year"`
	To   int `json:"to" jsonschema:"the last year"`
}

var acquired = map[int]int{2017: 88, 2018: 102, 2019: 141, 2020: 37, 2021: 96, 2022: 118, 2023: 75}

// count reads the register without an index, and the driver of its database knows nothing of contexts.
func (m *museum) count(_ context.Context, in yearsOf) (any, error) {
	years := in.To - in.From + 1
	if years < 1 || in.From < 1850 || in.To > 2026 {
		return nil, m.say(fmt.Errorf("years %d to %d", in.From, in.To), fault.Invalid("to", in.To, "a year from the first one to 2026"))
	}
	if years > 2 {
		time.Sleep(2 * time.Minute)
		return nil, errors.New("count acquisitions: lock wait timeout exceeded")
	}
	time.Sleep(time.Duration(years) * 3 * time.Second)
	n := 0
	for y := in.From; y <= in.To; y++ {
		n += acquired[y]
	}
	return map[string]any{"from": in.From, "to": in.To, "acquisitions": n}, nil
}

type roomOf struct {
	Room string `json:"room" jsonschema:"such as depot 4"`
}

// survey compares the photographs of all objects of a room with those of last year, ten in seven seconds.
func (m *museum) survey(ctx context.Context, in roomOf) (any, error) {
	found := map[string]any{"room": in.Room, "objects": 212, "with_new_damage": 14, "worst": "F-2033"}
	takes := 150 * time.Second
	switch in.Room {
	case "depot 4":
	case "depot 1":
		found, takes = map[string]any{"room": in.Room, "objects": 58, "with_new_damage": 3, "worst": "M-0417"}, 40*time.Second
	default:
		return nil, m.say(fmt.Errorf("room %q not found", in.Room), fault.NotFound("room", in.Room, "depot 1", "depot 4"))
	}
	select {
	case <-time.After(takes):
		return found, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type moveTo struct {
	Number string `json:"number"`
	Room   string `json:"room" jsonschema:"such as depot 4"`
}

// move orders the lift of the depot, which nobody can stop.
func (m *museum) move(_ context.Context, in moveTo) (any, error) {
	time.Sleep(95 * time.Second)
	m.moves++
	m.moved = in
	m.did("moved:" + in.Number + ":" + in.Room)
	return map[string]any{"receipt": fmt.Sprintf("MV-%d", 206+m.moves)}, nil
}

func (m *museum) locate(_ context.Context, in numberOf) (any, error) {
	at := map[string]any{"number": in.Number, "room": "gallery 2"}
	if m.moved.Number == in.Number {
		at["room"], at["receipt"] = m.moved.Room, fmt.Sprintf("MV-%d", 206+m.moves)
	}
	return at, nil
}

type imageOf struct {
	Number string `json:"number" jsonschema:"of the object"`
	Size   string `json:"size,omitempty" jsonschema:"thumbnail, screen or print; screen if it is left out"`
	Store  string `json:"store,omitempty" jsonschema:"main or mirror; main if it is left out"`
}

var stores = map[string]string{"": "203.0.113.21:443", "main": "203.0.113.21:443", "mirror": "203.0.113.85:443"}

func (m *museum) image(ctx context.Context, in imageOf) (any, error) {
	if _, err := m.object(ctx, numberOf{in.Number}); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"", "thumbnail", "screen", "print"}, in.Size) {
		return nil, m.say(fmt.Errorf("unknown size %q", in.Size), fault.OneOf("size", in.Size, "thumbnail", "screen", "print"))
	}
	host, ok := stores[in.Store]
	if !ok {
		return nil, m.say(fmt.Errorf("unknown store %q", in.Store), fault.OneOf("store", in.Store, "main", "mirror"))
	}
	query := url.Values{"number": {in.Number}, "size": {in.Size}}
	return remote[imageOf](m.site, "find image", http.MethodGet, "https://"+host+"/image?"+query.Encode())(ctx, in)
}

func (m *museum) service(w http.ResponseWriter, req *http.Request) error {
	if req.Host == "registrar.museum.example" {
		time.Sleep(time.Minute)
		return io.EOF
	}
	in := decode[imageOf](req)
	width, size := map[string]int{"thumbnail": 160, "screen": 1600, "print": 7216}, cmp.Or(in.Size, "screen")
	host := strings.TrimSuffix(req.Host, ":443")
	return respond(w, 200, map[string]any{"link": fmt.Sprintf("https://%s/i/%s-%s-5e1c.tif", host, in.Number, size), "width": width[size]})
}

func down(to string) error {
	if to == stores["main"] {
		return refused(to)
	}
	return nil
}

func newMuseum(s *site) *mcp.Server {
	m := &museum{site: s}
	s.serve(m.service, down)
	s.client.Timeout = 10 * time.Second
	server := mcp.NewServer(&mcp.Implementation{Name: "collections", Version: "3.0.0"}, nil)
	tool(server, "find_objects", "Find objects of the collection, all or those of a maker.", reads, m.find)
	tool(server, "get_object", "Get an object by its number.", s.only(reads), m.object)
	tool(server, "get_loan_history", "Get where an object was on loan, and when.", reads, m.loans)
	tool(server, "count_acquisitions", "Count the objects that came into the collection in some years.", s.only(reads), m.count)
	tool(server, "survey_room", "Survey the condition of all objects in a room.", reads, m.survey)
	tool(server, "move_object", "Move an object into another room with the lift of the depot.", s.only(adds), m.move)
	tool(server, "locate_object", "Get the room of an object, and the receipt of its last move.", reads, m.locate)
	tool(server, "find_image", "Get the link of an image of an object.", reads, m.image)
	return server
}
