# Everything here works in a fresh clone with Rust, a C compiler and Python 3.11 or newer.
# Tools come from the package index into .tools/ and .venv/; nothing outside the checkout changes.

UV_VERSION := 0.13.9
CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python
PYTHON     ?= $(shell for p in $(CANDIDATES); do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && \
	$$p -c 'import sys; print(sys.executable)' && break; done)

# crates/oracle compiles libutp, the reference of our uTP, for the tests beside it.
CXX_FOUND := $(shell command -v $(firstword $(CXX)) 2>/dev/null)
CRATES    := --workspace $(if $(CXX_FOUND),,--exclude flashcrowd-oracle)

# A link that leads nowhere is an error.
RUSTDOC := RUSTDOCFLAGS="-D warnings" cargo doc $(CRATES) --exclude flashcrowd-oracle --no-deps --locked --quiet

UV  := .tools/bin/uv
BIN := .venv/bin

export UV_PYTHON := $(PYTHON)
export UV_PYTHON_DOWNLOADS := never
# So that no command compiles what it imports, not even the first.
export UV_COMPILE_BYTECODE := 1
export UV_PROJECT_ENVIRONMENT := .venv
# `dev` shares its crates with `cargo test`, and checks assertions and overflows (.ci/run).
CORE_PROFILE ?= release
# An allocator that asks for huge pages, which make compiles; a plain `pip install` goes without (crates/python/Cargo.toml).
CORE_FEATURES ?= huge-pages
export MATURIN_PEP517_ARGS := --profile $(CORE_PROFILE) $(CORE_FEATURES:%=--features %)
unexport VIRTUAL_ENV
unexport PYTHONPATH
unexport PYTHONDONTWRITEBYTECODE

# Three for each core, as tests also wait: for programs, sockets, time (tests/conftest.py); two where they are held
# against the clock.
CORES   := $(or $(shell "$(PYTHON)" -c 'import os; print(os.cpu_count() or 1)' 2>/dev/null),1)
WORKERS := $(shell echo $$((3 * $(CORES))))

# Folders of tests are in memory where it has 4 GB for them; those of failed tests stay.
IN_MEMORY = $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 == "tmpfs" && $$4 > 4000000 { print "PYTEST_DEBUG_TEMPROOT=/dev/shm" }')

# What is held against the clock comes before everything else on the machine.
CLOCKED := clocked or kernel
# In front of a command that takes only the time that nothing else wants.
YIELDING := $(shell chrt --idle 0 true 2>/dev/null && echo chrt --idle 0 || echo nice -n 19)

.DEFAULT_GOAL := help
.PHONY: help demo build test test-rust test-python test-clocked test-slow test-surprise mutants kernel reality ns2 packetdrill lint lint-rust lint-python msrv deny format bench instructions \
	tables questions needs validation docs wheel sdist test-wheel test-lowest libutp lock clean

help: ## List the tasks
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(UV): | check-python
	@echo "Fetching uv $(UV_VERSION) into .tools/"
	@"$(PYTHON)" -m venv --clear .tools
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check "uv==$(UV_VERSION)"

.PHONY: check-python
check-python:
	@test -n "$(PYTHON)" || { echo "flashcrowd needs Python 3.11 or newer; found none. Set PYTHON=/path/to/python3."; exit 1; }
	@command -v cargo >/dev/null || { echo "flashcrowd needs Rust (https://rustup.rs); 'cargo' is not on the PATH."; exit 1; }

# The tools, without the extension module.
.PHONY: venv
venv: $(UV)
	@$(UV) sync --locked --quiet --extra report --no-install-project --inexact

build: $(UV) ## Build the extension module and set up .venv with the flashcrowd command
	@$(UV) sync --locked --quiet --extra report

demo: build ## Run studies/latency.toml on all cores, print a summary, write the report
	@$(BIN)/flashcrowd run studies/latency.toml --fresh --report

# Two lanes: Python's tests, which mostly wait, and Rust's. These are compiled in the time that what is held against the
# clock leaves; from its end on with as much right as others, and then run.
test: build ## All tests but those marked slow
	@$(MAKE) --no-print-directory --jobs 3 --output-sync=line test-unclocked test-rust LANES=1

