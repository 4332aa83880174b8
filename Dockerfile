# One image in three roles: controller, queue_manager, worker. See docker-compose.yml for how each is started.
#
# The base image is an argument, so that a site with a registry of its own can name another Debian-like image with Python 3.11
# or newer and venv. No step needs BuildKit.
ARG EDBENCH_PYTHON_IMAGE=python:3.13-slim-trixie

FROM ${EDBENCH_PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore UV_NO_CACHE=1
WORKDIR /build
RUN python3 -m venv /opt/uv && python3 -m venv --without-pip /opt/edbench
# The controller needs these extras; an image of workers alone can do without.
ARG EDBENCH_EXTRAS="corpus s3"
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY scripts/packages.sh scripts/uv.txt scripts/
COPY packages/readers/pyproject.toml packages/readers/
COPY packages/review/pyproject.toml packages/review/
COPY packages/production/pyproject.toml packages/production/
COPY packages/storage_tests/pyproject.toml packages/storage_tests/
COPY packages/simulate/pyproject.toml packages/simulate/
COPY packages/replay/pyproject.toml packages/replay/
RUN sh scripts/packages.sh /opt/uv /opt/edbench --no-dev $(for extra in $EDBENCH_EXTRAS; do echo "--extra $extra"; done)
COPY packages packages
COPY core core
COPY search search
COPY traces traces
COPY sql sql
COPY monitoring monitoring
COPY dataset_gen dataset_gen
COPY queue_manager queue_manager
COPY worker worker
COPY controller controller
COPY experiments experiments
COPY web web
COPY cli cli
RUN /opt/uv/bin/uv pip install --quiet --no-deps --compile-bytecode --python /opt/edbench . ./packages/*/

FROM ${EDBENCH_PYTHON_IMAGE}
ARG EDBENCH_VERSION=unknown
LABEL org.opencontainers.image.title="edbench" org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${EDBENCH_VERSION}"
# libmagic1 identifies rare file types. The library behind RAR, cabinets, ar and cpio wants libexpat, which Debian's Python brings
# along and python:*-slim does not. fio is for `edbench bench storage`. Tesseract is for `--ocr`: more languages are more packages
# (EDBENCH_OCR_LANGUAGES="eng deu chi-sim"). LibreOffice (EDBENCH_WITH_OFFICE=1) makes page images of office documents; it is half
# a gigabyte. All come before our own files, so that a change of those does not fetch them again.
ARG EDBENCH_OCR_LANGUAGES=eng
ARG EDBENCH_WITH_OFFICE=
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends libmagic1 libexpat1 tesseract-ocr fio \
      $(for language in $EDBENCH_OCR_LANGUAGES; do echo "tesseract-ocr-$language"; done) \
      $(case $EDBENCH_WITH_OFFICE in ''|0) ;; *) echo libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui fonts-liberation fonts-dejavu-core ;; esac) \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/edbench /opt/edbench
ENV PATH=/opt/edbench/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    EDBENCH_SCRATCH=/scratch HOME=/scratch MPLCONFIGDIR=/tmp/matplotlib
# Better to hear here than in a job that one of them does not load.
RUN python -c "from readers.archives.libarchive import library; library(); from worker.ocr.tesseract import find_engine; find_engine(); from readers.registry import all_handlers; all_handlers(); from readers.identification import libmagic; assert 'system' in libmagic.found()"
# Scratch is open to any user, because the one that may write on the filer differs from site to site.
RUN mkdir /scratch && chmod 1777 /scratch
USER 1000:1000
WORKDIR /scratch
CMD ["python", "-m", "worker"]
