package classify

import (
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A sort is what a type of error can be asked. It is found out once for a type,
// because asking each error for each of some fifty methods and fields would cost more
// than all the rest.
type sort struct {
	readers []func(error) clue // in the order of their weight
	wraps   bool               // a wrapping of fmt or errors, which says nothing itself
	text    bool               // it has nothing but a text
	public  bool               // it has a method for what a caller may know
	network bool               // io.EOF below it is the end of a connection
}

// sorts remembers by type. Without it each failure would look its types up by
// reflection again, which takes microseconds. A program has a bounded number of types,
// unless it makes them as it goes; those are looked at each time.
var (
	sorts     sync.Map // reflect.Type to *sort
	sortCount atomic.Int32
)

const maxTypes = 4096

var (
	wrapping = &sort{wraps: true}
	plain    = &sort{text: true}
)

func sortOf(err error) *sort {
	t := reflect.TypeOf(err)
	switch t {
	case fmtWrapType, fmtJoinType, joinType:
		return wrapping
	case textType, fmtTextType:
		return plain
	}
	if known, ok := sorts.Load(t); ok {
		return known.(*sort) //nolint:forcetypeassert // nothing else is in there
	}
	found := lookAt(t)
	if sortCount.Load() < maxTypes {
		if _, loaded := sorts.LoadOrStore(t, found); !loaded {
			sortCount.Add(1)
		}
	}
	return found
}

// lookAt finds out what a type can be asked. What it says on purpose comes before
// what a status or a number of it means, and an answer with a header before a status
// alone. No library is imported for it: types that have neither a method nor a field of
// a usual name are known by their own names.
func lookAt(t reflect.Type) *sort {
	named := t
	if t.Kind() == reflect.Pointer {
		named = t.Elem()
	}
	path, name := named.PkgPath(), named.Name()
	s := &sort{
		text:    t.Kind() == reflect.String || name == "errorString" && t.NumMethod() == 1,
		public:  t.Implements(messager) || t.Implements(hinter) || t.Implements(kinder),
		network: path == "net/url" && name == "Error" || t.Implements(reflect.TypeFor[interface{ SafeToRetry() bool }]()) || strings.Contains(path, "mongo-driver"),
	}
	if t == reflect.TypeFor[*ResponseError]() {
		s.readers = []func(error) clue{func(err error) clue { return err.(*ResponseError).said }} //nolint:forcetypeassert // by its type
		return s
	}
	s.add(t, path, name, said)
	for _, n := range numbered {
		if strings.Contains(path, n.path) && n.name == name {
			s.readers = append(s.readers, n.read)
			return s // its fields are no HTTP client's
		}
	}
	s.addCode(t, path)
	s.addStatus(t)
	if f := fieldsOf(named, name); f != nil {
		s.readers = append(s.readers, f.read)
	}
	s.add(t, path, name, answered)
	s.add(t, path, name, docker)
	return s
}

func (s *sort) add(t reflect.Type, path, name string, methods []method) {
	for _, m := range methods {
		if m.path != "" && (!strings.HasPrefix(path, m.path) || m.name != name) || m.has != nil && !t.Implements(m.has) {
			continue
		}
		s.readers = append(s.readers, m.read)
	}
}

// A method is something that types are known by: a method that they have, or, where
// there is a path, the name of the type.
type method struct {
	path, name string
	has        reflect.Type
	mark       bool // having the method says it all
	read       func(error) clue
}

func by[T any](read func(T) clue) method {
	return method{has: reflect.TypeFor[T](), read: func(err error) clue {
		e, _ := err.(T)
		return read(e)
	}}
}

func called(path, name string, read func(error) clue) method {
	return method{path: path, name: name, read: read}
}

func marks[T any](c clue) method {
	return method{has: reflect.TypeFor[T](), mark: true, read: func(error) clue { return c }}
}

// said are the methods and types that speak of a second try on purpose.
var said = []method{
	by(func(e interface{ Effect() fault.Effect }) clue { return clue{effect: effect(e.Effect())} }),
	// It holds the last error only, and one before may have been sent.
	called("github.com/failsafe-go/failsafe-go/retrypolicy", "ExceededError", func(error) clue { return clue{effect: fault.EffectUnknown} }),
	called("github.com/cenkalti/backoff", "PermanentError", func(error) clue { return ofBool(false) }),
	called("github.com/avast/retry-go", "unrecoverableError", func(error) clue { return ofBool(false) }),
	by(func(e interface{ Retryable() bool }) clue { return ofBool(e.Retryable()) }),
	by(func(e interface{ RetryableError() bool }) clue { return ofBool(e.RetryableError()) }), // the AWS SDK
	by(func(e interface{ RetryAfter() time.Duration }) clue { return ofWait(e.RetryAfter()) }),
	called("github.com/cenkalti/backoff", "RetryAfterError", func(err error) clue {
		d, _ := reflect.TypeAssert[time.Duration](reflect.Indirect(reflect.ValueOf(err)).FieldByName("Duration"))
		return ofWait(d)
	}),
	// Only the half of it is believed: pgx v5.12 says so too of a query that was sent
	// and whose connection broke before the answer.
	by(func(e interface{ SafeToRetry() bool }) clue {
		if e.SafeToRetry() {
			return clue{retry: RetryYes}
		}
		return clue{}
	}),
	by(func(e interface{ SQLState() string }) clue { return ofSQLState(e.SQLState()) }),
	by(ofMongo),
	by(func(e interface {
		error
		RedisError()
	}) clue {
		return ofRedis(e.Error())
	}),
	called("github.com/gomodule/redigo/redis", "Error", func(err error) clue { return ofRedis(err.Error()) }),
	by(func(e interface{ Response() *http.Response }) clue {
		if resp := e.Response(); resp != nil {
			return ofResponse(resp.StatusCode, resp.Header, time.Now())
		}
		return clue{}
	}),
}

// answered are the methods that give a status or mark a kind.
var answered = []method{
	by(func(e interface{ StatusCode() int }) clue { return withStatus(e.StatusCode()) }),
	by(func(e interface{ HTTPStatusCode() int }) clue { return withStatus(e.HTTPStatusCode()) }),
	by(func(e interface{ HTTPStatus() int }) clue { return withStatus(e.HTTPStatus()) }),
	by(func(e interface{ HTTPCode() int }) clue { return withStatus(e.HTTPCode()) }),
	by(func(e interface{ Temporary() bool }) clue { return clue{temporary: e.Temporary()} }),
	by(func(e interface{ ErrorCode() string }) clue {
		if throttled[e.ErrorCode()] {
			return clue{kind: fault.KindRateLimited, retry: RetryYes, effect: fault.EffectNone}
		}
		return clue{}
	}),
	// The markers of containerd and moby.
	marks[interface{ InvalidParameter() }](refused(fault.KindClientError, reasonRefused)),
	marks[interface{ NotFound() }](statusClue(http.StatusNotFound)),
	marks[interface{ AlreadyExists() }](refused(fault.KindAlreadyExists, reasonRefused)),
	marks[interface{ Conflict() }](statusClue(http.StatusConflict)),
	marks[interface{ FailedPrecondition() }](statusClue(http.StatusPreconditionFailed)),
	marks[interface{ Unauthorized() }](statusClue(http.StatusUnauthorized)),
	marks[interface{ Forbidden() }](statusClue(http.StatusForbidden)),
	marks[interface{ ResourceExhausted() }](statusClue(http.StatusTooManyRequests)),
	marks[interface{ Unavailable() }](statusClue(http.StatusServiceUnavailable)),
	marks[interface{ NotImplemented() }](statusClue(http.StatusNotImplemented)),
	marks[interface{ System() }](statusClue(http.StatusInternalServerError)),
	marks[interface{ Internal() }](statusClue(http.StatusInternalServerError)),
	marks[interface{ DataLoss() }](statusClue(http.StatusInternalServerError)),
}

var (
	messager = reflect.TypeFor[PublicMessager]()
	hinter   = reflect.TypeFor[PublicHinter]()
	kinder   = reflect.TypeFor[PublicKinder]()
)

// The clients of Docker keep a marker in a field that is not exported, and tell a refused
// connection by a type of its own.
var docker = []method{
	called("github.com/docker/docker/client", "httpError", ofMarker),
	called("github.com/moby/moby/client", "httpError", ofMarker),
	called("github.com/docker/docker/client", "errConnectionFailed", unconnected),
	called("github.com/moby/moby/client", "errConnectionFailed", unconnected),
}

func unconnected(error) clue { return later(fault.KindConnectionFailed) }

func ofMarker(err error) clue {
	marker := field(err, "errdef")
	if !marker.IsValid() || marker.Kind() != reflect.Interface || marker.IsNil() {
		return clue{}
	}
	for _, m := range answered {
		if m.mark && marker.Elem().Type().Implements(m.has) {
			return m.read(err)
		}
	}
	if unexpected := reflect.Indirect(marker.Elem()); unexpected.Kind() == reflect.Struct {
		return withStatus(int(numberOf(unexpected.FieldByName("Status"))))
	}
	return clue{}
}

// isGetter reports whether a method takes nothing and returns one value.
func isGetter(m reflect.Method) bool { return m.Type.NumIn() == 1 && m.Type.NumOut() == 1 }

// addCode adds readers for a method Code whose number has a meaning that its type tells.
// The names of methods are constants, so that the linker may still drop others.
func (s *sort) addCode(t reflect.Type, path string) {
	m, ok := t.MethodByName("Code")
	if !ok || !isGetter(m) {
		return
	}
	out := m.Type.Out(0)
	switch kind := out.Kind(); {
	case path == "connectrpc.com/connect" && kind == reflect.Uint32:
		s.readers = append(s.readers, func(err error) clue {
			if safe.Find(err, func(err error) bool { _, ok := err.(*net.OpError); return ok }) {
				return clue{} // the code is the client's own for a connection, which tells more itself
			}
			c := ofGRPC(codeOf(err))
			if e, ok := err.(interface{ Meta() http.Header }); ok && c.retry == RetryYes {
				c.after = waitOf(e.Meta(), time.Now(), false)
			}
			return c
		})
	case out.PkgPath() == "google.golang.org/grpc/codes":
		s.readers = append(s.readers, func(err error) clue { return ofGRPC(codeOf(err)) })
	case strings.Contains(path, "sqlite") && reflect.Int <= kind && kind <= reflect.Uint64:
		s.readers = append(s.readers, func(err error) clue { return ofSQLite(codeOf(err)) })
	case strings.Contains(path, "gocql") && kind == reflect.Int:
		s.readers = append(s.readers, func(err error) clue { return cassandra[int64(codeOf(err))] }) //nolint:gosec // it came from an int
	}
}

// codeOf returns what the method Code of an error returns, whose type has a name of
// its own in the package of the error.
func codeOf(err error) uint64 {
	v := reflect.ValueOf(err).MethodByName("Code").Call(nil)[0]
	if v.CanInt() {
		return uint64(max(0, v.Int()))
	}
	return v.Uint()
}

// addStatus adds readers for the methods that return a status as a structure: of gRPC
// (GRPCStatus), of Temporal (Status), and of Kubernetes (Status, with fields).
func (s *sort) addStatus(t reflect.Type) {
	if m, ok := t.MethodByName("GRPCStatus"); ok && isGetter(m) && isGRPC(m.Type.Out(0)) {
		s.readers = append(s.readers, func(err error) clue {
			return ofGRPCStatus(reflect.ValueOf(err).MethodByName("GRPCStatus").Call(nil)[0])
		})
	}
	m, ok := t.MethodByName("Status")
	if !ok || !isGetter(m) {
		return
	}
	out := m.Type.Out(0)
	status := func(err error) reflect.Value { return reflect.ValueOf(err).MethodByName("Status").Call(nil)[0] }
	switch kind := out.Kind(); {
	case isGRPC(out):
		s.readers = append(s.readers, func(err error) clue { return ofGRPCStatus(status(err)) })
	case kind == reflect.Struct:
		if f := fieldsOf(out, out.Name()); f != nil {
			s.readers = append(s.readers, func(err error) clue { return f.of(status(err)) })
		}
	case kind == reflect.Int:
		s.readers = append(s.readers, func(err error) clue { return withStatus(int(status(err).Int())) })
	}
}

func isGRPC(t reflect.Type) bool {
	m, ok := t.MethodByName("Code")
	return ok && isGetter(m) && m.Type.Out(0).Kind() == reflect.Uint32
}

// maxDetails bounds what is looked at of the details of a gRPC status, each of which
// is decoded for it.
const maxDetails = 16

// ofGRPCStatus reads the status of a gRPC error. Its type belongs to gRPC, so it is
// asked by the names of its methods.
func ofGRPCStatus(status reflect.Value) clue {
	if status.Kind() == reflect.Pointer && status.IsNil() {
		return clue{}
	}
	c := ofGRPC(status.MethodByName("Code").Call(nil)[0].Uint())
	if m, ok := reflect.TypeAssert[interface{ Message() string }](status); ok {
		switch text := m.Message(); {
		case c.kind == fault.KindRateLimited && strings.Contains(text, "larger than max"):
			// gRPC has one code for a limit of the service and for an answer that this side
			// refused to read, of a call that was carried out.
			return clue{kind: fault.KindServerError, retry: RetryNo, reason: reasonUpstream, effect: fault.EffectUnknown}
		case c.kind == fault.KindServiceUnavailable && strings.HasPrefix(text, "connection error: desc = \"transport: Error while dialing"):
			return later(fault.KindConnectionFailed) // it was not sent
		}
	}
	detailed, ok := reflect.TypeAssert[interface{ Details() []any }](status)
	if !ok || c.retry != RetryYes {
		return c
	}
	details := detailed.Details()
	for _, d := range details[:min(len(details), maxDetails)] {
		if wait := retryDelay(d); wait > 0 {
			c.after = wait
			break
		}
	}
	return c
}

// retryDelay returns the wait of a google.rpc.RetryInfo.
func retryDelay(detail any) time.Duration {
	v := reflect.ValueOf(detail)
	if !v.IsValid() {
		return 0
	}
	m := v.MethodByName("GetRetryDelay")
	if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 {
		return 0
	}
	if d, ok := reflect.TypeAssert[interface{ AsDuration() time.Duration }](m.Call(nil)[0]); ok {
		return bounded(d.AsDuration())
	}
	return 0
}

func ofBool(yes bool) clue {
	if yes {
		return clue{retry: RetryYes}
	}
	return clue{retry: RetryNo, reason: reasonPermanent}
}

func ofWait(d time.Duration) clue {
	if d <= 0 {
		return clue{}
	}
	return clue{retry: RetryYes, after: bounded(d)}
}

// A role is what a field of an error means, by its name and its type.
type role uint8

const (
	noRole role = iota
	isResponse
	isHeader
	isStatus
	isWait
	isReset
	isState
	isWord
	isReasons
	roles // how many there are
)

// statusNames are the fields that hold an HTTP status, where they hold a number from
// 400 to 599, the surest first.
var statusNames = []string{"statuscode", "httpstatuscode", "httpstatus", "httpcode", "status", "code"}

// fields are the places of the fields of a type that follow a convention.
type fields struct {
	at      [roles][][]int
	limited bool // the type's name says that a limit was reached
}

// maxDepth bounds how far structures in structures are looked at.
const maxDepth = 3

func fieldsOf(t reflect.Type, name string) *fields {
	if t.Kind() != reflect.Struct || t.PkgPath() == "net/textproto" { // which has the codes of mail
		return nil
	}
	f := &fields{limited: strings.Contains(name, "RateLimit") || strings.Contains(name, "TooManyRequests") || strings.Contains(name, "Throttl")}
	ranks := map[string][]int{}
	f.scan(t, nil, ranks)
	for _, name := range statusNames {
		if index, ok := ranks[name]; ok {
			f.at[isStatus] = append(f.at[isStatus], index)
		}
	}
	for _, places := range f.at {
		if len(places) > 0 {
			return f
		}
	}
	if f.limited {
		return f
	}
	return nil
}

func (f *fields) scan(t reflect.Type, at []int, statuses map[string][]int) {
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() && !(field.Anonymous && field.Type.Kind() == reflect.Struct) {
			continue
		}
		index := append(append(make([]int, 0, len(at)+1), at...), i)
		name := strings.ToLower(strings.ReplaceAll(field.Name, "_", ""))
		switch r := roleOf(name, field.Type); r {
		case noRole:
			if inner := structOf(field.Type); inner != nil && len(at) < maxDepth && (field.Anonymous || holders[name]) {
				f.scan(inner, index, statuses)
			}
		case isStatus:
			if _, ok := statuses[name]; !ok {
				statuses[name] = index
			}
		default:
			f.at[r] = append(f.at[r], index)
		}
	}
}

