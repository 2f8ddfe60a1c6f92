// Package cloud_test runs clients of clusters and of services that speak gRPC.
package cloud_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/docker/docker/client"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/thirdparty/suite"
)

func second[T any](_ T, err error) error { return err }

var (
	noWait    = suite.Told{Kind: fault.KindRateLimited, Retry: suite.Yes, Party: suite.Upstream}
	forbidden = suite.Told{Kind: fault.KindServerError, Retry: suite.No, Party: suite.Server}
)

func TestCloud(t *testing.T) {
	suite.Run(t, "cloud", []suite.Library{
		{Name: "k8s.io/client-go", Differs: map[string]suite.Told{"403 of a rate limit": forbidden}, Body: func(c suite.Case) string {
			details := ""
			if c.Name == "429" {
				details = `,"details":{"retryAfterSeconds":7}`
			}
			return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d%s}`, harness.Canary, http.StatusText(c.Status), c.Status, details)
		}, Call: func(ctx context.Context, address string) error {
			scheme := runtime.NewScheme()
			metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
			c, err := rest.UnversionedRESTClientFor(&rest.Config{Host: address, ContentConfig: rest.ContentConfig{
				GroupVersion: &schema.GroupVersion{Version: "v1"}, NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
			}})
			if err != nil {
				return err
			}
			return c.Get().AbsPath("/api/v1/pods/x").MaxRetries(0).Do(ctx).Error()
		}},
		{Name: "docker/docker", Differs: map[string]suite.Told{"403 of a rate limit": forbidden, "429": noWait}, Call: func(ctx context.Context, address string) error {
			c, err := client.NewClientWithOpts(client.WithHost("tcp"+address[len("http"):]), client.WithVersion("1.47"))
			if err != nil {
				return err
			}
			defer c.Close()
			return second(c.ContainerInspect(ctx, "x"))
		}},
		{Name: "connectrpc.com/connect", Body: func(c suite.Case) string { return "{}" }, Differs: map[string]suite.Told{
			// The protocol has codes of its own, and fewer.
			"400":                 {Kind: fault.KindServerError, Retry: suite.No, Party: suite.Upstream},
			"403 of a rate limit": forbidden,
			"404":                 {Kind: fault.KindServerError, Retry: suite.No, Party: suite.Server},
			"409":                 {Kind: fault.KindServerError, Retry: suite.No, Party: suite.Upstream},
			"422":                 {Kind: fault.KindServerError, Retry: suite.No, Party: suite.Upstream},
			"429":                 {Kind: fault.KindServiceUnavailable, Retry: suite.Yes, After: suite.Wait, Party: suite.Upstream},
			"500":                 {Kind: fault.KindServerError, Retry: suite.No, Party: suite.Upstream},
		}, Call: func(ctx context.Context, address string) error {
			c := connect.NewClient[emptypb.Empty, emptypb.Empty](http.DefaultClient, address+"/a.B/C")
			return second(c.CallUnary(ctx, connect.NewRequest(&emptypb.Empty{})))
		}},
	})
}

// grpcService answers every call with the code that it says at that time.
func grpcService(t *testing.T, code func() codes.Code) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		return status.Error(code(), harness.Canary)
	}))
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return listener.Addr().String()
}

var ofCodes = map[codes.Code]suite.Told{
	codes.InvalidArgument:   {Kind: fault.KindClientError, Retry: suite.No, Party: suite.Caller},
	codes.NotFound:          {Kind: fault.KindNotFound, Retry: suite.No, Party: suite.Caller},
	codes.AlreadyExists:     {Kind: fault.KindAlreadyExists, Retry: suite.No, Party: suite.Caller},
	codes.PermissionDenied:  forbidden,
	codes.Unauthenticated:   forbidden,
	codes.ResourceExhausted: noWait,
	codes.Internal:          {Kind: fault.KindServerError, Retry: suite.No, Party: suite.Upstream},
}

func TestEtcd(t *testing.T) {
	for code, want := range ofCodes {
		t.Run(code.String(), func(t *testing.T) {
			address := grpcService(t, func() codes.Code { return code })
			c, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, MaxUnaryRetries: 1, DialTimeout: time.Second})
			require.NoError(t, err)
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			suite.Check(t, second(c.Get(ctx, "k")), want)
		})
	}
}

// TestTemporal is about the errors that Temporal's client makes of a gRPC status.
func TestTemporal(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want suite.Told
	}{
		"not found":      {serviceerror.NewNotFound(harness.Canary), ofCodes[codes.NotFound]},
		"invalid":        {serviceerror.NewInvalidArgument(harness.Canary), ofCodes[codes.InvalidArgument]},
		"already exists": {serviceerror.NewAlreadyExists(harness.Canary), ofCodes[codes.AlreadyExists]},
		"denied":         {serviceerror.NewPermissionDenied(harness.Canary, "r"), forbidden},
		"internal":       {serviceerror.NewInternal(harness.Canary), ofCodes[codes.Internal]},
	} {
		t.Run(name, func(t *testing.T) { suite.Check(t, c.err, c.want) })
	}
}
