// Package api is a client of something.
package api

import "context"

type Client struct{}

type Response struct{}

func (*Client) GetDisk(context.Context, string) (*Response, error)         { return nil, nil }
func (*Client) GetOrCreateDisk(context.Context, string) (*Response, error) { return nil, nil }
func (*Client) DeleteDisk(context.Context, string) error                   { return nil }

func CreateResponse(*Response) string { return "" }