// holders are the fields that hold a structure with more such fields.
var holders = map[string]bool{
	"response": true, "rawresponse": true, "httpresponse": true, "responseerror": true, "errorresponse": true,
	"rate": true, "ratelimit": true, "responseparameters": true, "parameters": true, "details": true,
}

func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == timeType {
		return nil
	}
	return t
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	responseType = reflect.TypeFor[*http.Response]()
	headerType   = reflect.TypeFor[http.Header]()
)

func roleOf(name string, t reflect.Type) role {
	target := t
	if t.Kind() == reflect.Pointer {
		target = t.Elem()
	}
	kind := target.Kind()
	number := reflect.Int <= kind && kind <= reflect.Uint64 || kind == reflect.Float64
	switch t {
	case responseType:
		return isResponse
	case headerType:
		return isHeader
	}
	switch name {
	case "statuscode", "httpstatuscode", "httpstatus", "httpcode", "status", "code":
		switch {
		case number && target != durationType && (name != "code" || target.PkgPath() == ""), kind == reflect.String && name != "code":
			return isStatus
		case kind == reflect.String:
			return isWord
		}
	case "errorcode", "type", "err":
		if kind == reflect.String {
			return isWord
		}
	case "retryafter", "retryafterseconds", "retryaftersecs", "retryaftersec":
		if number || target == timeType {
			return isWait
		}
	case "reset", "resetat", "resettime", "ratelimitreset":
		if number || structOf(t) != nil || target == timeType {
			return isReset
		}
	case "sqlstate":
		if kind == reflect.String || t.Kind() == reflect.Array && t.Len() == 5 {
			return isState
		}
	case "errors":
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
			if r, ok := t.Elem().FieldByName("Reason"); ok && r.Type.Kind() == reflect.String {
				return isReasons
			}
		}
	}
	return noRole
}

