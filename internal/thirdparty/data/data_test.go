// Package data_test runs drivers of databases and brokers.
package data_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/glebarez/sqlite"
	"github.com/go-sql-driver/mysql"
	"github.com/gomodule/redigo/redis"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	amqp "github.com/rabbitmq/amqp091-go"
	goredis "github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/thirdparty/suite"
)

func second[T any](_ T, err error) error { return err }

// What databases say most often.
var (
	wrong       = suite.Told{Kind: fault.KindClientError, Retry: suite.No, Party: suite.Caller}
	duplicate   = suite.Told{Kind: fault.KindAlreadyExists, Retry: suite.No, Party: suite.Caller}
	rule        = suite.Told{Kind: fault.KindConflict, Retry: suite.No, Party: suite.Caller}
	credentials = suite.Told{Kind: fault.KindServerError, Retry: suite.No, Party: suite.Server}
	statement   = suite.Told{Kind: fault.KindInternal, Retry: suite.No, Party: suite.Server}
	missing     = suite.Told{Kind: fault.KindNotFound, Retry: suite.No, Party: suite.Caller}
	rolledBack  = suite.Told{Kind: fault.KindConflict, Retry: suite.Yes, Party: suite.Upstream}
	overloaded  = suite.Told{Kind: fault.KindServiceUnavailable, Retry: suite.Yes, Party: suite.Upstream}
	limited     = suite.Told{Kind: fault.KindRateLimited, Retry: suite.Yes, Party: suite.Upstream}
	down        = suite.Told{Kind: fault.KindServiceUnavailable, Retry: suite.Yes, Party: suite.Upstream}
	broken      = suite.Told{Kind: fault.KindConnectionFailed, Retry: suite.Yes, Party: suite.Upstream}
	refused     = suite.Told{Kind: fault.KindConnectionFailed, Retry: suite.Yes, Party: suite.Upstream}
	slow        = suite.Told{Kind: fault.KindTimeout, Retry: suite.Yes}
	slowThere   = suite.Told{Kind: fault.KindTimeout, Retry: suite.Yes, Party: suite.Upstream}
	state       = suite.Told{Kind: fault.KindInternal, Retry: suite.No, Party: suite.Server}
)

func TestData(t *testing.T) {
	table := suite.NewTable("data")
	for name, run := range map[string]func(*testing.T, func(string, error, suite.Told)){
		"go-sql-driver/mysql": mySQL, "redis/go-redis": goRedis, "gomodule/redigo": redigo, "nats.go": natsGo, "gomemcache": memcached,
		"gorm.io/gorm": orm, "go-mssqldb": sqlServer, "mongo-driver": mongoDB, "segmentio/kafka-go": kafkaGo, "amqp091-go": rabbit,
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(what string, err error, want suite.Told) {
				t.Helper()
				t.Run(what, func(t *testing.T) {
					if suite.Check(t, err, want) {
						table.Add(name, what, want)
					}
				})
			})
		})
	}
	table.Compare(t)
}

func packet(sequence byte, payload []byte) []byte {
	return append([]byte{byte(len(payload)), byte(len(payload) >> 8), byte(len(payload) >> 16), sequence}, payload...)
}

