package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
)

type which struct {
	Invoice string `json:"invoice" jsonschema:"the number of the invoice, such as inv-17"`
}

type invoice struct {
	Cents    int    `json:"cents"`
	Currency string `json:"currency"`
}

type payment struct {
	Invoice string `json:"invoice" jsonschema:"the number of the invoice"`
	Cents   int    `json:"cents"`
}

type receipt struct {
	Receipt string `json:"receipt"`
}

// billing is the service that knows the invoices.
type billing struct {
	url    string
	client *http.Client
}

func addTools(server *mcp.Server, address string) {
	b := billing{address, &http.Client{Transport: retry.Transport(nil, nil)}} // which sees what took effect
	mcp.AddTool(server, &mcp.Tool{Name: "get_invoice", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, b.get)
	mcp.AddTool(server, &mcp.Tool{Name: "pay_invoice"}, b.pay)
}

func (b billing) get(ctx context.Context, _ *mcp.CallToolRequest, in which) (*mcp.CallToolResult, invoice, error) {
	lines, err := ask[[]invoice](ctx, b, http.MethodGet, "/invoices/"+url.PathEscape(in.Invoice), nil)
	if err != nil {
		if middleware.Classify(err).Kind() == fault.KindNotFound {
			err = fault.NotFound("invoice", in.Invoice).Because(err)
		}
		return nil, invoice{}, err
	}
	sum := invoice{Currency: lines[0].Currency} // a bug: an invoice may have no lines
	for _, line := range lines {
		sum.Cents += line.Cents
	}
	return nil, sum, nil
}

func (b billing) pay(ctx context.Context, req *mcp.CallToolRequest, in payment) (*mcp.CallToolResult, receipt, error) {
	if !slices.Contains(req.Extra.TokenInfo.Scopes, "pay") {
		return nil, receipt{}, fault.Denied("pay", "invoices").Needs("pay") // asks the client for another token
	}
	out, err := ask[receipt](ctx, b, http.MethodPost, "/payments", in)
	return nil, out, err
}

// ask sends a request to the service and returns errors as they come: the middlewares know them.
func ask[Out any](ctx context.Context, b billing, method, path string, in any) (out Out, err error) {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return out, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, b.url+path, &body)
	if err != nil {
		return out, err
	}
	if key := replay.Key(ctx); key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return out, err
	}
	if err := retry.FromResponse(resp); err != nil { // for every status from 400 on
		return out, err
	}
	defer resp.Body.Close()
	if err = json.NewDecoder(resp.Body).Decode(&out); err != nil {
		err = fmt.Errorf("%s at %s: %w", path, b.url, err)
	}
	return out, err
}