func (f *fields) read(err error) clue {
	c := f.of(reflect.ValueOf(err))
	if c.status == 0 && (c.kind == fault.KindClientError || c.kind == fault.KindServerError) {
		// Prometheus has a word for all of 4xx and another for 5xx, and the status in the text.
		if said := ofWholeText(err.Error()); said.status != 0 {
			return said
		}
	}
	return c
}

// of reads the fields of one error.
func (f *fields) of(v reflect.Value) (c clue) {
	if v = reflect.Indirect(v); !v.IsValid() {
		return clue{}
	}
	now := time.Now()
	var h http.Header
	if headers := f.first(v, isHeader); headers.IsValid() {
		h, _ = reflect.TypeAssert[http.Header](headers)
	}
	status := f.status(v)
	if response := f.first(v, isResponse); response.IsValid() {
		if resp, ok := reflect.TypeAssert[*http.Response](response); ok && resp != nil && isFailure(resp.StatusCode) { //nolint:bodyclose // it is its owner's
			status, h = resp.StatusCode, resp.Header
		}
	}
	wait := f.wait(v, now)
	switch limited := wait > 0 || f.limited || f.overQuota(v); {
	case isFailure(status):
		c = ofResponse(status, h, now)
		if limited && (status == http.StatusForbidden || status == http.StatusTooManyRequests) {
			after := c.after
			c = later(fault.KindRateLimited)
			c.status, c.after = status, after
		}
		if c.retry == RetryYes && c.after == 0 {
			c.after = wait
		}
		if status == http.StatusBadRequest {
			c.retry, c.reason = RetryUnknown, "" // see withStatus
		}
		return c
	case f.limited:
		c = later(fault.KindRateLimited)
		c.after = wait
		return c
	case wait > 0:
		return ofWait(wait)
	}
	if state := f.first(v, isState); state.IsValid() {
		if c = ofSQLState(stateText(state)); c != (clue{}) {
			return c
		}
	}
	for _, index := range f.at[isWord] {
		if word := at(v, index); word.IsValid() {
			if c = ofWord(word.String()); c != (clue{}) {
				return c
			}
		}
	}
	return clue{}
}

