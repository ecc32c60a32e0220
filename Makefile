# Two commands for a fresh Debian or Ubuntu: each installs what is missing and builds; everything else is CMake.
#   make demo   multiplies real data on this machine and prints its ladder table
#   make test   builds and runs every test
# Also: make docs (the pages and charts of docs/ that commands make), make lint, make format, make clean.

# In CI warnings are errors.
PRESET := $(if $(CI),ci,release)
BUILD := build/$(PRESET)
JOBS := $(shell getconf _NPROCESSORS_ONLN)
CCACHE := $(shell command -v ccache)
LAUNCHER := $(if $(CCACHE),-DCMAKE_C_COMPILER_LAUNCHER=ccache)
# Device code is compiled for the demo only where it can run.
GPU := $(wildcard /dev/nvidiactl /dev/dxg)

.PHONY: help demo test docs build lint format clean
help:
	@sed -n '2,4s/^# *//p' Makefile

demo:
	@tools/setup demo
	@tools/step configure build/log/demo-configure.log cmake --preset demo -DTESSERA_CUDA=$(if $(GPU),ON,OFF) $(LAUNCHER)
	@tools/step build build/log/demo-build.log cmake --build build/demo --target tessera_command example_licences --parallel $(JOBS)
	@tools/demo build/demo

test:
	@tools/setup test
	@$(MAKE) --no-print-directory build
	@tools/step tests build/log/$(PRESET)-tests.log ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS)

docs:
	@tools/setup demo
	@tools/step configure build/log/$(PRESET)-configure.log cmake --preset $(PRESET) $(LAUNCHER)
	@tools/step docs build/log/$(PRESET)-docs.log cmake --build $(BUILD) --parallel $(JOBS) --target docs

build:
	@tools/step configure build/log/$(PRESET)-configure.log cmake --preset $(PRESET) $(LAUNCHER)
	@tools/step build build/log/$(PRESET)-build.log cmake --build $(BUILD) --parallel $(JOBS)

lint:
	@tools/setup ci
	tools/check-format
	tools/lint $(BUILD)
	tools/check-deps
	tools/check-paths
	tools/check-records
	tools/check-words
	tools/check-pipes

format:
	tools/check-format --fix

clean:
	rm -rf build
