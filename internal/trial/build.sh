#!/bin/sh
# build.sh DIR PROJECT [LABEL] builds what players need for the library in PROJECT: DIR/t, the command, and
# DIR/.priv, into which they must not look. LABEL tells the arms of this library from those of another one.
# A player gets DIR/t, one brief (DIR/brief-N.txt), a fresh context, and nothing else. PLAYERS are their numbers, and
# ARMS their arms, and TASKS what they play: PLAYERS="7 8 9" ARMS=line,whole build.sh DIR PROJECT.
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
project=$(cd "$2" && pwd)
mkdir -p "$dir/.priv/run" "$dir/.priv/log" "$dir/.priv/players" "$dir/.priv/src"
chmod 700 "$dir/.priv"
cp -R "$here/." "$dir/.priv/src"
[ -z "$3" ] || echo "$3" >"$dir/.priv/label"
cd "$dir/.priv/src"
export GOWORK=off
go mod edit -replace "github.com/mcpchain/mcpchain=$project"
go build -trimpath -buildvcs=false -mod=mod -o "$dir/.priv/trial" .
go build -trimpath -buildvcs=false -mod=mod -ldflags='-s -w' -o "$dir/t" ./cmd/t
rm -rf "$dir/.priv/src"
for n in ${PLAYERS:-1 2 3 4 5 6}; do
	"$dir/.priv/trial" assign "$n" "${ARMS:-bare,line,whole}" "${TASKS:-T01,T02,T03,T04,T05,T06,T07,T08,T09,T10,T11,T12}" >"$dir/brief-$n.txt"
done
