package classify

import (
	"reflect"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
)

// What databases and brokers say most often.
var (
	wrongData      = refused(fault.KindClientError, reasonConstraint)
	duplicate      = refused(fault.KindAlreadyExists, reasonConstraint)
	brokenRule     = refused(fault.KindConflict, reasonConstraint)
	noCredentials  = refused(fault.KindServerError, reasonCredentials)
	wrongStatement = refused("", reasonStatement)
	badState       = refused("", reasonState)
	rolledBack     = later(fault.KindConflict)
	overloaded     = later(fault.KindServiceUnavailable)
	shutDown       = unsure(fault.KindServiceUnavailable)
	disconnected   = unsure(fault.KindConnectionFailed)
	tooSlow        = unsure(fault.KindTimeout)
	limited        = later(fault.KindRateLimited)
	stopped        = clue{kind: fault.KindCancelled, effect: fault.EffectUnknown}
)

// statement is told where the caller wrote the statement that a database does not accept.
var statement = fault.New(fault.KindClientError, "the database does not accept the statement of this call").
	Suggest("Check its syntax and the names of its tables and columns.")

// sentStatement reports whether the caller sent a statement for a database.
func (w *walker) sentStatement() bool {
	if w.opts.Sent == nil {
		return false
	}
	for _, part := range statements {
		if w.opts.Sent(part) || w.opts.Sent(strings.ToUpper(part)) {
			return true
		}
	}
	return false
}

// statements are words that stand in statements, and hardly in anything else.
var statements = []string{
	"select ", "* from ", "insert into ", "delete from ", "create table ", "drop table ", "alter table ", "create index ", "drop index ", "pragma ",
}

// numbered are the types of errors that hold a number of their service's own, by a part
// of the path of their package and their name.
var numbered = []struct {
	path, name string
	read       func(error) clue
}{
	{"go-sql-driver/mysql", "MySQLError", func(err error) clue {
		if c, ok := mysql[number64(err, "Number")]; ok {
			return c
		}
		if state := field(err, "SQLState"); state.Kind() == reflect.Array && state.Len() == 5 {
			return ofSQLState(stateText(state))
		}
		return clue{}
	}},
	{"go-mssqldb", "Error", func(err error) clue { return sqlServer[number64(err, "Number")] }},
	{"go-mssqldb", "ServerError", func(error) clue { return shutDown }},
	{"ClickHouse", "Exception", func(err error) clue { return clickHouse[number64(err, "Code")] }},
	{"mattn/go-sqlite3", "Error", func(err error) clue {
		if n := number64(err, "ExtendedCode"); n > 0 {
			return ofSQLite(uint64(n))
		}
		return ofSQLite(uint64(max(0, number64(err, "Code"))))
	}},
	{"franz-go/pkg/kerr", "Error", func(err error) clue { return kafka[number64(err, "Code")] }},
	{"segmentio/kafka-go", "Error", func(err error) clue { return kafka[reflect.ValueOf(err).Int()] }},
	{"sarama", "KError", func(err error) clue { return kafka[reflect.ValueOf(err).Int()] }},
	{"rabbitmq/amqp091-go", "Error", func(err error) clue { return amqp[number64(err, "Code")] }},
}

func field(err error, name string) reflect.Value {
	if v := reflect.Indirect(reflect.ValueOf(err)); v.Kind() == reflect.Struct {
		return v.FieldByName(name)
	}
	return reflect.Value{}
}

func number64(err error, name string) int64 { return int64(numberOf(field(err, name))) }

// table spreads a few answers over the numbers that mean them.
func table(groups ...group) map[int64]clue {
	all := map[int64]clue{}
	for _, g := range groups {
		for _, number := range g.numbers {
			all[number] = g.clue
		}
	}
	return all
}

type group struct {
	clue    clue
	numbers []int64
}

var mysql = table(
	group{duplicate, []int64{1007, 1022, 1050, 1062, 1169, 1586}},
	group{brokenRule, []int64{1216, 1217, 1451, 1452, 1557}},
	group{wrongData, []int64{1048, 1264, 1265, 1292, 1364, 1366, 1406, 1411, 1690, 3140, 3819, 4025}},
	group{noCredentials, []int64{1044, 1045, 1095, 1130, 1142, 1143, 1227, 1370, 1410, 1698, 1820}},
	group{wrongStatement, []int64{1046, 1049, 1051, 1052, 1054, 1064, 1109, 1136, 1146, 1149, 1305, 1318}},
	group{rolledBack, []int64{1205, 1213, 1614, 3572}},
	group{overloaded, []int64{1037, 1038, 1040, 1041, 1203}},
	group{limited, []int64{1226}},
	group{later(fault.KindTimeout), []int64{3024, 1969}},
	group{stopped, []int64{1317}},
	group{shutDown, []int64{1053, 1077, 1079}},
	group{disconnected, []int64{1153, 1158, 1159, 1160, 1161, 2006, 2013}},
	group{badState, []int64{1290, 1792, 1836}},
	group{refused(fault.KindServiceUnavailable, reasonStorage), []int64{1021, 1114}},
)

