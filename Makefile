# What one does with this repository. `make help` lists it.

CARGO ?= cargo
PYTHON ?= python3
FUZZ_SECONDS ?= 60
export PYTHONDONTWRITEBYTECODE := 1

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
SAMPLE := examples/sample
OLDER := $(shell $(PYTHON) -c 'import sys; print("" if sys.version_info >= (3, 12) else "tensorflow-2.15")' 2>/dev/null)
ENVIRONMENTS := lint frameworks trackers browser $(OLDER)

.DEFAULT_GOAL := help

.PHONY: help
help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: toolchain python ## Train a small BERT under jouletree and see where its joules went
	@CARGO='$(CARGO)' PYTHON='$(PYTHON)' tools/demo.sh '$(TARGET_DIR)'

.PHONY: check
check: components ## Inner loop: format, clippy and tests of the crates that changed (BASE=commit, CRATES=names)
	@CARGO='$(CARGO)' tools/check.sh $(CRATES)

.PHONY: test
test: format lint lint-python licences text sample test-rust test-python test-browser ## Prove the whole: every check, every test with current frameworks

# The rest of what must hold before a change is accepted. Each part can be made alone.
.PHONY: test-all
test-all: test-older demo package fuzz ## What takes long: older frameworks, demo, package, fuzzing

.PHONY: test-rust
test-rust: toolchain
	$(CARGO) test --workspace --locked

# The command as the tests of Rust have it, so that nothing is built twice.
.PHONY: tested-binary
tested-binary: toolchain
	$(CARGO) test --workspace --locked --no-run

.PHONY: environments
environments: python ## Fetch the Python environments that tests use
	@for name in $(ENVIRONMENTS); do $(PYTHON) tools/environment.py $$name >/dev/null || exit 1; done

# With real frameworks and trackers, each in an environment of its own that is kept in the user's cache folder. PYTEST
# passes arguments on: make test-python PYTEST='-k torch'; what it selects need not be in every environment (5).
# Two programs run at a time, but for the tests marked `alone`, which compare energies or times within steps.
pytest = JOULETREE_BINARY='$(abspath $(TARGET_DIR))/debug/jouletree' $$environment -m pytest -q --durations=10 \
	-p no:cacheprovider
run_pytest = environment=$$($(PYTHON) tools/environment.py $(1)) || exit 1; \
	echo "tests in environment $(1)"; \
	$(pytest) -n 2 -m 'not alone' $(2) $(PYTEST) $(if $(PYTEST),|| [ $$? = 5 ]) || exit 1; \
	$(pytest) -m alone $(2) $(PYTEST) || [ $$? = 5 ] || exit 1

.PHONY: test-python
test-python: tested-binary python
	@$(call run_pytest,frameworks,python/tests --ignore-glob=*/test_compat_*)
	@$(call run_pytest,trackers,python/tests/test_compat_*.py)

# TensorFlow 2.15 ends with Python 3.11: a newer Python skips it with a message.
TENSORFLOW_TESTS := $(foreach what,examples keras patch tensorflow,python/tests/test_$(what).py)
.PHONY: test-older
test-older: tested-binary python ## Run the tests that the oldest supported TensorFlow has in common with the newest
ifneq ($(OLDER),)
	@$(call run_pytest,$(OLDER),$(TENSORFLOW_TESTS))
else
	@echo 'skipped: TensorFlow 2.15 needs Python 3.11'
endif

# Reports in a real browser, which tools/browser.py finds or gets; where it cannot, the tests are skipped. For pictures of
# the page, JOULETREE_SCREENSHOTS names a folder.
.PHONY: test-browser
test-browser: tested-binary python
	@environment=$$($(PYTHON) tools/environment.py browser) || exit 1; \
		JOULETREE_BINARY='$(abspath $(TARGET_DIR))/debug/jouletree' $$environment -m pytest -q -rs -p no:cacheprovider \
			tests/browser $(PYTEST)

# The peers live in an environment of their own. BENCH passes arguments on: make bench BENCH='align --quick'
BENCH_VENV := $(TARGET_DIR)/bench-venv

