#!/bin/sh
# Writes .env for docker-compose.yml if there is none: the shared directory, and the user that the containers run as. No secret is in it: the containers generate those. Settings in the
# environment are written as they are. An existing .env is not changed. $1 names another file than .env.
set -eu
umask 077

file="${1:-.env}"
[ ! -e "$file" ] || exit 0

fail() {
    printf 'compose-env: %s\n' "$1" >&2
    exit 1
}

# A value as Compose reads it back: in double quotes it replaces variables and takes a backslash from what follows it.
quoted() {
    printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"$]/\\&/g')"
}

shared="${EDBENCH_SHARED:-$(pwd -P)/edbench-shared}"
type="${EDBENCH_SHARED_TYPE:-none}"
uid="${EDBENCH_UID:-$(id -u)}"
gid="${EDBENCH_GID:-$(id -g)}"

if [ "$type" = none ]; then
    case $shared in /*) ;; *) fail "EDBENCH_SHARED is $shared; give an absolute path" ;; esac
    # A directory that the user named is never created: where the filer is not mounted, its mount point would be measured.
    if [ -z "${EDBENCH_SHARED:-}" ] && [ ! -d "$shared" ]; then
        (umask 022 && mkdir -p "$shared") || fail "$shared cannot be created; set EDBENCH_SHARED to a directory on the filer"
        [ "$uid" != 0 ] || chown 1000:1000 "$shared"
    fi
    [ -d "$shared" ] || fail "$shared does not exist. Mount the filer: mount -t nfs SERVER:/EXPORT $shared; or use a local directory: mkdir -p $shared"
    if [ "$uid" = 0 ]; then
        uid="$(stat -c %u "$shared")"
        gid="$(stat -c %g "$shared")"
    fi
elif [ -z "${EDBENCH_MOUNT:-}" ]; then
    fail "EDBENCH_SHARED_TYPE is $type; set EDBENCH_MOUNT to the path that containers see the export at"
fi
# Containers do not run as root. Whether this user can write to the directory, the service `storage` checks as that user.
if [ "$uid" = 0 ]; then
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
} >"$file.new"
mv "$file.new" "$file"
printf 'Wrote %s: shared directory %s, user %s:%s\n' "$file" "$shared" "$uid" "$gid"
