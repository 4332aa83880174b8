#!/bin/sh
# Installs the packages of uv.lock into the virtual environment $2, with the uv of scripts/uv.txt, which is installed into the
# virtual environment $1 (the same or another one). The other arguments are options of `uv export`, such as --no-dev.
# `uv sync` takes files from the addresses that are in the lock and from no other place. Here every index can serve them, as
# that of a company, or a directory without any network (`make bundle`); hashes are checked in any case.
set -eu

uv="$1/bin/uv" target="$2" scripts="${0%/*}"
shift 2

# Pass a setting of pip to uv, which does not read them: $1 is uv's variable, $2 pip's, $3 its name in pip's configuration files
# (`pip config get` does not find those of [global]).
pass() {
    [ -z "$(printenv "$1")" ] || return 0
    value="$(printenv "$2" || printf '%s\n' "$configured" | sed -n "s/^global\\.$3='\\(.*\\)'\$/\\1/p")"
    [ -z "$value" ] || export "$1=$value"
}

"${uv%/uv}/python" -m pip install --quiet --require-hashes --only-binary :all: --no-deps -r "$scripts/uv.txt"
configured="$("${uv%/uv}/python" -m pip config list 2>/dev/null || true)"
pass UV_DEFAULT_INDEX PIP_INDEX_URL index-url
pass UV_INDEX PIP_EXTRA_INDEX_URL extra-index-url
pass UV_FIND_LINKS PIP_FIND_LINKS find-links
pass SSL_CERT_FILE PIP_CERT cert
pass NO_INDEX PIP_NO_INDEX no-index # uv has an option only
[ -d "${UV_FIND_LINKS:-/}" ] || unset UV_FIND_LINKS

"$uv" export --quiet --frozen --all-packages --no-emit-workspace --no-header --output-file "$target/requirements.txt" "$@" \
    >/dev/null
"$uv" pip sync --quiet --python "$target" --require-hashes --only-binary :all: --compile-bytecode ${NO_INDEX:+--no-index} \
    "$target/requirements.txt"