// mySQL speaks the protocol as far as a statement whose text is the number of an error.
func mySQL(t *testing.T, add func(string, error, suite.Told)) {
	greeting := "\x0a8.0.0\x00\x01\x00\x00\x00abcdefgh\x00\xff\xf7\x21\x02\x00\xff\xff\x15\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00abcdefghijkl\x00mysql_native_password\x00"
	failure := func(number uint16) []byte {
		return append(append([]byte{0xff}, binary.LittleEndian.AppendUint16(nil, number)...), "#HY000"+harness.Canary...)
	}
	address := suite.Listen(t, func(conn net.Conn) {
		_, _ = conn.Write(packet(0, []byte(greeting)))
		for first := true; ; first = false {
			var head [4]byte
			if _, err := io.ReadFull(conn, head[:]); err != nil {
				return
			}
			body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
			if _, err := io.ReadFull(conn, body); err != nil {
				return
			}
			var number uint16
			switch {
			case first && strings.Contains(string(body), "stranger"):
				_, _ = conn.Write(packet(head[3]+1, failure(1045)))
				return
			case !first && string(body[1:]) == "slow":
				time.Sleep(2 * time.Second)
				return
			case !first && body[0] == 3:
				_, _ = fmt.Sscan(string(body[1:]), &number)
			}
			if number == 0 {
				_, _ = conn.Write(packet(head[3]+1, []byte{0, 0, 0, 2, 0, 0, 0}))
				continue
			}
			_, _ = conn.Write(packet(head[3]+1, failure(number)))
		}
	})
	_ = mysql.SetLogger(mysql.Logger(quiet{}))
	open := func(user, address string) *sql.DB {
		db, err := sql.Open("mysql", user+"@tcp("+address+")/db?allowNativePasswords=true")
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	db := open("app", address)
	for number, want := range map[int]suite.Told{
		1062: duplicate, 1452: rule, 1048: wrong, 1406: wrong, 1142: credentials, 1064: statement, 1146: statement, 1213: rolledBack, 1205: rolledBack,
		1040: overloaded, 1226: limited, 1053: down, 1290: state,
		3024: {Kind: fault.KindTimeout, Retry: suite.Yes, Party: suite.Upstream},
	} {
		add(fmt.Sprint(number), second(db.Exec(fmt.Sprint(number))), want)
	}
	add("wrong password", open("stranger", address).Ping(), credentials)
	add("refused connection", open("app", suite.Closed(t)).Ping(), refused)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	add("time-out", second(db.ExecContext(ctx, "slow")), slow)
}

type quiet struct{}

func (quiet) Print(...any) {}

// resp answers every command but the first ones of a session with the error that its
// argument names.
func resp(t *testing.T) string {
	return suite.Listen(t, func(conn net.Conn) {
		r := bufio.NewReader(conn)
		for {
			args, err := readCommand(r)
			if err != nil {
				return
			}
			answer := "-ERR unknown command '" + harness.Canary + "'\r\n"
			if strings.EqualFold(args[0], "get") {
				switch args[1] {
				case "nil":
					answer = "$-1\r\n"
				case "slow":
					time.Sleep(2 * time.Second)
					return
				default:
					answer = "-" + args[1] + " " + harness.Canary + "\r\n"
				}
			}
			if _, err := io.WriteString(conn, answer); err != nil {
				return
			}
		}
	})
}

func readCommand(r *bufio.Reader) ([]string, error) {
	var n int
	if _, err := fmt.Fscanf(r, "*%d\r\n", &n); err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		var size int
		if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:size])
	}
	return args, nil
}

var redisAnswers = map[string]suite.Told{
	"LOADING": overloaded, "BUSY": overloaded, "CLUSTERDOWN": overloaded, "READONLY": state, "NOAUTH": credentials, "WRONGPASS": credentials, "NOPERM": credentials,
	"WRONGTYPE": rule, "OOM": {Kind: fault.KindServiceUnavailable, Retry: suite.No, Party: suite.Server},
}

