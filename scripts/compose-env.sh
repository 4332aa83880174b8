#!/bin/sh
# Writes .env for docker-compose.yml if there is none: the shared directory, the user that the containers run as, and the
# ports of databases and broker for commands on the host. No secret is in it: the containers generate those. Settings in the
# environment are written as they are. In an existing .env it changes nothing but, where DATABASES is 1 or 2, the two lines
# that set how many database servers run, and adds the ports for commands on the host where an earlier version wrote none.
# It ends with one line where the shared directory does not exist.
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

# A setting as Compose takes it: from the environment, else from the file.
setting() {
    value="$(printenv "$1" || sed -n "s/^$1=//p" "$file" 2>/dev/null | tail -n 1 | sed "s/^'\(.*\)'\$/\1/")"
    printf '%s' "$value"
}

# A directory that somebody named is never created here: where the filer is not mounted, its mount point would be measured.
check_shared() {
    shared="$(setting EDBENCH_SHARED)"
    type="$(setting EDBENCH_SHARED_TYPE)"
    if [ "${type:-none}" = none ]; then
        [ -z "$shared" ] || [ -d "$shared" ] || fail "$shared does not exist. Mount the filer: mount -t nfs SERVER:/EXPORT $shared; or use a local directory: mkdir -p $shared && chown $(setting EDBENCH_UID):$(setting EDBENCH_GID) $shared"
    else
        [ -n "$(setting EDBENCH_MOUNT)" ] || fail "EDBENCH_SHARED_TYPE is $type; set EDBENCH_MOUNT to the path that containers see the export at"
    fi
}

if [ -e "$file" ]; then
    check_shared
    grep -q '^COMPOSE_FILE=' "$file" || printf 'COMPOSE_FILE=%s\n' "$definition" >>"$file"
    set_databases
    exit 0
fi

shared="${EDBENCH_SHARED:-$(pwd -P)/edbench-shared}"
type="${EDBENCH_SHARED_TYPE:-none}"
[ "$type" = none ] || check_shared
uid="${EDBENCH_UID:-$(id -u)}"
gid="${EDBENCH_GID:-$(id -g)}"

if [ "$type" = none ]; then
    case $shared in /*) ;; *) fail "EDBENCH_SHARED is $shared; give an absolute path" ;; esac
    made=""
    if [ -z "${EDBENCH_SHARED:-}" ] && [ ! -d "$shared" ]; then
        made=yes
        (umask 022 && mkdir -p "$shared") || fail "$shared cannot be created; set EDBENCH_SHARED to a directory on the filer"
    fi
    [ -d "$shared" ] || fail "$shared does not exist. Mount the filer: mount -t nfs SERVER:/EXPORT $shared; or use a local directory: mkdir -p $shared && chown $([ "$uid" = 0 ] && echo 1000:1000 || echo "$uid:$gid") $shared"
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
