package budget

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/middleware"
)

// fromByte is the fragment of a URI that asks for a resource from a byte on. Fragments
// are the client's by RFC 3986: a server does not see them otherwise.
var fromByte = regexp.MustCompile(`^(.*)#bytes=([0-9]{1,15})-$`)

// resource reads a resource, or a range of it.
func (b *budget) resource(ctx context.Context, req *mcp.ReadResourceRequest, next mcp.MethodHandler) (mcp.Result, error) {
	uri, skip := req.Params.URI, 0
	if m := fromByte.FindStringSubmatch(uri); m != nil {
		uri = m[1]
		skip, _ = strconv.Atoi(m[2]) // at most 15 digits
		params := *req.Params
		params.URI = uri
		req = &mcp.ReadResourceRequest{Session: req.Session, Params: &params, Extra: req.Extra}
	}
	res, err := next(ctx, middleware.MethodReadResource, req)
	have, ok := res.(*mcp.ReadResourceResult)
	if err != nil || !ok || have == nil || have.InputRequests != nil {
		return res, err
	}
	total := 0
	for _, c := range have.Contents {
		total += length(c)
	}
	if skip == 0 {
		if tokens, _ := b.measureContents(have.Contents); tokens <= b.Size {
			return res, nil
		}
	}
	out := *have
	shrinking(b.Size*bytesPerToken, b.Size, func(room int) (tokens, bytes int) {
		var end int
		out.Contents, end = window(have.Contents, min(skip, total), max(minShown, room-noteBytes))
		if end < total || skip > 0 {
			says := fmt.Sprintf("Bytes %d to %d of %d.", min(skip, total), end, total)
			if end < total {
				says += fmt.Sprintf(" For the rest read %s#bytes=%d-", uri, end)
			}
			out.Contents = append(slices.Clip(out.Contents), &mcp.ResourceContents{URI: fmt.Sprintf("%s#bytes=%d-", uri, end), MIMEType: "text/plain", Text: says})
		}
		return b.measureContents(out.Contents)
	})
	b.Stats.LeftOut.Add(1)
	return &out, nil
}

// length returns how many bytes the contents have before they are encoded.
func length(c *mcp.ResourceContents) int {
	if c == nil {
		return 0
	}
	return len(c.Text) + len(c.Blob)
}

// measureContents is measure for the contents of a resource.
func (b *budget) measureContents(contents []*mcp.ResourceContents) (tokens, bytes int) {
	for _, c := range contents {
		if c != nil {
			bytes += contentsBytes(c)
		}
	}
	if bytes <= b.Size {
		return bytes, bytes
	} else if b.Count == nil {
		return estimate(bytes), bytes
	}
	for _, c := range contents {
		if c != nil {
			tokens += b.count(c.Text) + contentsBytes(c) - len(c.Text)
		}
	}
	return tokens, bytes
}

// window returns the contents from a byte on, about room bytes of them in their encoded
// form, and the byte at which they end.
func window(contents []*mcp.ResourceContents, from, room int) (part []*mcp.ResourceContents, end int) {
	end = from
	at := 0 // where the current contents begin
	for _, c := range contents {
		n, begin := length(c), max(0, from-at)
		if at += n; begin >= n || room <= 0 {
			continue
		}
		one := *c
		var stop int
		if c.Text != "" {
			for i := begin; i >= 0 && i > begin-utf8.UTFMax; i-- { // the client may have asked for the middle of a character
				if utf8.RuneStart(c.Text[i]) {
					begin = i
					break
				}
			}
			stop = characters(c.Text, begin, begin+room)
			one.Text = c.Text[begin:stop]
			room -= stop - begin
		} else {
			stop = min(n, begin+max(3, room*3/4))
			one.Blob = c.Blob[begin:stop]
			room -= (stop - begin) * 4 / 3
		}
		part, end = append(part, &one), at-n+stop
		if stop < n {
			break
		}
	}
	return part, end
}
