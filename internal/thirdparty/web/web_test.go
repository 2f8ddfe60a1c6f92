// Package web_test runs clients of HTTP services.
package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	azruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Khan/genqlient/graphql"
	"github.com/PagerDuty/go-pagerduty"
	"github.com/andygrunwald/go-jira"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	goshopify "github.com/bold-commerce/go-shopify/v4"
	"github.com/bwmarrin/discordgo"
	"github.com/digitalocean/godo"
	"github.com/go-resty/resty/v2"
	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	"github.com/google/go-github/v74/github"
	"github.com/hashicorp/consul/api"
	"github.com/hashicorp/go-retryablehttp"
	vault "github.com/hashicorp/vault/api"
	hasura "github.com/hasura/go-graphql-client"
	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	influx "github.com/influxdata/influxdb-client-go/v2/api/http"
	"github.com/jomei/notionapi"
	"github.com/ktrysmt/go-bitbucket"
	"github.com/linode/linodego"
	"github.com/meilisearch/meilisearch-go"
	"github.com/olivere/elastic/v7"
	"github.com/openai/openai-go"
	openaioption "github.com/openai/openai-go/option"
	"github.com/opensearch-project/opensearch-go/v4"
	"github.com/opensearch-project/opensearch-go/v4/opensearchapi"
	promapi "github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	gogpt "github.com/sashabaranov/go-openai"
	shurcool "github.com/shurcooL/graphql"
	"github.com/slack-go/slack"
	"github.com/stripe/stripe-go/v72"
	"github.com/stripe/stripe-go/v72/customer"
	"github.com/typesense/typesense-go/v3/typesense"
	"github.com/zmb3/spotify/v2"
	gitlab "gitlab.com/gitlab-org/api/client-go"
	"golang.org/x/oauth2"
	"google.golang.org/api/customsearch/v1"
	googleoption "google.golang.org/api/option"
	"google.golang.org/genai"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/thirdparty/suite"
)

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

func TestWeb(t *testing.T) { suite.Run(t, "web", libraries) }

// noWait is what becomes of a limit of which the library keeps no wait.
var noWait = suite.Told{Kind: fault.KindRateLimited, Retry: suite.Yes, Party: suite.Upstream}

// noHeader is what becomes of a limit whose headers the library drops.
var noHeader = map[string]suite.Told{"403 of a rate limit": forbidden, "429": noWait}

var forbidden = suite.Told{Kind: fault.KindServerError, Retry: suite.No, Party: suite.Server}

