#!/bin/sh
# Makes the database on the first start, brings its roles up to date on each, then becomes the server. Settings: POSTGRES_USER and
# POSTGRES_PASSWORD_FILE (the owner of the database), POSTGRES_DB, POSTGRES_ROLES (further roles that may sign in, as
# "name:password-file name:password-file"), PGDATA, POSTGRES_INITDB_ARGS. TLS where POSTGRES_TLS_CERT and POSTGRES_TLS_KEY name files. What is given as
# arguments goes to the server.
# No role that signs in over the network is a superuser. The superuser `postgres` has no password: it is for `psql -U postgres` in this container.
set -eu
: "${PGDATA:=/data/pgdata}" "${POSTGRES_USER:=probeyard}" "${POSTGRES_ROLES:=}" "${POSTGRES_ROLES_SQL:=/usr/share/probeyard}"
: "${POSTGRES_DB:=$POSTGRES_USER}"
export PGDATA
[ -n "${POSTGRES_PASSWORD_FILE:-}" ] || { echo "POSTGRES_PASSWORD_FILE is needed: the owner's password" >&2; exit 1; }
[ "$POSTGRES_USER" != postgres ] || { echo "POSTGRES_USER must not be postgres: that is the superuser" >&2; exit 1; }

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # A first start that was killed half way leaves a folder that the server would take for a database: only a finished one gets the name.
  half="$PGDATA.half"
  rm -rf "$half" "$PGDATA"
  mkdir -p "$(dirname "$PGDATA")"
  # shellcheck disable=SC2086 -- a list of arguments
  initdb ${POSTGRES_INITDB_ARGS:-} -D "$half" -U postgres --auth-local=peer --auth-host=scram-sha-256 -E UTF8 --locale=C --no-instructions >&2
  printf 'CREATE DATABASE "%s";\n' "$POSTGRES_DB" | postgres --single -D "$half" postgres > /dev/null
  mv "$half" "$PGDATA"
fi
# Where the volume has another owner or mode, the kubelet lets the group write (fsGroup), and the server refuses such a folder. If the folder itself
# belongs to another user, the server says so.
chmod g-w,o= "$PGDATA" || :

printf '%s\n' 'local all postgres peer' 'host all postgres all reject' 'local all all scram-sha-256' 'host all all all scram-sha-256' > "$PGDATA/pg_hba.conf"
# Single-user mode goes on after an error and exits with 0: the script ends with a line that says whether all of it was done.
said=$(postgres --single -j -D "$PGDATA" -c log_min_messages=error -c probeyard.owner="$POSTGRES_USER" -c probeyard.database="$POSTGRES_DB" \
  -c probeyard.roles="$POSTGRES_USER:$POSTGRES_PASSWORD_FILE $POSTGRES_ROLES" "$POSTGRES_DB" < "$POSTGRES_ROLES_SQL/roles.sql")
case $said in *"roles.sql is done"*) ;; *) echo "roles.sql failed" >&2; exit 1 ;; esac

set -- -c listen_addresses='*' -c unix_socket_directories=/run/postgresql -c jit=off "$@"
if [ -n "${POSTGRES_TLS_CERT:-}" ]; then set -- -c ssl=on -c ssl_cert_file="$POSTGRES_TLS_CERT" -c ssl_key_file="$POSTGRES_TLS_KEY" "$@"; fi
exec postgres "$@"
