# Two commands for a fresh Debian or Ubuntu: each installs what is missing and builds; everything else is CMake.
#   make demo   multiplies real data on this machine and prints its ladder table
#   make test   builds and runs every test
# Also: make docs (the pages and charts of docs/ that commands make), make lint, make format, make clean.

# In CI warnings are errors.
PRESET := $(if $(CI),ci,release)
BUILD := build/$(PRESET)
JOBS := $(shell getconf _NPROCESSORS_ONLN)
CCACHE := $(shell command -v ccache)
CONFIGURE := cmake --preset $(PRESET) $(if $(CCACHE),-DCMAKE_C_COMPILER_LAUNCHER=ccache)

.PHONY: help demo test docs build lint format clean
help:
	@sed -n '2,4s/^# *//p' Makefile

demo:
	@tools/setup demo
	@$(MAKE) --no-print-directory build
	@tools/demo $(BUILD)

test:
	@tools/setup test
	@$(MAKE) --no-print-directory build
	ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS)

docs:
	@tools/setup demo
	$(CONFIGURE)
	cmake --build $(BUILD) --parallel $(JOBS) --target docs

# Configures again only where it must: the log goes to the screen if that fails.
build:
	$(CONFIGURE)
	cmake --build $(BUILD) --parallel $(JOBS)

lint:
	@tools/setup ci
	tools/check-format
	tools/lint $(BUILD)
	tools/check-deps
	tools/check-paths
	tools/check-records
	tools/check-words

format:
	tools/check-format --fix

clean:
	rm -rf build
