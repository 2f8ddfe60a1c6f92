package frozen_test

// What the library knew by its number, its code or its text when the corpus was made. These are
// lists of inputs: a new meaning is added here, and none is taken away.

var mysqlNumbers = []int{
	1007, 1021, 1022, 1037, 1038, 1040, 1041, 1044, 1045, 1046, 1048, 1049, 1050, 1051, 1052, 1053, 1054, 1062, 1064, 1077, 1079,
	1095, 1109, 1114, 1130, 1136, 1142, 1143, 1146, 1149, 1153, 1158, 1159, 1160, 1161, 1169, 1203, 1205, 1213, 1216, 1217, 1226,
	1227, 1264, 1265, 1290, 1292, 1305, 1317, 1318, 1364, 1366, 1370, 1406, 1410, 1411, 1451, 1452, 1557, 1586, 1614, 1690, 1698,
	1792, 1820, 1836, 1969, 2006, 2013, 3024, 3140, 3572, 3819, 4025,
}

var sqlServerNumbers = []int{
	102, 105, 109, 137, 156, 207, 208, 213, 220, 229, 230, 241, 242, 245, 248, 262, 295, 297, 300, 515, 547, 701, 802, 916, 1105,
	1204, 1205, 1222, 1801, 2601, 2627, 2628, 2714, 2812, 3906, 3960, 4060, 4104, 4221, 6005, 8114, 8115, 8144, 8145, 8152, 8645,
	8651, 9002, 10928, 10929, 15247, 17197, 17809, 18452, 18456, 18470, 18486, 18487, 18488, 40143, 40197, 40501, 40540, 40613,
	41302, 41305, 41325, 49918, 49919, 49920,
}

var clickHouseNumbers = []int{
	6, 8, 10, 16, 26, 27, 32, 36, 38, 41, 42, 43, 46, 47, 48, 53, 57, 60, 62, 69, 70, 72, 81, 82, 115, 117, 131, 159, 160, 164, 173,
	192, 193, 194, 201, 202, 209, 210, 241, 242, 243, 252, 279, 291, 321, 349, 394, 439, 469, 497, 516,
}

var mongoNumbers = []int{
	2, 6, 7, 9, 13, 14, 18, 24, 26, 27, 28, 33, 40, 43, 46, 48, 50, 52, 59, 64, 66, 72, 89, 91, 112, 121, 189, 251, 262, 8000, 9001,
	10107, 10334, 11000, 11001, 11600, 11601, 11602, 12582, 13435, 13436, 14031, 16500,
}

var cassandraNumbers = []int{
	0, 256, 4096, 4097, 4098, 4352, 4608, 4864, 5120, 5376, 5632, 8192, 8448, 8704, 8960, 9216, 9472,
}

var kafkaNumbers = []int{
	2, 3, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 25, 27, 29, 30, 31, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
	44, 51, 53, 54, 56, 58, 60, 65, 69, 72, 76, 87, 89, 100,
}

var amqpNumbers = []int{
	311, 312, 313, 320, 402, 403, 404, 405, 406, 501, 502, 503, 504, 505, 506, 530, 540, 541,
}

var sqliteNumbers = []int{
	1, 5, 6, 7, 8, 9, 10, 11, 13, 14, 18, 19, 20, 21, 25, 26, 275, 787, 1299, 1555, 2067,
}

var mongoLabels = []string{
	"NetworkError", "UnknownTransactionCommitResult", "TransientTransactionError", "RetryableWriteError",
}

var redisAnswers = []string{
	"LOADING ", "BUSY ", "TRYAGAIN ", "CLUSTERDOWN ", "MASTERDOWN ", "NOREPLICAS ", "ERR max number of clients", "OOM ",
	"READONLY ", "MISCONF ", "NOAUTH ", "WRONGPASS ", "NOPERM ", "ERR invalid password", "WRONGTYPE ", "BUSYGROUP ", "BUSYKEY ",
	"NOGROUP ", "ERR no such key", "ERR value is not", "ERR increment or decrement", "ERR index out of range",
	"ERR unknown command", "ERR wrong number of arguments", "ERR syntax error",
}

