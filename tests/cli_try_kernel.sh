#!/usr/bin/env bash
# tessera try FILE.cu: a kernel of one's own that is right, and every way to be wrong; nothing is left behind.
. "$(dirname "$0")/cli_lib.sh"

"$tessera" explain tiled >/dev/null 2>&1 || exit 77
command -v gcc objcopy addr2line >/dev/null || exit 77
export TMPDIR=$folder/tmp
mkdir "$TMPDIR"
kernels=$source_folder/examples/kernels
leaves_nothing() {
    succeeds [ -z "$(ls -A "$TMPDIR")" ]
}
printed_flat() { # the last command's stdout, blanks and line ends aside, has the text
    checks=$((checks + 1))
    tr -s ' \n' ' ' <"$folder/out" | grep -qF -- "$1" || fail "no \"$1\" in: $(head -c 900 "$folder/out")"
}

# The two of the course, as their own lines say.
expect 0 "" "$tessera" try "$kernels/naive_start.cu" --gpu rtx3090
fits_terminal
prints '^Right: [0-9]+ products, '
prints '^  multiply-adds +16777216 of threads, 33554432 FLOP in all$'
prints '^predicted for NVIDIA GeForce RTX 3090$'
prints '^  time +[0-9.]+ us, limited by '
prints '^  \(0,0\) +A\[0,0\.\.3\] +B\[0\.\.3,0\] +C\[0,0\] \+= '
prints '^  load B   naive_start.cu:[0-9]+ '
expect 0 "" "$tessera" try "$kernels/tiled_solution.cu" --page page.html
prints '^Right: '
prints '^  shared loads +1048576 requests '
succeeds grep -q '<html' page.html
expect 0 "" "$tessera" try "$kernels/wmma_solution.cu" --dtype bf16
prints '^Right: '
prints '^ +0  A\[0\.\.15,0\.\.15\] +B\[0\.\.15,0\.\.15\] +C\[0\.\.15,0\.\.15\]$|^The products are made by tensor cores'
printed_flat "unknown: nvcc did not compile the kernel"
leaves_nothing

# An option of the command line wins; a kernel of the ladder holds for everything, by another name.
expect 0 "" "$tessera" try "$source_folder/kernels/gemm/tiled.cu" -DTILE=4 -D TILE=8 --tile 8 --threads 8x8 --shared 512 \
    --general --size 64 --timeout 600
prints '^Right: 2[0-9][0-9] products'
printed_flat "as tiled_yours: blocks of 8 x 8 threads, 8 x 8 elements of C each, 512 bytes"

try_changed() { # SED-SCRIPT FILE CODE STDERR: the example with one change
    sed -e "$1" "$kernels/$2" >mine.cu
    succeeds [ -n "$(diff mine.cu "$kernels/$2")" ]
    expect "$3" "$4" "$tessera" try mine.cu --size 32
    leaves_nothing
}
line_of() { # TEXT in mine.cu
    grep -nF -- "$1" mine.cu | head -1 | cut -d: -f1
}

# Wrong by one: which element.
try_changed 's/k < args.k; k++/k + 1 < args.k; k++/' naive_start.cu 1 ""
printed_flat "Wrong at M = 15, N = 15, K = 3: D[0,0] is not exact: value "
# A barrier is missing: the second one is a race, the first one reads what nobody wrote.
try_changed 's/__syncthreads(); .* nobody .*//' tiled_solution.cu 1 ""
printed_flat "mine.cu:$(line_of 'sum = fmaf'): race: read of shared memory + "
printed_flat "with no barrier in between"
try_changed 's/__syncthreads(); .* are there .*//' tiled_solution.cu 1 ""
printed_flat "mine.cu:$(line_of 'sum = fmaf'): read of 4 bytes of shared memory, of which byte 0 was never written"
# Out of bounds, of an operand and of shared memory; a store to an operand; an element that is never stored.
try_changed 's/if (row >= args.m || col >= args.n)/if (row >= args.m)/' naive_start.cu 1 ""
printed_flat "mine.cu:$(line_of 'sum = fmaf'): read of 4 bytes at B[3, 0] out of bounds: B is stored 3 x 15"
try_changed 's/--shared 2048/--shared 1024/' tiled_solution.cu 1 ""
printed_flat "mine.cu:$(line_of 'Bs[y][x] =' ): write of 4 bytes at shared memory + 1"
try_changed 's/tsr_store(.*/((float *)args.a)[0] = sum;/' naive_start.cu 1 ""
printed_flat "write of 4 bytes to A[0, 0]: only D may be written"
try_changed 's/tsr_store(/if (row) tsr_store(/' naive_start.cu 1 ""
printed_flat "D[0,0] was not written"
# Some threads wait, the others go home: all wait for ever at the barrier, or the kernel's rule is named.
try_changed 's/for (long long k0/if (x == 3 \&\& y == 3) for (;;) __syncthreads();\n    &/' tiled_solution.cu 1 ""
prints '^Wrong at M = '
# Sums that are not called by name are right, but not counted.
try_changed 's/sum = fmaf(\(.*\), \(.*\), sum)/sum += \1 * \2/' naive_start.cu 0 ""
prints '^No multiply-adds were seen: '

