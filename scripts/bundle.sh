#!/bin/sh
# Writes an archive with everything that an installation needs without a network: the repository, the locked wheels for this
# interpreter and machine, and the container images, where an engine has them. `sh install.sh` in it installs.
# $1: the archive, by default edbench-VERSION-PYTHON-MACHINE.tar in the current directory. IMAGES=no: without images.
set -eu

python=.venv/bin/python
interpreter="$($python -c 'import sys; print("python%d.%d" % sys.version_info[:2])')"
name="edbench-$($python -c 'import importlib.metadata; print(importlib.metadata.version("edbench"))')-$interpreter-$(uname -m)"
archive="${1:-$name.tar}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
place="$work/$name"
mkdir -p "$place/wheels"

git archive HEAD | tar -x -C "$place"
.venv/bin/uv export --quiet --frozen --all-packages --all-extras --no-dev --no-emit-workspace --no-header \
    --output-file "$work/locked.txt" >/dev/null
# For any patch release of the interpreter: some have conditions such as python_full_version < '3.11.3'.
sed -i "s/python_full_version [<>=]* '[0-9]*\.[0-9]*\.[0-9]*'/python_version >= '3'/" "$work/locked.txt"
for list in "$work/locked.txt" scripts/uv.txt; do
    $python -m pip download --quiet --no-deps --require-hashes --only-binary :all: --dest "$place/wheels" -r "$list"
done
cat >"$place/install.sh" <<END
#!/bin/sh
# Installs edbench here, without a network. PYTHON names the interpreter: another path of $interpreter.
cd "\$(dirname "\$0")" && export PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels EDBENCH_SETUP_OPTIONS=--no-dev EDBENCH_SETUP_PYTHON="\${PYTHON:-$interpreter}"
sh scripts/setup.sh || exit
[ ! -e images.tar ] || docker load --input images.tar || echo "install.sh: no Docker engine answers: the images were not loaded" >&2
END

if [ "${IMAGES:-}" != no ] && docker info >/dev/null 2>&1; then
    images=""
    for image in $(docker compose --profile '*' config --images | sort -u); do
        if docker image inspect "$image" >/dev/null 2>&1; then
            images="$images $image"
        else
            echo "bundle: no image $image here (make up, or docker pull): the archive is without it" >&2
        fi
    done
    # shellcheck disable=SC2086  # a list of names
    [ -z "$images" ] || docker save --output "$place/images.tar" $images
fi
tar -c -f "$archive" -C "$work" "$name"
printf '%s: %s MB; unpack it, then: sh %s/install.sh\n' "$archive" "$(($(wc -c <"$archive") / 1000000))" "$name"
