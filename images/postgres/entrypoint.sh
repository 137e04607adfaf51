#!/bin/sh
# Makes the database on the first start, then becomes the server. Settings as in the well-known image: POSTGRES_USER, POSTGRES_DB,
# POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE, PGDATA. TLS where POSTGRES_TLS_CERT and POSTGRES_TLS_KEY name files. What is given as
# arguments goes to the server.
set -eu
: "${PGDATA:=/data/pgdata}" "${POSTGRES_USER:=postgres}"
: "${POSTGRES_DB:=$POSTGRES_USER}"
export PGDATA

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then read -r password < "$POSTGRES_PASSWORD_FILE" || true; else password=${POSTGRES_PASSWORD:-}; fi
  [ -n "${password:-}" ] || { echo "POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE is needed to make the database" >&2; exit 1; }
  # A first start that was killed half way leaves a folder that the server would take for a database: only a finished one gets the name.
  half="$PGDATA.half"
  rm -rf "$half" "$PGDATA"
  mkdir -p "$(dirname "$PGDATA")"
  printf '%s\n' "$password" | initdb -D "$half" -U "$POSTGRES_USER" --pwfile=/dev/stdin -A scram-sha-256 -E UTF8 --locale=C --no-instructions >&2
  echo 'host all all all scram-sha-256' >> "$half/pg_hba.conf"
  if [ "$POSTGRES_DB" != postgres ]; then
    printf 'CREATE DATABASE "%s" OWNER "%s";\n' "$POSTGRES_DB" "$POSTGRES_USER" | postgres --single -D "$half" postgres > /dev/null
  fi
  mv "$half" "$PGDATA"
fi

set -- -c listen_addresses='*' -c unix_socket_directories=/run/postgresql -c jit=off "$@"
if [ -n "${POSTGRES_TLS_CERT:-}" ]; then set -- -c ssl=on -c ssl_cert_file="$POSTGRES_TLS_CERT" -c ssl_key_file="$POSTGRES_TLS_KEY" "$@"; fi
exec postgres "$@"
