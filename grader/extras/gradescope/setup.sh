#!/usr/bin/env bash
# Gradescope runs this once, when it builds the image. Choose a base image with Python 3.11 or later, or Ubuntu 22.04.
set -euo pipefail

cd "${AUTOGRADER_ROOT:-/autograder}/source"
apt-get update -q
apt-get install -y -q --no-install-recommends python3 python3-venv libseccomp2 bubblewrap

python=python3
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  apt-get install -y -q --no-install-recommends python3.11 python3.11-venv
  python=python3.11
fi

# As `make setup` does it: torch by itself, for the CPU, then the rest as it is locked.
"$python" -m venv .venv
.venv/bin/python -m pip install --quiet --index-url https://download.pytorch.org/whl/cpu "torch==2.13.0"
.venv/bin/python -m pip install --quiet -c requirements.lock -e ".[grader]"