func stateText(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return v.String()
	}
	var b [5]byte
	for i := range b {
		b[i] = byte(v.Index(i).Uint()) //nolint:gosec // the element is a byte
	}
	return string(b[:])
}

// first returns the first field of a role that is there.
func (f *fields) first(v reflect.Value, r role) reflect.Value {
	for _, index := range f.at[r] {
		if found := at(v, index); found.IsValid() && !found.IsZero() {
			return found
		}
	}
	return reflect.Value{}
}

// at returns a field, without the pointer that it may be.
func at(v reflect.Value, index []int) reflect.Value {
	found, err := v.FieldByIndexErr(index)
	if err != nil {
		return reflect.Value{} // below a nil pointer
	}
	if found.Kind() == reflect.Pointer && found.Type() != responseType {
		return found.Elem()
	}
	return found
}

func (f *fields) status(v reflect.Value) int {
	for _, index := range f.at[isStatus] {
		if status := int(numberOf(at(v, index))); isFailure(status) {
			return status
		}
	}
	return 0
}

// numberOf returns a number, of a text the three digits that it begins with.
func numberOf(v reflect.Value) float64 {
	switch {
	case !v.IsValid():
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.CanFloat():
		return v.Float()
	case v.Kind() == reflect.String:
		if text := v.String(); len(text) == 3 || len(text) > 3 && text[3] == ' ' {
			n, _ := strconv.Atoi(text[:3])
			return float64(n)
		}
	}
	return 0
}

