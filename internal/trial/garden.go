package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
)

// garden is the server of the glasshouses of a botanical garden. Its author words what services answer as texts.
type garden struct{ *site }

const valves = "10.20.4.17:8080" // the controller

type water struct {
	House   int `json:"house" jsonschema:"from 1 to 6"`
	Minutes int `json:"minutes"`
}

func (g *garden) house(n int) error {
	if n >= 1 && n <= 6 {
		return nil
	}
	return g.say(fmt.Errorf("house %d does not exist", n), fault.Invalid("house", n, "from 1 to 6"))
}

func (g *garden) water(ctx context.Context, in water) (any, error) {
	if err := g.house(in.House); err != nil {
		return nil, err
	}
	return remote[water](g.site, "start watering", http.MethodPost, "http://"+valves+"/valves/open")(ctx, in)
}

type houseOf struct {
	House int `json:"house" jsonschema:"from 1 to 6"`
}

func (g *garden) sensors(ctx context.Context, in houseOf) (any, error) {
	if err := g.house(in.House); err != nil {
		return nil, err
	}
	return remote[houseOf](g.site, fmt.Sprintf("read sensors of house %d", in.House), http.MethodGet, fmt.Sprintf("http://gateway.garden.example/houses/%d", in.House))(ctx, in)
}

type forecastOf struct {
	Place string `json:"place"`
	Date  string `json:"date" jsonschema:"YYYY-MM-DD"`
}

type house struct {
	House  int    `json:"house"`
	Name   string `json:"name"`
	Plants string `json:"plants"`
}

func (g *garden) list(context.Context, struct{}) (any, error) {
	return map[string]any{"houses": []house{
		{1, "Palm house", "palms, cycads"}, {2, "Fern house", "tree ferns"}, {3, "Orchid house", "orchids"},
		{4, "Cactus house", "cacti, euphorbias"}, {5, "Water lily house", "lilies"}, {6, "Nursery", "seedlings"},
	}}, nil
}

var humidity = []int{71, 88, 79, 34, 93, 66}

// service answers for the valves, the sensors and the weather.
func (g *garden) service(w http.ResponseWriter, req *http.Request) error {
	switch req.Host {
	case "gateway.garden.example":
		times, _, _ := g.asked("gateway")
		if g.task == "T08" && !lucky(times) {
			return io.EOF // it hangs up
		}
		n := decode[houseOf](req).House
		return respond(w, 200, map[string]any{"house": n, "humidity_percent": humidity[n-1], "celsius": 18 + n})
	case "api.weather.example":
		// Within 25 s of the last request the next one is refused, and nobody gets through in the first 50 s.
		if _, since, quiet := g.asked("weather"); since < 50*time.Second || quiet < 25*time.Second {
			return respond(w, 429, `{"error":"too many requests"}`)
		}
		in := decode[forecastOf](req)
		return respond(w, 200, map[string]any{"place": in.Place, "date": in.Date, "min_celsius": -3, "max_celsius": 9, "rain_mm": 4.5})
	}
	in := decode[water](req)
	g.did(fmt.Sprintf("watered:%d:%d", in.House, in.Minutes))
	return respond(w, 200, map[string]any{"house": in.House, "until": time.Now().Add(time.Duration(in.Minutes) * time.Minute).Format("15:04:05")})
}

// lucky says which request of the sensors comes through: one of three by chance, but the same ones for each player.
func lucky(times int) bool {
	return rand.New(rand.NewPCG(6, uint64(times))).IntN(3) == 0 //nolint:gosec // to be the same again
}

func (g *garden) down(to string) error {
	if to != valves {
		return nil
	}
	if _, since, _ := g.asked("valves"); since < 75*time.Second {
		return refused(to)
	}
	return nil
}

func newGarden(s *site) *mcp.Server {
	s.plain = true
	g := &garden{s}
	s.serve(g.service, g.down)
	m := mcp.NewServer(&mcp.Implementation{Name: "glasshouses", Version: "0.6.1"}, nil)
	tool(m, "list_houses", "List the glasshouses.", reads, g.list)
	tool(m, "read_sensors", "Read temperature and humidity of a house.", reads, g.sensors)
	tool(m, "start_watering", "Open the valves of a house for some minutes. They close by themselves.", s.only(adds), g.water)
	tool(m, "get_forecast", "Get the weather forecast of a place for a day.", reads, remote[forecastOf](s, "get forecast", http.MethodPost, "https://api.weather.example/v1/forecast"))
	return m
}