ifdef LANES
test-unclocked yield-no-more: test-clocked
test-unclocked: collect-tests
test-rust: yield-no-more compile-tests
endif

.PHONY: compile-tests collect-tests yield-no-more
COMPILING := .venv/compiling
compile-tests:
	@echo $$$$ > $(COMPILING); exec $(YIELDING) cargo test $(CRATES) --locked --no-run

# Once: in a fresh clone each worker would rewrite the assertions of all files. Without tests run, syrupy would find all
# snapshots unused.
collect-tests: build
	@$(YIELDING) $(BIN)/pytest --collect-only -q -p no:syrupy >/dev/null

# What cargo starts from now on; where users may not raise a priority, it stays as it is.
yield-no-more:
	@chrt --other --all-tasks --pid 0 $$(cat $(COMPILING)) 2>/dev/null || true

test-rust: ## cargo test
	@test -n "$(CXX_FOUND)" || echo "No C++ compiler: the tests beside libutp are left out."
	cargo test $(CRATES) --locked

test-python: build ## pytest: what is held against the clock (the kernel's TCP, emulation), then all else
	@$(MAKE) --no-print-directory test-clocked
	@$(MAKE) --no-print-directory test-unclocked

.PHONY: test-unclocked
test-unclocked: build
	$(IN_MEMORY) $(BIN)/pytest $(if $(IN_MEMORY),-o tmp_path_retention_policy=failed) -m "not slow and not ($(CLOCKED))" --numprocesses $(WORKERS) --dist worksteal

test-clocked: build
	$(BIN)/pytest -m "not slow and ($(CLOCKED))" --numprocesses $$((2 * $(CORES))) --dist worksteal \
		tests/kernel tests/emulation tests/traps

kernel: build ## The model's TCP beside this machine's own, printed (needs root)
	$(BIN)/pytest -q tests/kernel

reality: build ## Studies on simulated and real programs; distances go to benches/reality.csv (needs root, hours)
	$(BIN)/python -m benches.reality $(STUDIES)

ns2: build ## The model's ns2-tcp beside ns-2 itself, printed in five minutes (needs ns)
	$(BIN)/pytest -q tests/ns2

packetdrill: ## Our TCP against the packetdrill scripts below DIR
	@test -d "$(DIR)" || { echo "packetdrill: '$(DIR)' is no folder; say where the scripts are: make packetdrill DIR=FOLDER (docs/packetdrill.md)"; exit 1; }
	PACKETDRILL_SCRIPTS=$(abspath $(DIR)) cargo test -q -p flashcrowd-transport --test all --locked -- \
	    --nocapture scripts_of_a_given_folder

test-slow: build ## The tests marked slow, and those that cargo test ignores
	cargo test $(CRATES) --tests --locked -- --ignored
	cargo clippy -p flashcrowd-server --example trial_mount --features trial-mount --locked -- -D warnings
	$(BIN)/pytest -m slow

libutp: build ## The reference uTP as a program of transfers (flashcrowd-libutp), beside the flashcrowd command
	cargo install --quiet --locked --no-track --force --path crates/oracle --bin flashcrowd-libutp --root .venv

SEED ?= $(shell date +%s)
test-surprise: build ## Property tests with 3,000 fresh examples each; SEED=... repeats a run
	@echo "make test-surprise SEED=$(SEED)"
	HYPOTHESIS_PROFILE=slow $(BIN)/pytest --hypothesis-seed=$(SEED) --timeout 3000 \
		tests/engines/test_any_plan.py tests/study/test_any_study.py

CRATE ?= link
SHARD ?= 0/15
MUTANTS := .tools/bin/cargo-mutants
$(MUTANTS):
	cargo install --quiet --locked --root .tools cargo-mutants@27.1.0
# A case that failed for one mutant is not kept: it would be tried for the others, and fail for all if the test is wrong.
mutants: $(MUTANTS) ## Which mutants of CRATE the tests catch, of those in SHARD (k/n)
	PROPTEST_DISABLE_FAILURE_PERSISTENCE=1 $(MUTANTS) mutants -p flashcrowd-$(CRATE) --shard $(SHARD) --sharding round-robin --output target