var sqlServer = table(
	group{duplicate, []int64{2601, 2627, 2714, 1801}},
	group{brokenRule, []int64{547}},
	group{wrongData, []int64{220, 241, 242, 245, 248, 295, 515, 2628, 8114, 8115, 8152}},
	group{noCredentials, []int64{229, 230, 262, 297, 300, 916, 4060, 15247, 18452, 18456, 18470, 18486, 18487, 18488}},
	group{wrongStatement, []int64{102, 105, 109, 137, 156, 207, 208, 213, 2812, 4104, 8144, 8145}},
	group{rolledBack, []int64{1204, 1205, 1222, 3960, 41302, 41305, 41325}},
	group{limited, []int64{10928, 10929, 40501, 49918, 49919, 49920}},
	group{overloaded, []int64{701, 802, 8645, 8651, 17809}},
	group{shutDown, []int64{4221, 6005, 17197, 40143, 40197, 40540, 40613}},
	group{badState, []int64{3906}},
	group{refused(fault.KindServiceUnavailable, reasonStorage), []int64{1105, 9002}},
)

var clickHouse = table(
	group{duplicate, []int64{57, 82}},
	group{wrongData, []int64{6, 26, 27, 32, 38, 41, 53, 69, 70, 72, 117, 131, 321, 349, 469}},
	group{noCredentials, []int64{192, 193, 194, 291, 497, 516}},
	group{wrongStatement, []int64{8, 10, 16, 36, 42, 43, 46, 47, 48, 60, 62, 81, 115}},
	group{limited, []int64{201, 202, 252}},
	group{overloaded, []int64{173, 241, 439}},
	group{tooSlow, []int64{159, 160, 209}},
	group{disconnected, []int64{210, 279}},
	group{stopped, []int64{394}},
	group{badState, []int64{164, 242}},
	group{refused(fault.KindServiceUnavailable, reasonStorage), []int64{243}},
)

// mongo is asked in this order, because an error may have several numbers.
var mongo = []group{
	{duplicate, []int64{11000, 11001, 12582, 48}},
	{wrongData, []int64{2, 9, 14, 28, 40, 52, 66, 121, 10334}},
	{refused(fault.KindNotFound, reasonRefused), []int64{26, 43, 27}},
	{noCredentials, []int64{13, 18, 33, 8000}},
	{refused(fault.KindServerError, reasonUnimplemented), []int64{59, 72}},
	{rolledBack, []int64{112, 24, 46, 251}},
	{limited, []int64{16500}},
	{tooSlow, []int64{50, 64, 262}},
	{shutDown, []int64{91, 189, 10107, 11600, 11602, 13435, 13436}},
	{disconnected, []int64{6, 7, 89, 9001}},
	{stopped, []int64{11601}},
	{refused(fault.KindServiceUnavailable, reasonStorage), []int64{14031}},
}

// mongoError is what the errors of the MongoDB driver have in common.
type mongoError interface {
	HasErrorCode(code int) bool
	HasErrorLabel(label string) bool
}

// mongoLabels say what the server knows of a failure, where its number is not known.
var mongoLabels = []struct {
	label string
	clue  clue
}{
	{"NetworkError", disconnected},
	{"UnknownTransactionCommitResult", shutDown},
	{"TransientTransactionError", rolledBack},
	{"RetryableWriteError", shutDown},
}

func ofMongo(e mongoError) clue {
	for _, g := range mongo {
		for _, code := range g.numbers {
			if e.HasErrorCode(int(code)) {
				return g.clue
			}
		}
	}
	for _, l := range mongoLabels {
		if e.HasErrorLabel(l.label) {
			return l.clue
		}
	}
	return clue{}
}

var cassandra = table(
	group{noCredentials, []int64{0x0100, 0x2100}},
	group{overloaded, []int64{0x1000, 0x1002}},
	group{limited, []int64{0x1001}},
	group{tooSlow, []int64{0x1100, 0x1200}},
	group{unsure(fault.KindServerError), []int64{0x0000, 0x1300, 0x1400, 0x1500, 0x1600}},
	group{wrongStatement, []int64{0x2000, 0x2200, 0x2300}},
	group{duplicate, []int64{0x2400}},
	group{overloaded, []int64{0x2500}},
)

var kafka = table(
	group{refused(fault.KindNotFound, reasonRefused), []int64{3, 69, 100}},
	group{duplicate, []int64{36}},
	group{wrongData, []int64{2, 10, 17, 18, 21, 37, 38, 39, 40, 42, 44, 87}},
	group{noCredentials, []int64{29, 30, 31, 33, 34, 53, 54, 58, 65}},
	group{overloaded, []int64{5, 6, 8, 9, 13, 14, 15, 16, 19, 41, 72}},
	group{shutDown, []int64{20}},
	group{tooSlow, []int64{7}},
	group{limited, []int64{89}},
	group{rolledBack, []int64{22, 25, 27, 51, 60}},
	group{refused(fault.KindServerError, reasonUnimplemented), []int64{35, 43, 76}},
	group{refused(fault.KindServiceUnavailable, reasonState), []int64{56}},
)

