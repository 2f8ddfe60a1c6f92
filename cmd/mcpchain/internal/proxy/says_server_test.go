package proxy

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

const saysListed = `{"tools":[
{"name":"kill","inputSchema":{"type":"object","properties":{"pid":{"type":"integer"}},"required":["pid"],"additionalProperties":false}},
{"name":"picture","inputSchema":{"type":"object","properties":{"pid":{"type":"integer"}},"required":["pid"]}},
{"name":"unknown_kind","inputSchema":{"type":"object","properties":{"pid":{"type":"integer"}},"required":["pid"]}},
{"name":"typed","inputSchema":{"type":"object","properties":{"pid":{"type":"integer"}},"required":["pid"]},"outputSchema":{"type":"object","properties":{"rows":{"type":"array"}},"required":["rows"]}},
{"name":"typed_well","inputSchema":{"type":"object","properties":{"pid":{"type":"integer"}},"required":["pid"]},"outputSchema":{"type":"object","properties":{"code":{"type":"integer"}},"required":["code"]}},
{"name":"untyped","inputSchema":{"type":"object","properties":{"pid":{"type":"integer"}},"required":["pid"]}},
{"name":"secret","inputSchema":{"type":"object","properties":{"pid":{"type":"integer"}},"required":["pid"]}},
{"name":"get-user","inputSchema":{"type":"object","properties":{"user_id":{"type":"string"}},"required":["user_id"]}},
{"name":"odd","inputSchema":{"$ref":"#"}},
{"name":"sync","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}`

const imageBlock = `{ "type" : "image","data":"AAAA","mimeType":"image/png","of":"<b> & é"}`

// says handles what is asked in the tests of what the program says, and reports whether it did.
func (s *fakeServer) says(m message) bool {
	switch m.Method {
	case "tools/list":
		wait, err := time.ParseDuration(os.Getenv("PROXY_TEST_LIST"))
		if err != nil {
			s.result(m.ID, strings.ReplaceAll(saysListed, "\n", ""))
			return true
		}
		go func() {
			time.Sleep(wait)
			s.result(m.ID, strings.ReplaceAll(saysListed, "\n", ""))
		}()
		return true
	case "tools/call":
	default:
		return false
	}
	var p struct {
		Name      string `json:"name"`
		Arguments struct {
			N int `json:"n"`
		} `json:"arguments"`
	}
	_ = json.Unmarshal(m.Params, &p)
	failed := func(content, more string) {
		s.result(m.ID, `{"content":[`+content+`],"isError":true`+more+`}`)
	}
	const structured = `,"structuredContent":{"code": 7}`
	switch p.Name {
	case "kill":
		failed(`{"type":"text","text":"Ignored: zzz. Supported: pid.","mine":1},{"type":"text","text":"Error: <kill> ESRCH" , "mine":"<&>"},`+imageBlock, structured+`,"_meta":{"its":12345678901234567890}`)
	case "picture":
		failed(imageBlock+`,`+imageBlock, "")
	case "unknown_kind":
		failed(`{"type":"hologram","shows":"<x>"},{"type":"text","text":"no such process"}`, "")
	case "typed", "typed_well", "untyped":
		failed(`{"type":"text","text":"rejected"}`, structured)
	case "secret":
		failed(`{"type":"text","text":"cannot sign in with `+os.Getenv("TEST_API_KEY")+`"}`, "")
	case "sync":
		time.Sleep(time.Duration(p.Arguments.N) * time.Millisecond)
		s.text(m.ID, "done", false)
	case "other_id":
		s.raw(`{"jsonrpc":"2.0","id":"no-such","result":{}}`)
		s.text(m.ID, "done", false)
	case "get-user", "get-usr":
		said, data := "Cannot read properties of undefined", ""
		if p.Name == "get-usr" {
			said = "Unknown tool: get-usr"
		}
		if p.Arguments.N == -32602 {
			data = `,"data":{"its":"own","type":"theirs"}`
		}
		if p.Arguments.N == -32600 {
			data = `,"data":"a text"`
		}
		s.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q%s}}`, m.ID, p.Arguments.N, said, data))
	default:
		return false
	}
	return true
}
