#!/bin/bash
set -euo pipefail
cmake -S . -B build/conda -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib \
    -DTESSERA_CUDA=OFF -DTESSERA_EMU=OFF -DTESSERA_TESTS=OFF -DTESSERA_FULL_BLAS=OFF
cmake --build build/conda --parallel "${CPU_COUNT:-2}"
cmake --install build/conda
