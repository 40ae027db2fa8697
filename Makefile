# Every target does its own set-up: a machine needs only make and Python 3.11 to 3.14 with its venv module.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.locked
PEERS := .venv-peers
PEERS_STAMP := $(PEERS)/.locked
SPARKS := spark35 spark40
SEED ?= 1
# Three for two cores: many tests wait for a while for what a job does at an interval.
WORKERS = $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 1) * 3 // 2)')
# The installed one, else one that is unpacked from Debian's package.
VALGRIND = $(or $(shell command -v valgrind),build/valgrind/usr/bin/valgrind)
# The tests are compiled once, not in each run and process.
unexport PYTHONDONTWRITEBYTECODE
ON_SPARK := (spark or standalone) and not soak
SLOW := slow and not spark and not standalone and not soak
QUICK := not spark and not standalone and not slow and not soak

.DEFAULT_GOAL := help
.PHONY: help venv native lock quick lint python314 wheels test demo joined payments nexmark figures bench instructions peers sim sim-20000 sim-rescales kafka-histories mutants pure sanitized sanitized-module fuzz soak soak-long soak-memory soak-records soak-chaos pictures docs site $(SPARKS) clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP) ## make .venv from the lock files (done again only when they change)

$(STAMP): requirements/build.lock requirements/dev.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "headgate needs Python 3.11 to 3.14, but '$(PYTHON)' is not on the PATH: install it, or run make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' || { echo "headgate needs Python 3.11 to 3.14, but '$(PYTHON)' is $$($(PYTHON) -V 2>&1): run make PYTHON=python3.12, for instance" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "'$(PYTHON)' lacks the venv module: install it (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-build-isolation -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Built again when its sources change. Without a compiler everything runs in Python.
NATIVE := $(wildcard native/*.[ch])
BUILD_EXT = $(BIN)/python -W ignore -c "import sys; from setuptools import setup; setup(script_args=['-q', 'build_ext', '--force', *sys.argv[1:]])"
CAN_COMPILE = command -v $${CC:-cc} >/dev/null && test -f "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h"
build/native: $(STAMP) $(NATIVE)
	@mkdir -p build && rm -rf build/lib.* src/headgate/_native.*.so
	@$(BUILD_EXT) --inplace
	@$(CAN_COMPILE) || { touch $@; exit 0; }; $(BIN)/python -c "import headgate._native" && touch $@

native: build/native ## build the compiled module, where there is a C compiler

# Universal: one file for every platform and Python from 3.11 on. Needs uv, which nothing else here does.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header
lock: ## write the lock files anew from pyproject.toml (needs uv)
	$(LOCK) --group build -o requirements/build.lock
	$(LOCK) --group peers -o requirements/peers.lock
	for spark in $(SPARKS); do $(LOCK) pyproject.toml --extra spark --group build --group $$spark -o requirements/$$spark.lock || exit; done
	$(LOCK) pyproject.toml --extra spark --extra rocksdb --extra kafka --extra avro --extra postgres --extra delta --extra testing --group dev -o requirements/dev.lock

quick: build/native ## lint, types, import rules and every test that starts no JVM (about a minute on two cores)
	@$(MAKE) --no-print-directory --jobs --output-sync=target lint $(foreach n,$(shell seq $(WORKERS)),quick-tests-$(n))

lint: $(STAMP) ## format, lint and types, which quick checks too
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(wildcard src tests bench examples docs)

# Every so-manieth file each: a process collects only what it runs, and sends no results. Workers of xdist took a third
# longer. Files that are slow as a whole are not even imported.
QUICK_FILES := { find tests -name 'test_*.py'; grep -rl --include='*.py' '>>> ' src tests; } | sort -u | xargs grep -LE '^pytestmark = .*(slow|soak|spark|standalone)'
quick-tests-%: build/native
	@$(BIN)/python -m pytest -q -m "$(QUICK)" $$($(QUICK_FILES) | awk 'NR % $(WORKERS) == $* - 1')

# The JVMs of tests start, and run a first query, in half of the processor time when they read their classes from it.
JAVA_CLASSES := build/spark-classes.jsa build/kafka-classes.jsa
$(JAVA_CLASSES): build/%-classes.jsa: $(STAMP)
	@mkdir -p build
	@$(BIN)/python -m tests.$(if $(filter spark,$*),cluster,$*).java_classes $(CURDIR)/$@ >$(@:.jsa=.log) 2>&1 || echo "there is no archive of Java classes, and JVMs start slowly: see $(@:.jsa=.log)"

# Elsewhere no helper marks a test: each process imports what it may run, and not the other three quarters.
SLOW_FILES = tests/simulation tests/scenarios $$(grep -rl --include='test_*.py' --exclude-dir=simulation --exclude-dir=scenarios --exclude-dir=cluster 'mark\.slow' tests)
SPARK_FILES = $$(grep -rlE --include='test_*.py' 'mark\.(spark|standalone)' tests)
test: quick $(JAVA_CLASSES) ## quick, then the rest: Spark, standalone clusters, slow tests (about ten minutes)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile -m "$(SLOW)" $(SLOW_FILES)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile -m "$(ON_SPARK)" $(SPARK_FILES)

demo: build/native ## flight delays on Spark, with a worker killed on the way
	$(BIN)/python examples/flights/demo.py $(DEMO_ARGS)

joined: build/native ## late flights, joined in Spark SQL with their aircraft, as a stream and as a batch job
	$(BIN)/python examples/flights/joined.py

payments: build/native ## payments from Kafka to Kafka and PostgreSQL on a Spark cluster: processes killed, rules changed, rescaled
	$(BIN)/python examples/payments/payments_demo.py $(PAYMENTS_ARGS)

nexmark: build/native ## the queries of Nexmark on Spark, as streams with a worker killed and as batches, against Spark SQL
	$(BIN)/python examples/nexmark/run.py $(NEXMARK_ARGS)

figures: build/native ## events in a second of CPU time by query of Nexmark, beside Spark's, and Flink's after make peers; into docs/internals/nexmark.md
	$(BIN)/python examples/nexmark/measure.py $(FIGURES_ARGS)

bench: build/native ## measure against the bare Python loop, and PyFlink and Bytewax after make peers (CHECK=1: fail below the promised figures)
	$(BIN)/python -m bench $(if $(CHECK),--check)

instructions: build/native $(filter build/%,$(VALGRIND)) ## count instructions a record and fail above the committed figures (RECORD=1: write them anew)
	$(BIN)/python -m bench.instructions --valgrind $(VALGRIND) $(if $(RECORD),--record)

NO_VALGRIND := counting instructions needs valgrind: install it (on Debian and Ubuntu: apt-get install valgrind)
build/valgrind/usr/bin/valgrind:
	@mkdir -p build
	@cd build && apt-get download --quiet valgrind && dpkg -x valgrind_*.deb valgrind || { echo "$(NO_VALGRIND)" >&2; exit 1; }

peers: $(PEERS_STAMP) ## PyFlink with its Kafka connector, and Bytewax, for what compares with them: make bench and figures, python -m tests.peers (needs Java and Maven)

$(PEERS_STAMP): requirements/build.lock requirements/peers.lock bench/peers/pom.xml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' || { echo "PyFlink 2.3 needs Python 3.11 or 3.12 here, but '$(PYTHON)' is $$($(PYTHON) -V 2>&1): run make peers PYTHON=python3.12, for instance" >&2; exit 1; }
	@command -v mvn >/dev/null || { echo "the Kafka connector of PyFlink is fetched by Maven: install it (on Debian: apt-get install maven)" >&2; exit 1; }
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.lock
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/peers.lock
	mvn -q -B -f bench/peers/pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$(PEERS)/jars
	@touch $@

sim: build/native ## one simulated run with faults: make sim SEED=7
	$(BIN)/python -m tests.simulation --seed $(SEED)

sim-rescales: build/native ## jobs that change their parallelism while they run, over ten thousand times, result into docs/results
	$(BIN)/python -m tests.simulation --rescaled --seeds 12000 --jobs 2 --out docs/results/sim-rescales.txt

sim-20000: build/native ## twenty thousand simulated runs, result into docs/results
	$(BIN)/python -m tests.simulation --seeds 20000 --jobs 2 --out docs/results/sim-20000.txt

kafka-histories: build/native ## a thousand short jobs into Kafka under faults, and what consumers saw of them, result into docs/results (an hour; needs Java and Maven)
	$(BIN)/python -m tests.kafka.histories --histories 1000 --jobs 4 --out docs/results/kafka-histories.txt

mutants: build/native ## small changes of the cores that some test has to notice, result into docs/results (an hour and a half)
	$(BIN)/python -m tests.mutants --sample 160 --seed $(SEED) --out docs/results/mutants.txt

spark35: ## a job of each kind, and the programs of the documentation, on Spark 3.5, the oldest there is
spark40: ## a job of each kind on Spark 4.0, the oldest with Python data sources; make test has the newest
$(SPARKS): export PYTHONPATH = $(CURDIR)/src
$(SPARKS): export SPARK_SUBMIT_OPTS = -XX:TieredStopAtLevel=1
$(SPARKS): %: .venv-%/.locked
	.venv-$@/bin/python -m tests.cluster.job_kinds
	$(if $(filter spark35,$@),.venv-$@/bin/python -m tests.docs.on_spark)

.venv-spark%/.locked: requirements/build.lock requirements/spark%.lock
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.lock
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-build-isolation -r requirements/spark$*.lock
	@touch $@

# That of the command line or the environment, else the one on the PATH.
PYTHON314 ?= $(shell python3.14 -c 'import sys; print(sys.executable)' 2>/dev/null)
python314: BIN := .venv-314/bin
python314: $(if $(PYTHON314),.venv-314/.locked) ## the quick tests that the version of Python can change, on 3.14 (PYTHON314=..., else the one on the PATH; without either it says so)
ifneq ($(PYTHON314),)
	$(BIN)/python -W ignore -c "from setuptools import setup; setup(script_args=['-q', 'build_ext', '--inplace'])"
	PYTHONPATH=$(CURDIR)/src $(BIN)/python -m pytest -q -n $(WORKERS) -m "$(QUICK)" $(wildcard tests/unit/test_native*.py) $(addprefix tests/unit/,types state operators dataflow runtime deploy) tests/docs/test_code_blocks.py
else
	@echo "no test ran on Python 3.14: python3.14 is not on the PATH; install it, or run make python314 PYTHON314=/path/to/python3.14"
endif

# Most of it is not imported here: compiling it all took four times as long as the rest.
.venv-314/.locked: requirements/build.lock requirements/dev.lock
	$(PYTHON314) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.lock
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes --no-build-isolation -r requirements/dev.lock
	@touch $@

soak: build/native $(JAVA_CLASSES) ## the demo, and half a minute of killed and frozen processes, as tests
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile -m "soak and not long"

soak-long: build/native $(JAVA_CLASSES) ## what takes longer than a change should wait for, among it a random search for examples that break a property
	HEADGATE_SEARCH=1 $(BIN)/python -m pytest -q -n $(WORKERS) -m "hypothesis and not spark and not standalone and not soak"
	$(BIN)/python -m pytest -q -m long

soak-chaos: build/native ## ten minutes of killed and frozen processes on a standalone Spark
	$(BIN)/python -m tests.cluster.chaos --minutes 10 --out docs/results/chaos-10min.txt

soak-memory: build/native ## memory of a slot over twenty minutes
	$(BIN)/python -m bench.memory

soak-records: build/native ## memory and references over ten million records of compiled jobs, result into docs/results (some minutes)
	$(BIN)/python -m bench.growth --out docs/results/growth-10m.txt

pictures: build/native ## draw the pictures of the web page in docs/images anew, in a real browser
	HEADGATE_PICTURES=1 $(BIN)/python -m pytest -q tests/browser/test_pictures.py

pure: build/native ## the quick tests of what is compiled, in Python alone
	HEADGATE_NATIVE=off $(BIN)/python -m pytest -q -n $(WORKERS) -m "$(QUICK)" tests/unit/operators tests/unit/types tests/unit/dataflow tests/unit/state tests/property tests/scenarios tests/simulation

# A copy of the sources with a module of its own. Leaks are counted by a test: Python keeps much to the end.
SANITIZED := build/sanitized
SANITIZED_PYTHON := LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc PYTHONPATH=$(SANITIZED) $(BIN)/python
sanitized-module: $(STAMP)
	rm -rf $(SANITIZED) && mkdir -p build && cp -r src $(SANITIZED) && rm -f $(SANITIZED)/headgate/_native.*.so
	CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1 -g" $(BUILD_EXT) --build-lib $(SANITIZED) --build-temp $(SANITIZED)/objects

sanitized: sanitized-module ## the tests of the compiled module and of all operators under AddressSanitizer and UndefinedBehaviorSanitizer (needs gcc)
	$(SANITIZED_PYTHON) -m pytest -q -n $(WORKERS) tests/unit/test_native.py tests/unit/types tests/unit/operators tests/unit/dataflow tests/unit/state/kinds tests/unit/state/rocksdb/test_compiled_rows.py tests/unit/state/test_key_columns.py

fuzz: sanitized-module ## an hour of damaged batches for both readers of typed batches, under the same sanitisers, result into docs/results
	$(SANITIZED_PYTHON) -m tests.typed_batches --minutes 60 --out docs/results/typed-batches.txt

wheels: $(STAMP) ## the wheel of this platform and the sdist into dist/, each installed and tried in an empty environment (needs a C compiler)
	@$(BIN)/python -m tests.wheels --into dist

docs: build/native ## write the generated pages of docs/ anew
	$(BIN)/python -m docs.generate

site: $(STAMP) ## build the site of docs/ into build/site; a link that leads nowhere fails
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html docs build/site
	@echo "open build/site/index.html"

clean: ## remove the virtual environment, caches and build output
	rm -rf $(VENV) $(PEERS) $(SPARKS:%=.venv-%) .venv-314 build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse bench/out
	rm -f src/headgate/_native.*.so
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
