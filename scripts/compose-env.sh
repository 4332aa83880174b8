#!/bin/sh
# Writes .env for docker-compose.yml if it is not there: the shared directory, the user that the containers work as, and
# that commands on the host are to reach databases and broker. No secret is in it: the containers make those up. Settings
# in the environment are written as they are. Of an .env that is there it changes nothing but, where DATABASES is 1 or 2,
# the two lines that say how many database servers are to run, and adds the ports for commands on the host where an
# earlier version wrote none.
# $1 names another file than .env.
set -eu
umask 077

file="${1:-.env}"
definition=docker-compose.yml:docker-compose.host.yml
fail() {
    printf 'compose-env: %s\n' "$1" >&2
    exit 1
}

# A value as Compose reads it back, whatever is in it.
quoted() {
    case $1 in *\'*) fail "$1 holds a quotation mark, which .env cannot; choose another place" ;; esac
    printf "'%s'" "$1"
}

# Profiles without scale-out, with it where there are to be two servers.
set_databases() {
    case ${DATABASES:-} in '') return ;; 1 | 2) ;; *) fail "DATABASES is $DATABASES; it can be 1 or 2, for more see docs/containers.md" ;; esac
    profiles="$(sed -n 's/^COMPOSE_PROFILES=//p' "$file" | tr , '\n' | grep -vx scale-out | paste -sd, -)"
    sed '/^COMPOSE_PROFILES=/d; /^EDBENCH_SCALE_OUT=/d' "$file" >"$file.new"
    if [ "$DATABASES" = 2 ]; then
        profiles="${profiles:+$profiles,}scale-out"
        printf 'EDBENCH_SCALE_OUT=1\n' >>"$file.new"
    fi
    [ -z "$profiles" ] || printf 'COMPOSE_PROFILES=%s\n' "$profiles" >>"$file.new"
    mv "$file.new" "$file"
}

if [ -e "$file" ]; then
    grep -q '^COMPOSE_FILE=' "$file" || printf 'COMPOSE_FILE=%s\n' "$definition" >>"$file"
    set_databases
    exit 0
fi

shared="${EDBENCH_SHARED:-$(pwd -P)/edbench-shared}"
type="${EDBENCH_SHARED_TYPE:-none}"
uid="${EDBENCH_UID:-$(id -u)}"
gid="${EDBENCH_GID:-$(id -g)}"

if [ "$type" = none ]; then
    case $shared in /*) ;; *) fail "EDBENCH_SHARED is $shared; give an absolute path" ;; esac
    made=""
    [ -d "$shared" ] || made=yes
    (umask 022 && mkdir -p "$shared") || fail "$shared cannot be made; set EDBENCH_SHARED to a directory on the filer"
    # Containers do not work as root: as the owner of the directory, or as 1000 where that is root too.
    if [ "$uid" = 0 ]; then
        [ -z "$made" ] || chown 1000:1000 "$shared"
        uid="$(stat -c %u "$shared")"
        gid="$(stat -c %g "$shared")"
        [ "$uid" != 0 ] || fail "$shared belongs to root, and containers do not work as root: chown 1000:1000 $shared"
    fi
elif [ "$uid" = 0 ]; then
    uid=1000
    gid=1000
fi

{
    printf '# Written by make up; .env.example explains every setting.\n'
    printf 'EDBENCH_SHARED=%s\n' "$(quoted "$shared")"
    printf 'EDBENCH_SHARED_TYPE=%s\n' "$type"
    [ -z "${EDBENCH_SHARED_OPTIONS:-}" ] || printf 'EDBENCH_SHARED_OPTIONS=%s\n' "$(quoted "$EDBENCH_SHARED_OPTIONS")"
    [ -z "${EDBENCH_MOUNT:-}" ] || printf 'EDBENCH_MOUNT=%s\n' "$(quoted "$EDBENCH_MOUNT")"
    printf 'EDBENCH_UID=%s\n' "$uid"
    printf 'EDBENCH_GID=%s\n' "$gid"
    [ -z "${EDBENCH_EVIDENCE:-}" ] || printf 'EDBENCH_EVIDENCE=%s\n' "$(quoted "$EDBENCH_EVIDENCE")"
    [ -z "${EDBENCH_TOKEN:-}" ] || printf 'EDBENCH_TOKEN=%s\n' "$EDBENCH_TOKEN"
    printf 'COMPOSE_FILE=%s\n' "$definition"
} >"$file.new"
mv "$file.new" "$file"
set_databases
printf 'Wrote %s: shared directory %s, user %s:%s\n' "$file" "$shared" "$uid" "$gid"
