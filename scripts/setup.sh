#!/bin/sh
# Makes .venv in the current directory from the lock file. Does nothing when it is there and up to date.
# EDBENCH_SETUP_PYTHON (`make setup PYTHON=…`) names the interpreter; otherwise the first supported one that is found.
# EDBENCH_SETUP_OPTIONS=--no-dev is satisfied by a .venv with all packages, too.
set -eu

# CONTRIBUTING.md, "Supported interpreters": the tests run on both ends.
least="3.11" most="3.14"
wanted="${EDBENCH_SETUP_PYTHON:-}"
[ "$wanted" != .venv/bin/python ] || wanted=""
options="${EDBENCH_SETUP_OPTIONS:-}" # of `uv export`: --no-dev leaves out what only development needs
stamp=.venv/.complete
scripts="${0%/*}"

fail() {
    printf 'setup: %s\n' "$1" >&2
    exit 1
}

# What .venv depends on: these files, and where we are (a virtual environment cannot be moved).
state() {
    cksum uv.lock pyproject.toml packages/*/pyproject.toml 2>/dev/null || true
    pwd -P
}

# Once, and not by every process where Python may not write bytecode.
compile_ours() {
    .venv/bin/python -c 'import compileall, tomllib
named = tomllib.load(open("pyproject.toml", "rb"))["tool"]["uv"]["build-backend"]["module-name"]
for name in [*named, "packages"]: compileall.compile_dir(name, quiet=2)' || true
    { state && printf '%s\n' "$options"; } >"$stamp"
}

# Whether .venv was made from the present files with these options or with all packages.
made() {
    [ -f "$stamp" ] && [ "$(state)" = "$(sed '$d' "$stamp")" ] || return 1
    had="$(tail -n 1 "$stamp")"
    [ -z "$had" ] || [ "$had" = "$options" ] || return 1
    options="$had"
}

# Whether a source is newer than what was compiled, as after a pull.
sources_changed() {
    [ -n "$(find . -name '.?*' -prune -o -name '*.py' -newer "$stamp" -print 2>/dev/null | head -n 1)" ]
}

supported() {
    "$1" -c 'import sys
least, most = (tuple(map(int, given.split("."))) for given in sys.argv[1:])
good = least <= sys.version_info[:2] <= most and sys.implementation.name == "cpython"
sys.exit(not good or not getattr(sys, "_is_gil_enabled", lambda: True)())' "$least" "$most" 2>/dev/null
}

find_python() {
    for candidate in ${wanted:-python3 python3.13 python3.12 python3.11 python3.14}; do
        if command -v "$candidate" >/dev/null 2>&1 && supported "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    found="$("${wanted:-python3}" --version 2>/dev/null || true)"
    fail "CPython $least to $most is required; ${wanted:-python3} is ${found:-not installed}. Install one of them, or name it: make setup PYTHON=/path/to/python3"
}

# Whether .venv runs and is of the interpreter that was asked for.
venv_fits() {
    supported .venv/bin/python || return 1
    [ -z "$wanted" ] || [ "$(.venv/bin/python -V)" = "$("$wanted" -V 2>&1)" ]
}

# pip keeps its cache and looks for its configuration under HOME; without a usable one it does without.
if [ -z "${HOME:-}" ] || [ ! -d "$HOME" ] || [ ! -w "$HOME" ]; then
    HOME="$(pwd -P)/.venv"
    export HOME
    [ -n "${PIP_CACHE_DIR:-}" ] || export PIP_NO_CACHE_DIR=1
    [ -n "${UV_CACHE_DIR:-}" ] || export UV_NO_CACHE=1
fi
unset PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX || true
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

[ -f uv.lock ] || fail "uv.lock is not here; run make in the repository"
if made && { [ -z "$wanted" ] || venv_fits; }; then
    ! sources_changed || compile_ours
    exit 0
fi

python="$(find_python)"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "$python has no module venv; on Debian and Ubuntu: apt install python3-venv"
[ -w . ] || fail "$(pwd -P) is not writable; clone the repository somewhere that is"

printf 'Setting up .venv with %s (once; a minute or two)\n' "$("$python" --version)"
# A virtual environment that was made here and works is updated; any other is replaced.
here="$(pwd -P)/.venv"
if ! grep -qF -e "VIRTUAL_ENV=\"$here\"" -e "VIRTUAL_ENV='$here'" -e "VIRTUAL_ENV=$here" .venv/bin/activate 2>/dev/null ||
    ! venv_fits || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    rm -rf .venv
    "$python" -m venv .venv || fail "could not make .venv; on Debian and Ubuntu: apt install python3-venv"
fi
# shellcheck disable=SC2086  # a list of options of `uv export`
sh "$scripts/packages.sh" .venv .venv --all-extras $options ||
    fail "the packages of uv.lock could not be installed (see above); is the package index reachable?"
.venv/bin/uv pip install --quiet --no-deps --python .venv $(printf -- '-e %s ' . packages/*/) ||
    fail "edbench itself could not be installed (see above)"
compile_ours
