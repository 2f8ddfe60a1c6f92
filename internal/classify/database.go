package classify

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// The meanings that only databases and brokers have codes for.
var (
	duplicate    = refused(fault.KindAlreadyExists, reasonConstraint)
	wrongData    = refused(fault.KindClientError, reasonConstraint)
	missingValue = refused(fault.KindClientError, reasonConstraint).worded(
		"a value that the database requires is missing", "Give every required value.")
	failedCheck = refused(fault.KindClientError, reasonConstraint).worded(
		"a value is not one that the database allows", "Change the values.")
	brokenReference = refused(fault.KindConflict, reasonConstraint).worded(
		"a value refers to an item that does not exist, or something still refers to this item", "Change the value, or what refers to the item.")
	brokenRule = refused(fault.KindConflict, reasonConstraint).worded(
		"the values break a rule of the database", "Change the values.")
	wrongState     = refused(fault.KindConflict, reasonConstraint)
	wrongStatement = refused("", reasonStatement)
	secondObject   = refused("", reasonObject)
	badState       = refused("", reasonState)
	noStorage      = refused(fault.KindServiceUnavailable, reasonStorage)
)

// statement is the fault if the caller itself wrote the statement that a database refused.
var statement = fault.New(fault.KindClientError, "the database does not accept the statement of this call").
	Suggest("Check its syntax and the names of its tables and columns.")

// sentStatement reports whether the caller sent the statement that a database refused. It sent words of a
// statement, or a word that the database quotes, such as a column that does not exist.
func (w *walker) sentStatement() bool {
	sent := w.fromCaller()
	if sent == nil {
		return false
	}
	return slices.ContainsFunc(statements, func(part string) bool { return sent(part) || sent(strings.ToUpper(part)) }) ||
		slices.ContainsFunc(quoted(safe.Error(w.speaker)), sent)
}

const (
	maxQuoted = 8 // how many quotations of a text are looked at
	minQuoted = 3 // in bytes; shorter words are in every request
)

// quoted returns the parts of a text between quotation marks, and the single word at its end, as in
// "no such column: price" of SQLite.
func quoted(text string) (all []string) {
	parts := strings.Split(marks.Replace(text[:min(len(text), maxText)]), `"`)
	for i := 1; i < len(parts)-1 && len(all) < maxQuoted; i += 2 {
		all = append(all, parts[i])
	}
	last, _ := behindLast(text, ": ")
	if last, _, _ = strings.Cut(last, " ("); !strings.Contains(last, " ") {
		all = append(all, last)
	}
	return slices.DeleteFunc(all, func(part string) bool { return len(part) < minQuoted })
}

var marks = strings.NewReplacer("`", `"`, "'", `"`)

// statements are words that are common in statements, and rare elsewhere.
var statements = []string{
	"select ", "* from ", "insert into ", "delete from ", "create table ", "drop table ", "alter table ", "create index ", "drop index ", "pragma ",
}

var mysql = table[int64]{
	{&duplicate, []int64{1007, 1022, 1050, 1062, 1169, 1586}},
	{&brokenReference, []int64{1216, 1217, 1451, 1452, 1557}},
	{&missingValue, []int64{1048, 1364}},
	{&failedCheck, []int64{3819, 4025}},
	{&wrongData, []int64{1264, 1265, 1292, 1366, 1406, 1411, 1690, 3140}},
	{&noCredentials, []int64{1044, 1045, 1095, 1130, 1142, 1143, 1227, 1370, 1410, 1698, 1820}},
	{&wrongStatement, []int64{1046, 1049, 1051, 1052, 1054, 1064, 1109, 1136, 1146, 1149, 1305, 1318}},
	{&rolledBack, []int64{1205, 1213, 1614, 3572}},
	{&unavailable, []int64{1037, 1038, 1040, 1041, 1053, 1077, 1079, 1203}},
	{&limited, []int64{1226}},
	{&tooSlow, []int64{3024, 1969}},
	{&stopped, []int64{1317}},
	{&disconnected, []int64{1153, 1158, 1159, 1160, 1161, 2006, 2013}},
	{&badState, []int64{1290, 1792, 1836}},
	{&noStorage, []int64{1021, 1114}},
}