func goRedis(t *testing.T, add func(string, error, suite.Told)) {
	open := func(address string) *goredis.Client {
		c := goredis.NewClient(&goredis.Options{Addr: address, MaxRetries: -1, DisableIdentity: true, Protocol: 2, ContextTimeoutEnabled: true, DialerRetries: 1})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	address := resp(t)
	c := open(address)
	for word, want := range redisAnswers {
		add(word, c.Get(t.Context(), word).Err(), want)
	}
	add("no value", c.Get(t.Context(), "nil").Err(), missing)
	add("refused connection", open(suite.Closed(t)).Get(t.Context(), "a").Err(), refused)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	add("time-out", c.Get(ctx, "slow").Err(), slow) // by a connection that stands
	full := goredis.NewClient(&goredis.Options{Addr: address, PoolSize: 1, PoolTimeout: 50 * time.Millisecond, MaxRetries: -1, DisableIdentity: true, Protocol: 2})
	defer full.Close()
	one := full.Conn()
	_ = one.Get(t.Context(), "nil").Err()
	add("pool used up", full.Get(t.Context(), "nil").Err(), overloaded)
	_ = one.Close()
}

func redigo(t *testing.T, add func(string, error, suite.Told)) {
	address := resp(t)
	c, err := redis.Dial("tcp", address)
	require.NoError(t, err)
	defer c.Close()
	for word, want := range redisAnswers {
		add(word, second(c.Do("GET", word)), want)
	}
	add("no value", second(redis.String(c.Do("GET", "nil"))), missing)
	add("refused connection", second(redis.Dial("tcp", suite.Closed(t))), refused)
	add("time-out", second(redis.DoWithTimeout(c, 200*time.Millisecond, "GET", "slow")), slow)
}

// natsGo speaks the protocol as far as a request, to which nobody responds, and the JetStream that is
// behind a key-value store of one key, whose last revision is 7.
func natsGo(t *testing.T, add func(string, error, suite.Told)) {
	const bucket = `{"config":{"name":"KV_b","subjects":["$KV.b.>"],"max_msgs_per_subject":1,"allow_direct":true}}`
	fails := func(code, number int, text string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"err_code":%d,"description":%q}}`, code, number, text)
	}
	address := suite.Listen(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, `INFO {"server_id":"s","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576}`+"\r\n")
		sid := ""
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			words := strings.Fields(lines.Text())
			if len(words) == 0 {
				continue
			}
			switch words[0] {
			case "PING":
				_, _ = io.WriteString(conn, "PONG\r\n")
			case "SUB":
				sid = words[len(words)-1]
			case "PUB", "HPUB":
				status := func(status string) {
					header := "NATS/1.0 " + status + "\r\n\r\n"
					_, _ = fmt.Fprintf(conn, "HMSG %s %s %d %d\r\n%s\r\n", words[2], sid, len(header), len(header), header)
				}
				answer := func(text string) {
					_, _ = fmt.Fprintf(conn, "MSG %s %s %d\r\n%s\r\n", words[2], sid, len(text), text)
				}
				switch subject := words[1]; {
				case subject == "nobody":
					status("503")
				case subject == "$JS.API.STREAM.INFO.KV_b", subject == "$JS.API.STREAM.INFO.OBJ_b":
					answer(strings.ReplaceAll(bucket, "KV", strings.TrimSuffix(strings.TrimPrefix(subject, "$JS.API.STREAM.INFO."), "_b")))
				case strings.HasPrefix(subject, "$JS.API.STREAM.INFO."):
					answer(fails(404, 10059, "stream not found"))
				case strings.HasPrefix(subject, "$JS.API.DIRECT.GET.OBJ_b"), strings.HasPrefix(subject, "$JS.API.DIRECT.GET.KV_b.$KV.b.absent"):
					status("404 Message Not Found")
				case subject == "$KV.b.there":
					answer(fails(400, 10071, "wrong last sequence: 7"))
				case subject == "$KV.b.replicated":
					answer(fails(400, 10164, "wrong last sequence"))
				}
			}
		}
	})
	c, err := nats.Connect("nats://" + address)
	require.NoError(t, err)
	defer c.Close()
	add("no responders", second(c.Request("nobody", nil, time.Minute)), overloaded)
	add("time-out", second(c.Request("slow", nil, 100*time.Millisecond)), slow)
	add("refused connection", second(nats.Connect("nats://"+suite.Closed(t))), refused)

	taken := suite.Told{Kind: fault.KindConflict} // it may be another revision as well
	js, err := jetstream.New(c)
	require.NoError(t, err)
	ctx := t.Context()
	store, err := js.KeyValue(ctx, "b")
	require.NoError(t, err)
	add("no value", second(store.Get(ctx, "absent")), missing)
	add("no bucket", second(js.KeyValue(ctx, "other")), missing)
	add("no stream", second(js.Stream(ctx, "other")), missing)
	add("a key that exists", second(store.Create(ctx, "there", nil)), taken)
	add("another revision", second(store.Update(ctx, "there", nil, 3)), rolledBack)
	add("another revision of a replica", second(store.Update(ctx, "replicated", nil, 3)), rolledBack)
	objects, err := js.ObjectStore(ctx, "b")
	require.NoError(t, err)
	add("no object", second(objects.Get(ctx, "absent")), missing)
	older, err := c.JetStream()
	require.NoError(t, err)
	olderStore, err := older.KeyValue("b")
	require.NoError(t, err)
	add("no value (older interface)", second(olderStore.Get("absent")), missing)
	add("a key that exists (older interface)", second(olderStore.Create("there", nil)), taken)
	add("another revision (older interface)", second(olderStore.Update("there", nil, 3)), rolledBack)
}