# Side by side, as pyright is one thread; the extension module's build waits for clippy.
lint: $(UV) ## Formatting, clippy, documentation's links, fuzz targets, ruff, pyright, and the stub against the module
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint-rust lint-python

lint-rust:
	cargo fmt --all --check
	cargo clippy $(CRATES) --all-targets --locked -- -D warnings
	$(RUSTDOC)
	cargo check --quiet --locked --manifest-path fuzz/Cargo.toml --no-default-features --target-dir target

lint-python: venv
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	PYTHONPATH=python $(BIN)/lint-imports
	$(BIN)/pyright
	@$(MAKE) --no-print-directory build
	$(BIN)/python -m mypy.stubtest flashcrowd._core

msrv: ## Whether the compiler in RUSTUP_TOOLCHAIN can build everything
	cargo check $(CRATES) --locked

deny: ## Licences, advisories and sources of all crates (needs cargo-deny)
	@command -v cargo-deny >/dev/null || { echo "cargo-deny is missing: cargo install --locked cargo-deny"; exit 1; }
	cargo deny --all-features check

format: build ## Format Rust and Python sources in place
	cargo fmt --all
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

bench: ## Benchmarks: event queue, link, TCP, uTP, swarm, the wire, and the headline run
	cargo bench $(CRATES) --features flashcrowd-sim/huge-pages --locked --bench '*'

instructions: venv ## Instructions and cache lines a packet beside those of benches/instructions.toml (needs valgrind; a minute)
	$(BIN)/python -m benches.instructions

tables: build ## Write docs/tables.md from the schema
	$(BIN)/python -c 'from flashcrowd.store.schema import markdown; print(markdown(), end="")' > docs/tables.md

plan-types: build ## Write python/flashcrowd/plan/types.py and base/words.py from the structs of crates/plan
	$(BIN)/python -m tests.plan.plan_types
	$(BIN)/ruff format --quiet python/flashcrowd/plan/types.py python/flashcrowd/base/words.py

questions: build ## Run the studies of docs/questions again, and write what they print and draw into the pages (minutes)
	FLASHCROWD_WRITE=1 $(BIN)/pytest -q -m slow -n 1 tests/docs/test_questions.py tests/docs/test_upload_rule.py
	$(BIN)/python -m benches.validation

needs: build ## What check predicts beside what runs take: measure, fit its costs, write benches/needs/README.md (minutes)
	$(BIN)/python -m benches.needs
	@$(MAKE) --no-print-directory build

validation: venv ## Write docs/validation.md, and README's table of it, from benches/validation/points.toml
	$(BIN)/python -m benches.validation

docs: $(UV) ## The documentation as a site, with the API of both languages: target/site/index.html
	@$(UV) sync --locked --quiet --extra report --group docs
	$(RUSTDOC)
	$(BIN)/sphinx-build -q -W --keep-going -c docs/site docs target/site
	rm -rf target/site/rust && cp -r $${CARGO_TARGET_DIR:-target}/doc target/site/rust
	@test -z "$(WASM)" && echo "The site has no playground: $(NO_WASM)" || $(MAKE) --no-print-directory playground
	@echo "target/site/index.html"

