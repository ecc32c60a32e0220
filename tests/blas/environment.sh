#!/usr/bin/env bash
# What the environment decides: TESSERA_DEVICE, TESSERA_NUM_THREADS, the affinity mask, TESSERA_LOG and TESSERA_LOG_FILE.
# The library is opened by Python's ctypes; no NumPy is needed.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "no python3"

cat >product.py <<'PY'
"""product.py BLAS N [batch STRIDE | wrong]: ones times ones, N x N, once or four times STRIDE elements apart; or a wrong
M. Prints an element of C and the process's threads."""
import ctypes, sys
blas, n = ctypes.CDLL(sys.argv[1]), int(sys.argv[2])
real, long = ctypes.c_double, ctypes.c_longlong
stride = int(sys.argv[4]) if sys.argv[3:4] == ["batch"] else 0
count = n * n + 3 * abs(stride)
a, c = (real * count)(*([1.0] * count)), (real * count)(*([7.0] * count))
def at(array):
    return ctypes.cast(ctypes.addressof(array) + (8 * 3 * -stride if stride < 0 else 0), ctypes.c_void_p)
if sys.argv[3:4] == ["wrong"]:
    blas.cblas_dgemm(101, 111, 111, -1, n, n, real(1), a, n, a, n, real(0), c, n)
elif stride:
    blas.cblas_dgemm_batch_strided64_(101, 111, 111, long(n), long(n), long(n), real(1), at(a), long(n), long(stride),
                                      at(a), long(n), long(stride), real(0), at(c), long(n), long(stride), long(4))
else:
    for _ in range(2):
        blas.cblas_dgemm(101, 111, 111, n, n, n, real(1), a, n, a, n, real(0), c, n)
threads = [line.split()[1] for line in open("/proc/self/status") if line.startswith("Threads:")][0]
print("%g %g threads=%s" % (c[0], c[count - 1], threads))
PY

product() { # NAME=VALUE... -- ARGUMENTS: stdout to out, stderr to err, calls to $log unless told otherwise
    local variables=()
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    rm -f "$log"
    env TESSERA_LOG=calls TESSERA_LOG_FILE="$log" "${variables[@]}" python3 product.py "$blas" "$@" >out 2>err ||
        die "${variables[*]} $*: $(tail -n 3 err)"
}

says() { # EXTENDED-EXPRESSION FILE
    grep -Eq -- "$1" "$2" || die "nothing like \"$1\" in $2: $(head -c 800 "$2")"
}

# Threads: as many as asked for, or as the mask allows; a word that is no number counts as none.
product TESSERA_NUM_THREADS=1 -- 700
says '^700 700 threads=1$' out
product TESSERA_NUM_THREADS=3 -- 700
says '^700 700 threads=3$' out
if command -v taskset >/dev/null; then
    rm -f "$log"
    first=$(taskset -pc $$ | sed 's/.*: \([0-9]*\).*/\1/')
    TESSERA_LOG=calls TESSERA_LOG_FILE=$log taskset -c "$first" python3 product.py "$blas" 700 >out 2>err
    says '^700 700 threads=1$' out
fi
for value in many abc -1 1e9 4097; do
    product TESSERA_NUM_THREADS=$value -- 700
    says '^700 700 threads=' out
    says "^libtessera_blas: TESSERA_NUM_THREADS = \"$value\": not a number from 1 to 4096; .* \(said once\)$" err
    [ "$(wc -l <err)" = 1 ] || die "said more than once: $(cat err)"
done
product TESSERA_LOG=calls,all -- 50
says '^libtessera_blas: TESSERA_LOG = "calls,all": only "calls" is known; the rest is ignored \(said once\)$' err
product OMP_NUM_THREADS=1 -- 700
says '^700 700 threads=1$' out

# Devices: the CPU, one that does not exist, and the emulator where there is one.
product TESSERA_DEVICE=cpu -- 50
says '^tessera-call cblas_dgemm dtype=f64 layout=nn m=50 .* kernel=cpu_[a-z]+_f64 device=cpu ' "$log"
[ ! -s err ] || die "stderr has: $(cat err)"
for device in gpu cuda:99; do
    product TESSERA_DEVICE=$device -- 50
    says '^50 50 ' out
    says '^libtessera_blas: .*; using the CPU \(said once\)$' err
    says "device = \"gpu\"|no such device" err
    [ "$(wc -l <err)" = 1 ] || die "said more than once: $(cat err)"
    [ "$(grep -c 'kernel=cpu-after-failure device=- ' "$log")" = 2 ] || die "the log says: $(cat "$log")"