func (f *fields) wait(v reflect.Value, now time.Time) time.Duration {
	for _, index := range f.at[isWait] {
		field := at(v, index)
		if d, ok := durationOf(field, now); ok {
			return d
		}
		if d := seconds(numberOf(field)); d > 0 {
			return d
		}
	}
	for _, index := range f.at[isReset] {
		field := at(v, index)
		if d, ok := durationOf(field, now); ok {
			return d
		}
		if n := numberOf(field); n > 0 {
			return resetValue(strconv.FormatInt(int64(n), 10), now)
		}
	}
	return 0
}

// durationOf reads a duration, or a point in time or a structure around one.
func durationOf(v reflect.Value, now time.Time) (time.Duration, bool) {
	if !v.IsValid() {
		return 0, false
	}
	if v.Type() == durationType {
		return bounded(time.Duration(v.Int())), v.Int() > 0
	}
	if v.Kind() == reflect.Struct && v.Type() != timeType && v.NumField() > 0 {
		v = v.Field(0)
	}
	if at, ok := reflect.TypeAssert[time.Time](v); ok && !at.IsZero() {
		d := bounded(at.Sub(now))
		return d, d > 0
	}
	return 0, false
}

// overQuota reports whether the reasons that came with the status tell of a limit, as
// Google's do.
func (f *fields) overQuota(v reflect.Value) bool {
	list := f.first(v, isReasons)
	if !list.IsValid() {
		return false
	}
	for i := range min(list.Len(), maxDetails) {
		reason := strings.ToLower(list.Index(i).FieldByName("Reason").String())
		if strings.Contains(reason, "ratelimit") || strings.Contains(reason, "quota") {
			return true
		}
	}
	return false
}

// timedOut reports whether an error says that it is one of a time limit.
func timedOut(err error) bool {
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}