var libraries = []suite.Library{
	{Name: "google/go-github", Call: func(ctx context.Context, address string) error {
		c := github.NewClient(nil)
		c.BaseURL, _ = url.Parse(address + "/")
		return third(c.Issues.Get(ctx, "o", "r", 1))
	}},
	{Name: "gitlab client-go", Call: func(ctx context.Context, address string) error {
		c, err := gitlab.NewClient("t", gitlab.WithBaseURL(address), gitlab.WithoutRetries())
		if err != nil {
			return err
		}
		return third(c.Projects.GetProject(1, nil, gitlab.WithContext(ctx)))
	}},
	{Name: "google.golang.org/api", Body: func(c suite.Case) string {
		reason := "forbidden"
		if c.Name == "403 of a rate limit" {
			reason = "userRateLimitExceeded"
		}
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"errors":[{"reason":%q,"message":"m"}]}}`, c.Status, harness.Canary, reason)
	}, Call: func(ctx context.Context, address string) error {
		s, err := customsearch.NewService(ctx, googleoption.WithEndpoint(address), googleoption.WithHTTPClient(&http.Client{}))
		if err != nil {
			return err
		}
		return second(s.Cse.List().Context(ctx).Do())
	}},
	{Name: "Azure azcore", Call: func(ctx context.Context, address string) error {
		p := azruntime.NewPipeline("m", "v1", azruntime.PipelineOptions{}, &policy.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}})
		req, err := azruntime.NewRequest(ctx, http.MethodGet, address)
		if err != nil {
			return err
		}
		resp, err := p.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		err = azruntime.NewResponseError(resp)
		if e := (*azcore.ResponseError)(nil); !errors.As(err, &e) {
			return errors.New("no ResponseError")
		}
		return err
	}},
	{Name: "aws-sdk-go-v2", Body: func(suite.Case) string {
		return fmt.Sprintf(`{"__type":"c","message":%q}`, harness.Canary)
	}, Call: func(ctx context.Context, address string) error {
		c := sqs.New(sqs.Options{BaseEndpoint: &address, Region: "r", RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("k", "s", "")})
		return second(c.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("q")}))
	}},
	{Name: "sashabaranov/go-openai", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		config := gogpt.DefaultConfig("k")
		config.BaseURL = address
		return second(gogpt.NewClientWithConfig(config).ListModels(ctx))
	}},
	{Name: "openai/openai-go", Call: func(ctx context.Context, address string) error {
		c := openai.NewClient(openaioption.WithBaseURL(address), openaioption.WithAPIKey("k"), openaioption.WithMaxRetries(0))
		return second(c.Models.Get(ctx, "m"))
	}},
	{Name: "google.golang.org/genai", Differs: noHeader, Body: func(c suite.Case) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":"S"}}`, c.Status, harness.Canary)
	}, Call: func(ctx context.Context, address string) error {
		c, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: address}})
		if err != nil {
			return err
		}
		return second(c.Models.Get(ctx, "m", nil))
	}},
	{Name: "slack-go/slack", Differs: map[string]suite.Told{"403 of a rate limit": forbidden}, Call: func(ctx context.Context, address string) error {
		return second(slack.New("t", slack.OptionAPIURL(address+"/")).AuthTestContext(ctx))
	}},
	{Name: "stripe-go", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		b := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{URL: &address, MaxNetworkRetries: stripe.Int64(0), LeveledLogger: &stripe.LeveledLogger{}})
		params := &stripe.CustomerParams{}
		params.Context = ctx
		return second(customer.Client{B: b, Key: "sk_test_x"}.Get("c", params))
	}},
	{Name: "olivere/elastic", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		c, err := elastic.NewSimpleClient(elastic.SetURL(address))
		if err != nil {
			return err
		}
		return second(c.Get().Index("i").Id("1").Do(ctx))
	}},
	{Name: "opensearch-go", Differs: noHeader, Body: func(c suite.Case) string {
		return fmt.Sprintf(`{"error":{"type":"t","reason":%q,"root_cause":[]},"status":%d}`, harness.Canary, c.Status)
	}, Call: func(ctx context.Context, address string) error {
		c, err := opensearchapi.NewClient(opensearchapi.Config{Client: opensearch.Config{Addresses: []string{address}, DisableRetry: true}})
		if err != nil {
			return err
		}
		return second(c.Indices.Get(ctx, opensearchapi.IndicesGetReq{Indices: []string{"i"}}))
	}},
	{Name: "go-retryablehttp", Without: []string{"400", "401", "403", "403 of a rate limit", "404", "409", "422"},
		Differs: map[string]suite.Told{
			"429": {Kind: fault.KindServiceUnavailable, Retry: suite.Yes, Party: suite.Upstream},
			"500": {Kind: fault.KindServiceUnavailable, Retry: suite.Yes, Party: suite.Upstream},
		}, Call: func(ctx context.Context, address string) error {
			c := retryablehttp.NewClient()
			c.RetryMax, c.Logger = 0, nil
			req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, address, nil)
			if err != nil {
				return err
			}
			return second(c.Do(req))
		}},
	{Name: "go-resty", Without: []string{"400", "401", "403", "403 of a rate limit", "404", "409", "422", "429", "500", "503"}, Call: func(ctx context.Context, address string) error {
		return second(resty.New().R().SetContext(ctx).Get(address))
	}},
	{Name: "go-jira", Differs: noHeader, Body: func(suite.Case) string { return "" }, Call: func(ctx context.Context, address string) error {
		c, err := jira.NewClient(nil, address)
		if err != nil {
			return err
		}
		return third(c.Issue.GetWithContext(ctx, "A-1", nil))
	}},
	{Name: "jomei/notionapi", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		return second(notionapi.NewClient("t", notionapi.WithHTTPClient(suite.To(address)), notionapi.WithRetry(1)).Page.Get(ctx, "p"))
	}},
	{Name: "shurcooL/graphql", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		var q struct{ Viewer struct{ Login string } }
		return shurcool.NewClient(address, nil).Query(ctx, &q, nil)
	}},
	{Name: "hasura/go-graphql-client", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		var q struct{ Viewer struct{ Login string } }
		return hasura.NewClient(address, nil).Query(ctx, &q, nil)
	}},
	{Name: "Khan/genqlient", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		return graphql.NewClient(address, http.DefaultClient).MakeRequest(ctx, &graphql.Request{Query: "{a}"}, &graphql.Response{})
	}},
	{Name: "bwmarrin/discordgo", Body: func(c suite.Case) string {
		return fmt.Sprintf(`{"message":%q,"retry_after":%f}`, harness.Canary, suite.Wait.Seconds())
	}, Call: func(ctx context.Context, address string) error {
		s, err := discordgo.New("Bot t")
		if err != nil {
			return err
		}
		s.Client, s.ShouldRetryOnRateLimit, s.MaxRestRetries = suite.To(address), false, 0
		return second(s.User("1", discordgo.WithContext(ctx)))
	}},
	{Name: "telegram-bot-api", Differs: map[string]suite.Told{"403 of a rate limit": forbidden}, Body: func(c suite.Case) string {
		wait := ""
		if c.Name == "429" {
			wait = `,"parameters":{"retry_after":7}`
		}
		return fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q%s}`, c.Status, harness.Canary, wait)
	}, Call: func(ctx context.Context, address string) error {
		return second(tgbotapi.NewBotAPIWithClient("t", address+"/bot%s/%s", bounded{ctx}))
	}},
	{Name: "hashicorp/consul", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		c, err := api.NewClient(&api.Config{Address: address})
		if err != nil {
			return err
		}
		return third(c.Catalog().Nodes((&api.QueryOptions{}).WithContext(ctx)))
	}},
	{Name: "hashicorp/vault", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		c, err := vault.NewClient(&vault.Config{Address: address, MaxRetries: 0})
		if err != nil {
			return err
		}
		c.SetMaxRetries(0)
		return second(c.Logical().WriteWithContext(ctx, "secret/x", map[string]any{"a": "b"}))
	}},
	{Name: "prometheus/client_golang", Differs: noHeader, Body: func(c suite.Case) string {
		kind := map[int]string{400: "bad_data", 422: "execution"}[c.Status]
		return fmt.Sprintf(`{"status":"error","errorType":%q,"error":%q}`, kind, harness.Canary)
	}, Call: func(ctx context.Context, address string) error {
		c, err := promapi.NewClient(promapi.Config{Address: address})
		if err != nil {
			return err
		}
		return third(prometheus.NewAPI(c).Query(ctx, "up", time.Unix(1, 0)))
	}},
	{Name: "influxdb-client-go", Differs: map[string]suite.Told{"403 of a rate limit": rateLimited}, Call: func(ctx context.Context, address string) error {
		s := influx.NewService(address+"/", "Token t", influx.DefaultOptions())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		if err := s.DoHTTPRequest(req, nil, nil); err != nil {
			return err
		}
		return nil
	}},
	{Name: "meilisearch-go", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		return second(meilisearch.New(address, meilisearch.DisableRetries()).GetIndexWithContext(ctx, "i"))
	}},
	{Name: "go-pagerduty", Differs: noHeader, Body: func(suite.Case) string { return fmt.Sprintf(`{"error":{"code":7,"message":%q}}`, harness.Canary) }, Call: func(ctx context.Context, address string) error {
		return second(pagerduty.NewClient("t", pagerduty.WithAPIEndpoint(address)).GetUserWithContext(ctx, "1", pagerduty.GetUserOptions{}))
	}},
	{Name: "digitalocean/godo", Call: func(ctx context.Context, address string) error {
		c, err := godo.New(http.DefaultClient, godo.SetBaseURL(address+"/"))
		if err != nil {
			return err
		}
		return third(c.Droplets.Get(ctx, 1))
	}},
	{Name: "hcloud-go", Differs: noHeader, Body: func(c suite.Case) string {
		code := map[int]string{400: "invalid_input", 401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict", 422: "invalid_input", 429: "rate_limit_exceeded", 500: "server_error", 503: "unavailable"}[c.Status]
		return fmt.Sprintf(`{"error":{"code":%q,"message":%q}}`, code, harness.Canary)
	}, Call: func(ctx context.Context, address string) error {
		c := hcloud.NewClient(hcloud.WithEndpoint(address), hcloud.WithToken("t"), hcloud.WithRetryOpts(hcloud.RetryOpts{MaxRetries: 0}))
		return second(c.Location.All(ctx))
	}},
	{Name: "zmb3/spotify", Differs: noHeader, Body: func(c suite.Case) string {
		return fmt.Sprintf(`{"error":{"status":%d,"message":%q}}`, c.Status, harness.Canary)
	}, Call: func(ctx context.Context, address string) error {
		return second(spotify.New(http.DefaultClient, spotify.WithBaseURL(address+"/")).GetTrack(ctx, "1"))
	}},
	{Name: "go-shopify", Differs: map[string]suite.Told{"403 of a rate limit": forbidden}, Body: func(suite.Case) string { return fmt.Sprintf(`{"errors":%q}`, harness.Canary) }, Call: func(ctx context.Context, address string) error {
		c, err := goshopify.NewClient(goshopify.App{}, "shop", "t", goshopify.WithHTTPClient(suite.To(address)), goshopify.WithRetry(0))
		if err != nil {
			return err
		}
		return second(c.Shop.Get(ctx, nil))
	}},
	{Name: "golang.org/x/oauth2", Call: func(ctx context.Context, address string) error {
		c := &oauth2.Config{ClientID: "c", Endpoint: oauth2.Endpoint{TokenURL: address, AuthStyle: oauth2.AuthStyleInParams}}
		return second(c.Exchange(ctx, "code"))
	}},
	{Name: "typesense-go", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		return second(typesense.NewClient(typesense.WithServer(address), typesense.WithAPIKey("k")).Collection("c").Retrieve(ctx))
	}},
	{Name: "linodego", Body: func(suite.Case) string { return fmt.Sprintf(`{"errors":[{"reason":%q}]}`, harness.Canary) }, Call: func(ctx context.Context, address string) error {
		c := linodego.NewClient(nil)
		c.SetBaseURL(address).SetRetryCount(0)
		return second(c.GetInstance(ctx, 1))
	}},
	{Name: "go-bitbucket", Differs: noHeader, Call: func(ctx context.Context, address string) error {
		c, err := bitbucket.NewBasicAuth("u", "p")
		if err != nil {
			return err
		}
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		c.SetApiBaseURL(*u)
		c.HttpClient = bounded{ctx}.client()
		return second(c.Repositories.Repository.Get(&bitbucket.RepositoryOptions{Owner: "o", RepoSlug: "r"}))
	}},
}

var rateLimited = suite.Told{Kind: fault.KindRateLimited, Retry: suite.Yes, After: suite.Wait, Party: suite.Upstream}

// bounded gives a context to a library that takes none.
type bounded struct{ ctx context.Context }

func (b bounded) Do(req *http.Request) (*http.Response, error) {
	return http.DefaultClient.Do(req.WithContext(b.ctx))
}

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(req.WithContext(b.ctx))
}

func (b bounded) client() *http.Client { return &http.Client{Transport: b} }