var sqlStates = []string{
	"08", "08007", "40003", "08001", "08004", "22", "23502", "23001", "23503", "23505", "23514", "23", "40002", "44", "28", "42501",
	"40", "55006", "55P03", "0A", "26", "34", "3D", "3F", "42", "53100", "57014", "57P01", "57P02", "53", "57P03",
}

var codeWords = []string{
	"badrequest", "baddata", "invalidinput", "invalidargument", "invalidrequest", "jsonerror", "validationerror", "clienterror",
	"execution", "unprocessable", "unauthorized", "unauthenticated", "notauthed", "invalidauth", "tokenexpired", "tokenrevoked",
	"accountinactive", "authenticationfailed", "forbidden", "accessdenied", "permissiondenied", "missingscope",
	"restrictedresource", "notallowedtokentype", "notfound", "objectnotfound", "channelnotfound", "usernotfound",
	"resourcenotfound", "nosuchkey", "nosuchbucket", "conflict", "conflicterror", "alreadyexists", "uniquenesserror", "locked",
	"ratelimited", "ratelimitexceeded", "toomanyrequests", "throttled", "resourceexhausted", "throttling", "requestthrottled",
	"requestlimitexceeded", "provisionedthroughputexceeded", "limitexceeded", "bandwidthlimitexceeded", "priorrequestnotcomplete",
	"slowdown", "ec2throttled", "transactioninprogress", "internal", "internalerror", "internalservererror", "servererror",
	"serviceerror", "unavailable", "serviceunavailable", "timeout",
}

var sentinelTexts = []string{
	"http: server closed idle connection", "tls: use of closed connection", "tls: protocol is shutdown", "conn closed",
	"closed pool", "invalid connection", "bad connection", "nats: connection closed", "circuit breaker open",
	"circuit breaker is open", "bulkhead full", "failure rate exceeded", "redis: connection pool timeout",
	"redigo: connection pool exhausted", "gocql: no hosts available in the pool",
	"clickhouse: acquire conn timeout. you can increase the number of max open conn or the dial timeout",
	"memcache: no servers configured or available", "nats: no responders available for request",
	"etcdclient: no available endpoints", "rate limit exceeded", "too many requests", "timeout exceeded", "nats: timeout",
	"gocql: no response received from cassandra within timeout period", "gocql: no connections were made when creating the session",
	"nats: no servers available for connection", "kafka: client has run out of available brokers to talk to",
	"unable to dial: no broker reachable", "no rows in result set", "record not found", "mongo: no documents in result",
	"redis: nil", "redigo: nil returned", "not found", "Key not found", "memcache: cache miss", "repository not found",
	"reference not found", "object not found", "entry not found", "remote not found", "repository does not exist",
	"remote repository is empty", "duplicated key not allowed", "repository already exists", "violates foreign key constraint",
	"violates check constraint", "non-fast-forward update", "redis: transaction failed", "Transaction Conflict. Please retry",
	"memcache: compare-and-swap conflict", "memcache: item not stored", "nats: Authorization Violation",
	"nats: authorization violation", "authentication required", "authorization failed", "the server is busy, retry later",
	"client does not support elicitation", "client does not support \"form\" elicitation",
	"client does not support \"url\" elicitation", "client does not support CreateMessage",
	"client does not support CreateMessageWithTools",
}

var handshakeTexts = []string{
	"first record does not look like a TLS handshake", "failed to", "server ", "peer ", "no supported versions",
	"handshake failure", "bad certificate", "unsupported certificate", "revoked certificate", "expired certificate",
	"unknown certificate", "certificate required", "access denied", "protocol version not supported", "insufficient security level",
	"inappropriate fallback", "missing extension", "unsupported extension", "unrecognized name", "no application protocol",
	"encrypted client hello required",
}

var statusMarks = []string{
	"tatus code: ", "tatus code ", "statusCode: ", "[HTTP ", "(HTTP ", "http status: ", "client error: ", "server error: ",
	"StatusCode: ", "error code: ",
}