.PHONY: bench
bench: toolchain $(BENCH_VENV)/ready ## Measure speed and print it beside its targets and peers
	$(CARGO) run --release --locked -p jouletree-bench -- --peers '$(BENCH_VENV)/bin/python' $(BENCH)

$(BENCH_VENV)/ready: benches/requirements.txt | python
	$(PYTHON) -m venv '$(BENCH_VENV)'
	'$(BENCH_VENV)/bin/python' -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.PHONY: fuzz
fuzz: toolchain ## Fuzz every reader, each for FUZZ_SECONDS (60)
	@CARGO='$(CARGO)' TARGET_DIR='$(abspath $(TARGET_DIR))' tools/fuzz.sh '$(FUZZ_SECONDS)'

# What users install: the wheel is built, installed into an empty environment and tried.
.PHONY: package
package: toolchain python ## Build the Python package and try it in an empty environment
	@PYTHON='$(PYTHON)' TARGET_DIR='$(abspath $(TARGET_DIR))' tools/package.sh

.PHONY: bench-overhead
bench-overhead: toolchain python ## Measure what recording costs a training step, level by level
	$(CARGO) build --release --locked -p jouletree
	@PYTHON='$(PYTHON)' JOULETREE_BINARY='$(abspath $(TARGET_DIR))/release/jouletree' $(PYTHON) benches/overhead/overhead.py $(BENCH)

.PHONY: protocol
protocol: toolchain ## Generate the code of the protocols after a change in proto/
	@CARGO='$(CARGO)' TARGET_DIR='$(abspath $(TARGET_DIR))' tools/protocol.sh

.PHONY: install
install: toolchain ## Install the jouletree command for this user
	$(CARGO) install --path crates/jouletree --locked

.PHONY: clean
clean: ## Remove everything that was built
	$(CARGO) clean
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts fuzz/coverage

# The parts of `make test`, each of which can be made alone.

.PHONY: format
format: components
	$(CARGO) fmt --all --check

.PHONY: lint
lint: components
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p jouletree --no-default-features --locked -- -D warnings

# Both write a cache, which is kept out of the sources.
.PHONY: lint-python
lint-python: python
	@environment=$$($(PYTHON) tools/environment.py lint) || exit 1; \
		RUFF_CACHE_DIR='$(abspath $(TARGET_DIR))/ruff' $$environment -m ruff check python tools tests benches examples && \
		cd python && $$environment -m mypy --config-file ../pyproject.toml --cache-dir '$(abspath $(TARGET_DIR))/mypy' -p jouletree && \
		MYPYPATH=. $$environment -m mypy --config-file ../pyproject.toml --cache-dir '$(abspath $(TARGET_DIR))/mypy' \
			tests/typed_program.py

.PHONY: licences
licences: toolchain python
	$(PYTHON) tools/check_licences.py --self-test
	$(PYTHON) tools/check_licences.py
	$(PYTHON) tools/check_dependencies_doc.py
	$(PYTHON) tools/check_architecture.py --self-test
	$(PYTHON) tools/check_architecture.py
	$(PYTHON) tools/check_features.py --self-test
	$(PYTHON) tools/check_features.py
	$(PYTHON) tools/check_links.py --self-test
	$(PYTHON) tools/check_links.py

.PHONY: text
text:
	tools/check_text.sh
	tools/protocol.sh --check

.PHONY: sample
sample: python
	$(PYTHON) $(SAMPLE)/make_sample.py --check

# Set-up: say what is missing and how to get it.

.PHONY: toolchain
toolchain:
	@command -v $(firstword $(CARGO)) >/dev/null 2>&1 || \
		{ echo 'Rust is missing; install it from https://rustup.rs' >&2; exit 1; }

.PHONY: components
components: toolchain
	@{ $(CARGO) fmt --version && $(CARGO) clippy --version; } >/dev/null 2>&1 || \
		{ echo 'rustfmt or clippy is missing; run: rustup component add rustfmt clippy' >&2; exit 1; }

.PHONY: python
python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo 'Python 3.11 or newer is missing; name one with: make PYTHON=/path/to/python3' >&2; exit 1; }
