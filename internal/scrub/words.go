package scrub

import "strings"

var (
	// queryNames are secrets as a parameter of a URL, and ordinary words elsewhere.
	queryNames = set("key sig signature code sid session x-amz-signature x-goog-signature key-pair-id")
	// weakNames need more than a colon and a blank to be taken for a name.
	weakNames = set("auth pass pin otp jwt bearer")
	// fileTypes end what is a file rather than a name, when a colon follows.
	fileTypes = set("go py js ts jsx tsx mjs java kt rs rb c h cpp cs php sh sql txt md html css json yaml yml toml ini conf cfg env xml csv log pem crt pdf")
	// noWords are no value at all.
	noWords = set("nil null none undefined true false empty blank unset")
	// plainWords begin what is said about a secret rather than being one: "token: invalid", "get secret: dial tcp ...",
	// "use --token to log in", {"password": "must have 8 characters"}. A password that is one of them is not hidden.
	plainWords = set(`is are was were be been must should shall can cannot can't could would will may might has have had needs need
		not no none nil null undefined true false empty blank unset missing required optional invalid valid expired revoked
		unknown unexpected expected wrong incorrect malformed unsupported unauthorized unauthenticated forbidden denied rejected
		refused failed failure error too to and or of for from in on at as by with without if when
		unable please see check got received context dial open read write lookup eof unexpected signature permission connection
		connect timeout deadline json http https x509 tls net sql pq rpc parse parsing decode decoding validate exec string
		str int integer number bool boolean object array list file flag option argument parameter value field bytes any type
		default set provided given found length format example e.g only already exists does did do hidden masked omitted enabled disabled yes ok`)
	// privateSchemes are the ones of databases, queues and directories.
	privateSchemes = set(`postgres postgresql mysql mysqlx mariadb mongodb redis rediss valkey valkeys amqp amqps jdbc sqlserver mssql oracle
	clickhouse cockroachdb cassandra neo4j bolt nats kafka ldap ldaps smtp smtps memcached couchbase snowflake`)
	// routeRoots begin a route or a JSON pointer, and no path.
	routeRoots = set("api rest graphql oauth oauth2 rpc mcp properties definitions $defs items paths components")
)

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