var amqp = table(
	group{noCredentials, []int64{403}},
	group{refused(fault.KindNotFound, reasonRefused), []int64{312, 313, 402, 404}},
	group{later(fault.KindConflict), []int64{405}},
	group{refused(fault.KindPreconditionFailed, reasonRefused), []int64{406}},
	group{wrongData, []int64{311}},
	group{shutDown, []int64{320, 504, 541}},
	group{overloaded, []int64{506}},
	group{refused(fault.KindServerError, reasonUnimplemented), []int64{501, 502, 503, 505, 530, 540}},
)

// redis are how the answers of a Redis server begin.
var redis = []struct {
	prefix string
	clue   clue
}{
	{"LOADING ", overloaded}, {"BUSY ", overloaded}, {"TRYAGAIN ", overloaded}, {"CLUSTERDOWN ", overloaded}, {"MASTERDOWN ", overloaded},
	{"NOREPLICAS ", overloaded}, {"ERR max number of clients", overloaded}, {"OOM ", refused(fault.KindServiceUnavailable, reasonStorage)},
	{"READONLY ", badState}, {"MISCONF ", badState},
	{"NOAUTH ", noCredentials}, {"WRONGPASS ", noCredentials}, {"NOPERM ", noCredentials}, {"ERR invalid password", noCredentials},
	{"WRONGTYPE ", brokenRule}, {"BUSYGROUP ", duplicate}, {"BUSYKEY ", duplicate}, {"NOGROUP ", refused(fault.KindNotFound, reasonRefused)},
	{"ERR value is not", wrongData}, {"ERR increment or decrement", wrongData}, {"ERR index out of range", wrongData},
	{"ERR no such key", refused(fault.KindNotFound, reasonRefused)},
	{"ERR unknown command", wrongStatement}, {"ERR wrong number of arguments", wrongStatement}, {"ERR syntax error", wrongStatement},
}

func ofRedis(text string) clue {
	for _, r := range redis {
		if strings.HasPrefix(text, r.prefix) {
			return r.clue
		}
	}
	return clue{}
}

// sqlStates are those whose class alone does not tell.
var sqlStates = map[string]clue{
	"08007": disconnected, "40003": disconnected, // nobody knows whether the transaction was committed
	"08001": later(fault.KindConnectionFailed), "08004": later(fault.KindConnectionFailed), // the connection was not made
	"23502": wrongData, "23514": wrongData, // a value that must be there, a value that is checked
	"23505": duplicate,
	"40002": brokenRule,    // an integrity constraint
	"42501": noCredentials, // the right is this server's
	"53100": refused(fault.KindServiceUnavailable, reasonStorage),
	"55P03": rolledBack, "55006": rolledBack, // a lock, an object in use
	"57014": later(fault.KindTimeout),
	"57P01": shutDown, "57P02": shutDown, // in the middle of it
	"57P03": overloaded, // does not accept connections yet
}

var sqlClasses = map[string]clue{
	"08": disconnected,
	"22": wrongData,
	"23": brokenRule, "44": brokenRule,
	"28": noCredentials,
	"40": rolledBack, // serialization, deadlock
	// A bug of this server or of its set-up.
	"42": wrongStatement, "26": wrongStatement, "34": wrongStatement, "3D": wrongStatement, "3F": wrongStatement, "0A": wrongStatement,
	"53": overloaded,
}

// ofSQLState returns what an SQLSTATE means: five characters, of which the first two
// are the class. A statement that the database refused had no effect.
func ofSQLState(state string) clue {
	if len(state) != 5 {
		return clue{}
	}
	if c, ok := sqlStates[state]; ok {
		return c
	}
	return sqlClasses[state[:2]]
}

var sqlite = table(
	group{overloaded, []int64{5, 6, 7}}, // BUSY, LOCKED, NOMEM
	group{wrongStatement, []int64{1, 21, 25}},
	group{badState, []int64{8, 11, 14, 26}}, // READONLY, CORRUPT, CANTOPEN, NOTADB
	group{clue{kind: fault.KindCancelled, effect: fault.EffectNone}, []int64{9}},
	group{clue{party: fault.PartyServer, retry: RetryNo, reason: reasonState, effect: fault.EffectUnknown}, []int64{10}},
	group{refused("", reasonStorage), []int64{13}},
	group{wrongData, []int64{18, 20}}, // TOOBIG, MISMATCH
	group{brokenRule, []int64{19}},
	group{duplicate, []int64{1555, 2067}}, // a primary key, a unique index
)

// ofSQLite returns what a result code of SQLite means, primary or extended. SQLite
// rolls back a statement that fails.
func ofSQLite(code uint64) clue {
	if c, ok := sqlite[int64(code)]; ok { //nolint:gosec // a code is small
		return c
	}
	return sqlite[int64(code&0xff)]
}