try_changed 's/--tile 16x16/--tile 16x16 --general/; s/tsr_store(.*/((float *)args.d)[row * args.ldd + col] = sum;/' naive_start.cu 1 ""
prints '^Wrong: f32 x f32 -> f32 nn .* alpha '

# It does not compile: the compiler's message has the user's file and line.
sed 's/float sum = 0;/float sum = O;/' "$kernels/naive_start.cu" >mine.cu
expect 1 "*" "$tessera" try mine.cu
succeeds grep -q "^mine.cu:$(line_of 'sum = O'):[0-9]*: error: " err
succeeds grep -qx 'tessera try: mine.cu: gcc does not compile it' err
succeeds [ ! -s out ]
sed 's/float sum = 0;/__shared__ float x[4]; &/' "$kernels/naive_start.cu" >mine.cu
expect 1 "*" "$tessera" try mine.cu
succeeds grep -q "^mine.cu:$(line_of '__shared__').*: note: in expansion of macro .__shared__" err
succeeds grep -q 'error: static assertion failed: "shared memory is TSR_SHARED' err
sed 's/tsr_store(/store(/' "$kernels/naive_start.cu" >mine.cu
expect 1 "*" "$tessera" try mine.cu
succeeds grep -q "^mine.cu:$(line_of 'store('):[0-9]*: error: implicit declaration of function .store" err
printf '/* tessera try: --threads 32 */\nint nothing;\n' >mine.cu
expect 1 "*" "$tessera" try mine.cu
succeeds grep -qx 'tessera try: mine.cu: no TSR_KERNEL(threads) { ... }, or it calls a function that is not there' err
leaves_nothing

# It never ends.
sed 's/k++/k += 0/' "$kernels/naive_start.cu" >mine.cu
expect 1 "*" "$tessera" try mine.cu --timeout 2
succeeds grep -q "^tessera try: mine.cu: not done within 2 s, while verifying it, the first case; it was at mine.cu:\($(line_of 'sum = fmaf')\|$(line_of 'for (')\)\( (in .*)\)\?: a loop that never ends? --timeout gives more time$" err
leaves_nothing
# Ctrl-C.
"$tessera" try mine.cu --timeout 60 >/dev/null 2>&1 &
pid=$!
for _ in $(seq 100); do
    [ -n "$(find "$TMPDIR" -name kernel.so)" ] && break
    sleep 0.05
done
succeeds [ -n "$(find "$TMPDIR" -name kernel.so)" ]
kill -TERM $pid
wait $pid
succeeds [ $? = 143 ]
leaves_nothing

# One that ends the process before there is a verdict is not right, whatever its exit code.
{
    printf '/* tessera try: --threads 16x16 --tile 16x16 */\n#include "tile/kernel.h"\nvoid _exit(int);\n'
    printf 'TSR_KERNEL(256) { _exit(0); }\n'
} >mine.cu
expect 1 "*" "$tessera" try mine.cu
succeeds grep -q '^tessera try: mine.cu: the process ended with exit code 0, while ' err
leaves_nothing

# What the arguments say.
grep -v 'tessera try:' "$kernels/naive_start.cu" >mine.cu
expect 2 'tessera try: --threads is missing: threads of a block, in the command or in a line of the file, "tessera try: --threads 16x16 --tile 16"' \
    "$tessera" try mine.cu
expect 2 "tessera try: --threads: 64 x 32 are 2048, and a block has at most 1024" "$tessera" try mine.cu --threads 64x32
expect 2 "tessera try: --threads needs numbers from 1 to 1024 with an x between, as in XxY, not '16,16'" \
    "$tessera" try mine.cu --threads 16,16
expect 2 "tessera try: --define needs NAME or NAME=VALUE, not '=3'" "$tessera" try mine.cu --threads 16x16 --define =3
expect 2 "tessera try: --dtype: a kernel of one's own is in f32, f64, f16 or bf16, not s8" \
    "$tessera" try mine.cu --threads 16x16 --dtype s8
expect 1 "tessera try: cannot open missing.cu: No such file or directory" "$tessera" try missing.cu
mkdir folder.cu
expect 1 "tessera try: folder.cu is a directory: must be a file with a kernel" "$tessera" try folder.cu
expect 2 "tessera try: a kernel has neither an answer nor --show" "$tessera" try mine.cu 3
printf '/* tessera try: --thread 16x16 */\n' >mine.cu
expect 2 "tessera try: mine.cu:1: unknown option --thread; did you mean --threads?" "$tessera" try mine.cu
printf '/* tessera try: naive-loads */\n' >mine.cu
expect 2 'tessera try: mine.cu:1: only options of a kernel may stand behind "tessera try:"' "$tessera" try mine.cu
leaves_nothing

# A compiler must be there.
cp "$kernels/naive_start.cu" mine.cu
expect 1 "tessera try: neither gcc nor cc is to be found on the PATH (Debian and Ubuntu: gcc)" env PATH=/nonexistent \
    "$tessera" try mine.cu
leaves_nothing
finish
