package redis

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts so
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpchain/mcpchain/store"
)

// A script is a Lua script that Redis runs as one step.
type script struct{ text, sha string }

func newScript(text string) *script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // Redis names scripts so
	return &script{text, hex.EncodeToString(sum[:])}
}

// run runs the script once. It sends the text only to a Redis that does not know
// it, as after a restart.
func (s *script) run(ctx context.Context, client goredis.UniversalClient, keys []string, args ...any) (any, error) {
	reply, err := s.send(ctx, client, "evalsha", s.sha, keys, args)
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		return s.send(ctx, client, "eval", s.text, keys, args)
	}
	return reply, err
}

func (s *script) send(ctx context.Context, client goredis.UniversalClient, verb, what string, keys []string, args []any) (any, error) {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, verb, what, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := once{goredis.NewCmd(ctx, append(all, args...)...)}
	_ = client.Process(ctx, cmd)
	return cmd.Result()
}

// once is a command that go-redis does not send again by itself: the caller has to find out
// whether the first try took effect.
type once struct{ *goredis.Cmd }

// NoRetry is called by go-redis.
func (once) NoRetry() bool { return true }

// item separates a value from its version.
func (s server) item(operation string, data []byte) (store.Item, error) {
	if len(data) < versionSize {
		return store.Item{}, s.foreign(operation, errors.New("a value has no version, so another program wrote it"))
	}
	return store.Item{
		Value:   data[versionSize:len(data):len(data)],
		Version: store.Version(binary.BigEndian.Uint64(data)),
	}, nil
}

// itemOf is item for the reply of a script, which is nil for an absent key.
func (s server) itemOf(operation string, reply any) (store.Item, error) {
	switch reply := reply.(type) {
	case nil:
		return store.Item{}, nil
	case string:
		return s.item(operation, []byte(reply))
	default:
		return store.Item{}, s.foreign(operation, fmt.Errorf("a script returned a %T", reply))
	}
}

// number returns the reply of a script that is a number.
func (s server) number(operation string, reply any) (int64, error) {
	switch reply := reply.(type) {
	case int64:
		return reply, nil
	case string:
		n, err := strconv.ParseInt(reply, 10, 64)
		if err != nil {
			return 0, s.foreign(operation, err)
		}
		return n, nil
	default:
		return 0, s.foreign(operation, fmt.Errorf("a script returned a %T", reply))
	}
}