var sqlServer = table[int64]{
	{&duplicate, []int64{2601, 2627, 2714, 1801}},
	{&brokenRule, []int64{547}},
	{&missingValue, []int64{515}},
	{&wrongData, []int64{220, 241, 242, 245, 248, 295, 2628, 8114, 8115, 8152}},
	{&noCredentials, []int64{229, 230, 262, 297, 300, 916, 4060, 15247, 18452, 18456, 18470, 18486, 18487, 18488}},
	{&wrongStatement, []int64{102, 105, 109, 137, 156, 207, 208, 213, 2812, 4104, 8144, 8145}},
	{&rolledBack, []int64{1204, 1205, 1222, 3960, 41302, 41305, 41325}},
	{&limited, []int64{10928, 10929, 40501, 49918, 49919, 49920}},
	{&unavailable, []int64{701, 802, 4221, 6005, 8645, 8651, 17197, 17809, 40143, 40197, 40540, 40613}},
	{&badState, []int64{3906}},
	{&noStorage, []int64{1105, 9002}},
}

var clickHouse = table[int64]{
	{&duplicate, []int64{57, 82}},
	{&missingValue, []int64{349}},
	{&failedCheck, []int64{469}},
	{&wrongData, []int64{6, 26, 27, 32, 38, 41, 53, 69, 70, 72, 117, 131, 321}},
	{&noCredentials, []int64{192, 193, 194, 291, 497, 516}},
	{&wrongStatement, []int64{8, 10, 16, 36, 42, 43, 46, 47, 48, 60, 62, 81, 115}},
	{&limited, []int64{201, 202, 252}},
	{&unavailable, []int64{173, 241, 439}},
	{&tooSlow, []int64{159, 160, 209}},
	{&disconnected, []int64{210, 279}},
	{&stopped, []int64{394}},
	{&badState, []int64{164, 242}},
	{&noStorage, []int64{243}},
}

var mongo = table[int64]{
	{&duplicate, []int64{11000, 11001, 12582, 48}},
	{&wrongData, []int64{2, 9, 14, 28, 40, 52, 66, 121, 10334}},
	{&missing, []int64{26, 43, 27}},
	{&noCredentials, []int64{13, 18, 33, 8000}},
	{&unimplemented, []int64{59, 72}},
	{&rolledBack, []int64{112, 24, 46, 251}},
	{&limited, []int64{16500}},
	{&tooSlow, []int64{50, 64, 262}},
	{&unavailable, []int64{91, 189, 10107, 11600, 11602, 13435, 13436}},
	{&disconnected, []int64{6, 7, 89, 9001}},
	{&stopped, []int64{11601}},
	{&noStorage, []int64{14031}},
}

var cassandra = table[int64]{
	{&noCredentials, []int64{0x0100, 0x2100}},
	{&unavailable, []int64{0x1000, 0x1002, 0x2500}},
	{&limited, []int64{0x1001}},
	{&tooSlow, []int64{0x1100, 0x1200}},
	{&broken, []int64{0x0000, 0x1300, 0x1400, 0x1500, 0x1600}},
	{&wrongStatement, []int64{0x2000, 0x2200, 0x2300}},
	{&duplicate, []int64{0x2400}},
}

// jetStream has the codes that mean more than the HTTP status beside them. A wrong last sequence
// means either that a key exists or that another client has changed it; another error in the
// chain shows which.
var jetStream = table[int64]{
	{&clue{kind: fault.KindConflict}, []int64{10071, 10164}},
}

var kafka = table[int64]{
	{&missing, []int64{3, 69, 100}},
	{&duplicate, []int64{36}},
	{&wrongData, []int64{2, 10, 17, 18, 21, 37, 38, 39, 40, 42, 44, 87}},
	{&noCredentials, []int64{29, 30, 31, 33, 34, 53, 54, 58, 65}},
	{&unavailable, []int64{5, 6, 8, 9, 14, 15, 16, 19, 20, 41, 72}},
	{&disconnected, []int64{13}}, // NETWORK_EXCEPTION
	{&tooSlow, []int64{7}},
	{&limited, []int64{89}},
	{&rolledBack, []int64{22, 25, 27, 51, 60}},
	{&unimplemented, []int64{35, 43, 76}},
	{&clue{kind: fault.KindServiceUnavailable, party: fault.PartyServer, retry: fault.RetryNo, reason: reasonState}, []int64{56}},
}

var amqp = table[int64]{
	{&noCredentials, []int64{403}},
	{&missing, []int64{312, 313, 402, 404}},
	{&rolledBack, []int64{405}},
	{&unready, []int64{406}},
	{&wrongData, []int64{311}},
	{&unavailable, []int64{320, 504, 506, 541}},
	{&unimplemented, []int64{501, 502, 503, 505, 530, 540}},
}

