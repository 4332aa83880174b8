# One image in three roles: controller, queue_manager, worker. See docker-compose.yml for how each is started.
#
# The base image is an argument, so that a site with a registry of its own can name another Debian-like image with
# Python 3.11 and venv. No step needs BuildKit.
ARG EDBENCH_PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${EDBENCH_PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
RUN python3 -m venv /opt/edbench
COPY requirements.lock ./
RUN /opt/edbench/bin/pip install --quiet --require-hashes --only-binary :all: -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY core core
COPY traces traces
COPY production production
COPY replay replay
COPY sql sql
COPY monitoring monitoring
COPY dataset_gen dataset_gen
COPY queue_manager queue_manager
COPY worker worker
COPY controller controller
COPY experiments experiments
COPY web web
COPY cli cli
COPY packages packages
# What only tests and checks need goes again, and so does pip: nothing is installed in a running container.
RUN /opt/edbench/bin/pip install --quiet --no-deps --no-build-isolation . ./packages/*/ \
 && /opt/edbench/bin/pip uninstall --quiet --yes pytest pytest-xdist hypothesis ruff mypy mypy-extensions execnet \
      pyarrow-stubs lxml-stubs types-psycopg2 types-reportlab types-psutil setuptools \
      odfdo vobject tinytag py7zr multivolumefile pyppmd pycryptodomex brotli texttable olefile xlrd \
      msoffcrypto-tool python-oxmsg tnefparse compressed-rtf \
 && /opt/edbench/bin/python -m compileall -q /opt/edbench/lib \
 && /opt/edbench/bin/pip uninstall --quiet --yes pip

FROM ${EDBENCH_PYTHON_IMAGE}
ARG EDBENCH_VERSION=unknown
LABEL org.opencontainers.image.title="edbench" org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${EDBENCH_VERSION}"
# The library behind RAR, cabinets, ar and cpio wants libexpat, which Debian's Python brings along and python:*-slim does
# not. fio is for `edbench bench storage`. Tesseract is for `--ocr`: more languages are more packages
# (EDBENCH_OCR_LANGUAGES="eng deu chi-sim"). All come before our own files, so that a change of those does not fetch them again.
ARG EDBENCH_OCR_LANGUAGES=eng
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends libexpat1 tesseract-ocr fio \
      $(for language in $EDBENCH_OCR_LANGUAGES; do echo "tesseract-ocr-$language"; done) \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/edbench /opt/edbench
ENV PATH=/opt/edbench/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    EDBENCH_SCRATCH=/scratch HOME=/scratch MPLCONFIGDIR=/tmp/matplotlib
# Better to hear here than in a job that one of them does not load.
RUN python -c "from readers.archives.libarchive.library import library; library(); from worker.ocr.engine import find_engine; find_engine(); from readers.registry import all_handlers; all_handlers()"
# Scratch is open to any user, because the one that may write on the filer differs from site to site.
RUN mkdir /scratch && chmod 1777 /scratch
USER 1000:1000
WORKDIR /scratch
CMD ["python", "-m", "worker"]
