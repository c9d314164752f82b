#!/bin/sh
# What the official image does with the variables that the compose file sets: a cluster is made once, with one role and
# one database, by a server that nobody reaches from outside; then the command runs.
set -eu
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  : "${POSTGRES_PASSWORD:?POSTGRES_PASSWORD is not set}"
  secret=$(mktemp)
  printf '%s' "$POSTGRES_PASSWORD" > "$secret"
  mkdir -p -m 0700 "$PGDATA"
  initdb --pgdata="$PGDATA" --username="${POSTGRES_USER:=postgres}" --pwfile="$secret" --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
  rm "$secret"
  printf 'host all all all scram-sha-256\n' >> "$PGDATA/pg_hba.conf"
  pg_ctl --pgdata="$PGDATA" --wait --options="-c listen_addresses='' -c unix_socket_directories=/tmp" start
  [ "${POSTGRES_DB:=$POSTGRES_USER}" = postgres ] ||
    PGPASSWORD=$POSTGRES_PASSWORD createdb --host=/tmp --username="$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl --pgdata="$PGDATA" --wait --mode=fast stop
fi
[ "$1" != postgres ] || set -- "$@" -c listen_addresses='*' -c unix_socket_directories=/run/postgresql
exec "$@"