# The standard library for WebAssembly, where the compiler has it.
WASM = $(wildcard $(shell rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null))
NO_WASM := Rust cannot compile to WebAssembly here; 'rustup target add wasm32-unknown-unknown' adds it.
.PHONY: playground
playground: build ## The simulator in a browser's tab, a folder of static files: target/site/playground/index.html
	@test -n "$(WASM)" || { echo "$(NO_WASM)"; exit 1; }
	cargo build --quiet --locked --release --config profile.release.strip=true -p flashcrowd-playground --target wasm32-unknown-unknown
	@$(BIN)/python docs/playground/build.py $${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/release/flashcrowd_playground.wasm target/site/playground

# The C library's version from which on a wheel for Linux works; Zig links against it. `none`: this machine's own.
GLIBC ?= 2.28
ZIG   := $(if $(filter Linux,$(shell uname -s)),$(filter-out none,$(GLIBC)))
MATURIN := $(UV) tool run --quiet --from 'maturin$(if $(ZIG),[zig])>=1.16' maturin
DIST  ?= dist
# Kernels for ARM have pages of 4 to 64 KiB: the allocator takes all up to the size that it is compiled for.
ifeq ($(shell uname -m),aarch64)
wheel: export JEMALLOC_SYS_WITH_LG_PAGE := 16
endif
# What a build that fails leaves is not for dist/: test-wheel takes the newest wheel there.
FRESH := target/wheel
WHEEL = $(MATURIN) build --quiet --release --locked --features huge-pages
FOR_ALL = $(if $(ZIG),--zig --compatibility manylinux_$(subst .,_,$(ZIG)))
# Zig does not link what notes; the target is named, as Zig's is: it is part of the names that the profile goes by.
FOR_HERE = $(if $(ZIG),--compatibility linux --target $(shell rustc -vV | sed -n 's/^host: //p'))
# Compiled twice: the first module notes what runs of studies take often, the second is optimised for that.
NOTED := $(abspath target/noted)
PROFDATA = $(wildcard $(shell rustc --print sysroot)/lib/rustlib/*/bin/llvm-profdata)
wheel: $(UV) ## A wheel for this machine and every Python from 3.11 on, in dist/
	@rm -rf $(FRESH)
	@test -n "$(PROFDATA)" || echo "Without a profile of what runs take: 'rustup component add llvm-tools' adds what makes the wheel a tenth faster."
	test -z "$(PROFDATA)" || $(MAKE) --no-print-directory noted
	RUSTFLAGS="$(RUSTFLAGS)$(if $(PROFDATA), -Cprofile-use=$(NOTED)/profile)" $(WHEEL) $(FOR_ALL) --out $(FRESH)
	@mkdir -p $(DIST) && mv $(FRESH)/*.whl $(DIST)/

.PHONY: noted
noted: venv
	@rm -rf $(NOTED)
	RUSTFLAGS="$(RUSTFLAGS) -Cprofile-generate=$(NOTED)/raw" $(WHEEL) $(FOR_HERE) --out $(NOTED)
	cd $(NOTED) && "$(PYTHON)" -m zipfile -e *.whl package
	PYTHONPATH=$(NOTED)/package $(BIN)/python benches/training.py
	$(PROFDATA) merge -o $(NOTED)/profile $(NOTED)/raw

sdist: $(UV) ## The sources as a package, in dist/
	$(UV) build --sdist --quiet --out-dir $(DIST)

test-wheel: ## Install the newest wheel in dist/ in a clean environment without Rust, and try what it can do
	"$(PYTHON)" tests/packaging/try_wheel.py $(DIST)

# The oldest versions of libraries that pyproject.toml allows, with the tests that touch them. Libraries of these
# warn of others of today, which is no fault.
LOWEST := target/lowest
OLDEST := 3.11
LIBRARY_TESTS := tests/report tests/store tests/study tests/scenario tests/cli tests/runner tests/packaging/test_extras.py
test-lowest: $(UV) ## The tests of studies, results and reports with the oldest libraries that are allowed
	$(UV) venv --quiet --clear --python $(OLDEST) $(LOWEST)
	$(UV) pip install --quiet --python $(LOWEST) --resolution lowest-direct --requirements pyproject.toml \
		$(foreach extra,report cluster deluge notebook,--extra $(extra)) --group test
	$(UV) pip install --quiet --python $(LOWEST) --no-deps "$$(ls -t $(abspath $(DIST))/flashcrowd-*.whl | head -n 1)"
	$(LOWEST)/bin/python -P -m pytest -q -m "not slow and not ($(CLOCKED))" --numprocesses $(WORKERS) --dist worksteal \
		-W default::DeprecationWarning -W default::PendingDeprecationWarning $(LIBRARY_TESTS)

lock: $(UV) ## Take newer versions of dependencies into uv.lock and Cargo.lock
	$(UV) lock --upgrade
	cargo update

clean: ## Remove what was built (results stay)
	rm -rf .venv .tools target dist