done
product TESSERA_DEVICE=emu -- 20
says '^20 20 ' out
grep -q 'kernel=cpu-after-failure' "$log" || says ' kernel=[a-z0-9_]+ device=emu ' "$log"

# The log: to stderr, to a file, to one that cannot be, or not at all; batches, which go in one call or one by one.
product TESSERA_LOG_FILE= -- 50
[ "$(grep -c '^tessera-call cblas_dgemm ' err)" = 2 ] || die "no calls on stderr: $(cat err)"
product TESSERA_LOG=words,calls -- 50
need_calls cblas_dgemm 2
product TESSERA_LOG=call -- 50
[ ! -e "$log" ] && [ "$(wc -l <err)" = 1 ] || die "TESSERA_LOG=call logs: $(cat err)"
says '^libtessera_blas: TESSERA_LOG = "call": only "calls" is known' err
product TESSERA_LOG_FILE=/nonexistent/calls -- 50
says '^50 50 ' out
says '^libtessera_blas: TESSERA_LOG_FILE = /nonexistent/calls cannot be written; calls are not logged' err
product TESSERA_LOG_FILE=/nonexistent/calls TESSERA_DEVICE=gpu -- 50
says '^50 50 ' out
[ "$(wc -l <err)" = 2 ] || die "one trouble hides the other: $(cat err)"

# A FIFO: without a reader the program neither waits nor fails; a reader gets the lines; one that goes away, or does not
# read, costs lines and no more.
mkfifo pipe
product TESSERA_LOG_FILE=pipe -- 50
says '^50 50 ' out
says '^libtessera_blas: TESSERA_LOG_FILE = pipe is a pipe that nobody reads; calls are not logged \(said once\)$' err
[ "$(wc -l <err)" = 1 ] || die "said more than once: $(cat err)"
cat pipe >read.txt &
product TESSERA_LOG_FILE=pipe -- 50
wait
[ "$(grep -c '^tessera-call cblas_dgemm ' read.txt)" = 2 ] || die "through the pipe came: $(cat read.txt)"
cat >calls.py <<'PY'
"""calls.py BLAS PIPE COUNT [close]: opens the pipe for reading, makes so many calls without reading, then prints how many
lines came; `close` closes it after the first."""
import ctypes, os, sys
reader = os.open(sys.argv[2], os.O_RDONLY | os.O_NONBLOCK)
blas, one = ctypes.CDLL(sys.argv[1]), ctypes.c_double(1)
a, c = (ctypes.c_double * 4)(1, 1, 1, 1), (ctypes.c_double * 4)()
for i in range(int(sys.argv[3])):
    if i == 1 and sys.argv[4:]:
        os.close(reader)
    blas.cblas_dgemm(101, 111, 111, 2, 2, 2, one, a, 2, a, 2, ctypes.c_double(0), c, 2)
data = b"" if sys.argv[4:] else os.read(reader, 1 << 20)
print(list(c), data.count(b"\n"), data.endswith(b"\n"))
PY
TESSERA_LOG=calls TESSERA_LOG_FILE=pipe timeout 20 python3 calls.py "$blas" "$PWD/pipe" 2000 >out 2>err || die "a pipe that is full: $(cat err)"
says '^\[2.0, 2.0, 2.0, 2.0\] [1-9][0-9]* True$' out
says '^libtessera_blas: TESSERA_LOG_FILE: Resource temporarily unavailable; lines are lost \(said once\)$' err
TESSERA_LOG=calls TESSERA_LOG_FILE=pipe timeout 20 python3 -c '
import signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL) # as in a program that is no Python
sys.argv = sys.argv[1:]
exec(open(sys.argv[0]).read())' calls.py "$blas" "$PWD/pipe" 10 close >out 2>err || die "a reader that left: $? $(cat err)"
says '^\[2.0, 2.0, 2.0, 2.0\] 0 False$' out
says '^libtessera_blas: TESSERA_LOG_FILE: Broken pipe; lines are lost \(said once\)$' err
for stride in 900 -900; do
    product TESSERA_DEVICE=cpu -- 30 batch $stride
    says '^30 30 ' out
    says "^tessera-call cblas_dgemm_batch_strided64_ .* batch=4 stride_a=$stride .* kernel=cpu_[a-z]+_f64 device=cpu .* expected_ns=[1-9]" "$log"
done
product TESSERA_DEVICE=cpu -- 30 wrong
says '^tessera-call cblas_dgemm info=4 ' "$log"
says 'On entry to cblas_dgemm parameter number 4 had an illegal value' err
says '^7 7 ' out
echo "environment: devices, threads and logs as asked for"
