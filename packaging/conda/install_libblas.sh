#!/bin/bash
set -euo pipefail
for name in libblas.so.3 libcblas.so.3; do
    "$PREFIX/share/tessera/link-blas" --soname $name --tessera "$PREFIX/lib/libtessera_blas.so.0" \
        --output "$PREFIX/lib/$name" "$PREFIX/lib/libopenblas.so.0"
done