func memcached(t *testing.T, add func(string, error, suite.Told)) {
	address := suite.Listen(t, func(conn net.Conn) {
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.Contains(line, "slow"):
				time.Sleep(time.Second)
			case strings.HasPrefix(line, "get"):
				_, _ = io.WriteString(conn, "END\r\n")
			}
		}
	})
	patient, hasty := memcache.New(address), memcache.New(address)
	patient.Timeout, hasty.Timeout = time.Minute, 200*time.Millisecond
	add("no value", second(patient.Get("a")), missing)
	add("time-out", second(hasty.Get("slow")), slowThere)
	add("refused connection", second(memcache.New(suite.Closed(t)).Get("a")), refused)
}

func orm(t *testing.T, add func(string, error, suite.Told)) {
	type project struct {
		ID   int
		Name string `gorm:"unique;not null"`
	}
	db, err := gorm.Open(sqlite.Open(t.TempDir()+"/data.db"), &gorm.Config{Logger: logger.Discard, TranslateError: true})
	require.NoError(t, err)
	require.NoError(t, db.AutoMigrate(&project{}))
	require.NoError(t, db.Create(&project{Name: "a"}).Error)
	add("no row", db.First(&project{}, "name = ?", "b").Error, missing)
	add("duplicate", db.Create(&project{Name: "a"}).Error, duplicate)
	add("wrong statement", db.Exec("SELECT nothing FROM nowhere").Error, statement)
	s, err := db.DB()
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// The following are the libraries' own errors, without a service: their protocols are
// too long for a test.

func sqlServer(t *testing.T, add func(string, error, suite.Told)) {
	for number, want := range map[int32]suite.Told{
		2627: duplicate, 547: rule, 515: wrong, 18456: credentials, 229: credentials, 208: statement, 102: statement, 1205: rolledBack,
		40501: limited, 40613: down, 3906: state,
	} {
		add(fmt.Sprint(number), mssql.Error{Number: number, Message: harness.Canary}, want)
	}
	db, err := sql.Open("sqlserver", "sqlserver://app:x@"+suite.Closed(t)+"?dial+timeout=1&encrypt=disable")
	require.NoError(t, err)
	defer db.Close()
	add("refused connection", db.Ping(), refused)
}

func mongoDB(t *testing.T, add func(string, error, suite.Told)) {
	for code, want := range map[int32]suite.Told{
		11000: duplicate, 121: wrong, 13: credentials, 18: credentials, 26: missing, 112: rolledBack, 50: slowThere, 16500: limited, 10107: down, 89: broken,
	} {
		add(fmt.Sprint(code), mongo.CommandError{Code: code, Message: harness.Canary}, want)
	}
	add("duplicate of a write", mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 11000, Message: harness.Canary}}}, duplicate)
	add("label NetworkError", mongo.CommandError{Message: harness.Canary, Labels: []string{"NetworkError"}}, broken)
	add("label TransientTransactionError", mongo.CommandError{Message: harness.Canary, Labels: []string{"TransientTransactionError"}}, rolledBack)
	add("no document", mongo.ErrNoDocuments, missing)
}

func kafkaGo(t *testing.T, add func(string, error, suite.Told)) {
	for err, want := range map[kafka.Error]suite.Told{
		kafka.UnknownTopicOrPartition: missing, kafka.TopicAlreadyExists: duplicate, kafka.MessageSizeTooLarge: wrong, kafka.TopicAuthorizationFailed: credentials,
		kafka.SASLAuthenticationFailed: credentials, kafka.LeaderNotAvailable: overloaded, kafka.RequestTimedOut: slowThere, kafka.RebalanceInProgress: rolledBack,
	} {
		add(err.Title(), err, want)
	}
	add("refused connection", second(kafka.Dial("tcp", suite.Closed(t))), refused)
}

func rabbit(t *testing.T, add func(string, error, suite.Told)) {
	for code, want := range map[int]suite.Told{
		403: credentials, 404: missing, 405: rolledBack, 320: down,
		406: {Kind: fault.KindPreconditionFailed, Retry: suite.No, Party: suite.Caller},
	} {
		add(fmt.Sprint(code), &amqp.Error{Code: code, Reason: harness.Canary}, want)
	}
	add("refused connection", second(amqp.Dial("amqp://"+suite.Closed(t))), refused)
}