var sqlite = table[int64]{
	{&unavailable, []int64{5, 6, 7}}, // BUSY, LOCKED, NOMEM
	{&wrongStatement, []int64{1, 21, 25}},
	{&badState, []int64{8, 11, 14, 26}}, // READONLY, CORRUPT, CANTOPEN, NOTADB
	{&clue{kind: fault.KindCancelled}, []int64{9}},
	{&clue{party: fault.PartyServer, retry: fault.RetryNo, reason: reasonState}, []int64{10}},
	{&clue{party: fault.PartyServer, retry: fault.RetryNo, reason: reasonStorage}, []int64{13}},
	{&wrongData, []int64{18, 20}}, // TOOBIG, MISMATCH
	{&brokenRule, []int64{19}},
	{&failedCheck, []int64{275}},
	{&brokenReference, []int64{787}},
	{&missingValue, []int64{1299}},
	{&duplicate, []int64{1555, 2067}}, // a primary key, a unique index
}

func ofSQLite(code int64) clue { return cmp.Or(sqlite.of(code), sqlite.of(code&0xff)) }

// mongoLabels are the labels that the server adds to a failure, for numbers that are unknown.
var mongoLabels = table[string]{
	{&disconnected, []string{"NetworkError"}},
	{&rolledBack, []string{"TransientTransactionError"}},
	{&unavailable, []string{"RetryableWriteError", "UnknownTransactionCommitResult"}},
}

// ofMongo tries the codes in the order of the tables, because an error may have several numbers.
func ofMongo(e interface {
	HasErrorCode(code int) bool
	HasErrorLabel(label string) bool
},
) clue {
	return cmp.Or(mongo.by(func(code int64) bool { return e.HasErrorCode(int(code)) }), mongoLabels.by(e.HasErrorLabel))
}

// redis are the prefixes of its error replies.
var redis = table[string]{
	{&unavailable, []string{
		"LOADING ", "BUSY ", "TRYAGAIN ", "CLUSTERDOWN ", "MASTERDOWN ", "NOREPLICAS ", "ERR max number of clients",
	}},
	{&noStorage, []string{"OOM "}},
	{&badState, []string{"READONLY ", "MISCONF "}},
	{&noCredentials, []string{"NOAUTH ", "WRONGPASS ", "NOPERM ", "ERR invalid password"}},
	{&wrongState, []string{"WRONGTYPE "}},
	{&duplicate, []string{"BUSYGROUP ", "BUSYKEY "}},
	{&missing, []string{"NOGROUP ", "ERR no such key"}},
	{&wrongData, []string{"ERR value is not", "ERR increment or decrement", "ERR index out of range"}},
	{&wrongStatement, []string{"ERR unknown command", "ERR wrong number of arguments", "ERR syntax error"}},
}

func ofRedis(text string) clue {
	return redis.by(func(begin string) bool { return strings.HasPrefix(text, begin) })
}

// sqlStates are the meanings of an SQLSTATE, or of its class, which is its first two characters.
var sqlStates = table[string]{
	{&disconnected, []string{"08", "08007", "40003"}},
	{&unreachable, []string{"08001", "08004"}}, // the connection was not made
	{&wrongData, []string{"22"}},
	{&missingValue, []string{"23502"}},
	{&brokenReference, []string{"23001", "23503"}},
	{&duplicate, []string{"23505"}},
	{&failedCheck, []string{"23514"}},
	{&brokenRule, []string{"23", "40002", "44"}},
	{&badLogin, []string{"28"}},
	{&noCredentials, []string{"42501"}},                                    // the right is this server's
	{&rolledBack, []string{"40", "55006", "55P03"}},                        // serialization, deadlock, an object in use, a lock
	{&secondObject, []string{"42P04", "42P06", "42P07", "42710", "42723"}}, // a database, a schema, a table, a function
	{&wrongStatement, []string{"0A", "26", "34", "3D", "3F", "42"}},        // a bug of this server or of its set-up
	{&noStorage, []string{"53100"}},
	{&tooSlow, []string{"57014"}},
	{&unavailable, []string{"53", "57P01", "57P02", "57P03"}},
}

func ofSQLState(state string) clue {
	if len(state) != 5 {
		return clue{}
	}
	return cmp.Or(sqlStates.of(state), sqlStates.of(state[:2]))
}

// stateIn returns the SQLSTATE that an error has in a method or a field, "" for none.
func stateIn(err error) string {
	if e, ok := err.(interface{ SQLState() string }); ok {
		return e.SQLState()
	}
	if v := reflect.Indirect(reflect.ValueOf(err)); v.Kind() == reflect.Struct {
		if field := v.FieldByName("SQLState"); field.IsValid() {
			return stateOf(field)
		}
	}
	return ""
}

// stateOf returns the SQLSTATE in a text or in five bytes.
func stateOf(v reflect.Value) string {
	if state, ok := reflect.TypeAssert[[5]byte](v); ok {
		return string(state[:])
	}
	return v.String()
}
