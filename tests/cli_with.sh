#!/usr/bin/env bash
# tessera with: what is preloaded, that arguments and exit codes are the program's, and what cannot be started.
. "$(dirname "$0")/cli_lib.sh"

here=$(dirname "$tessera")
if ldd "$here/libtessera_blas.so.0" 2>/dev/null | grep -E 'lib[aut][a-z]*san' >/dev/null; then
    echo "a sanitized library cannot be preloaded into a program that is not"
    exit 77
fi
unset LD_PRELOAD

expect 2 "tessera with: COMMAND is missing: usage is tessera with [--] COMMAND [ARGUMENT...]" "$tessera" with
expect 2 "tessera with: COMMAND is missing: usage is tessera with [--] COMMAND [ARGUMENT...]" "$tessera" with --
expect 2 "tessera with: unknown option --fast" "$tessera" with --fast true
expect 0 "" "$tessera" with --help
prints 'COMMAND +the program to run'

expect 0 "" "$tessera" with -- env
prints '^LD_PRELOAD=/.*/libtessera_cublas[.]so[^:]*:/.*/libtessera_blas[.]so[^:]*$'
expect 0 "" env LD_PRELOAD="$here/libtessera_blas.so.0" "$tessera" with env
prints "^LD_PRELOAD=/.*/libtessera_cublas[.]so[^:]*:/.*/libtessera_blas[.]so[^:]*:$here/libtessera_blas.so.0\$"
# Both are really there.
expect 0 "" "$tessera" with cat /proc/self/maps
prints 'libtessera_cublas[.]so'
prints 'libtessera_blas[.]so'

# Arguments that look like ours are the program's.
expect 0 "" "$tessera" with printf '%s.' --help -h -- 'a b'
succeeds test "$(cat out)" = '--help.-h.--.a b.'
expect 0 "" "$tessera" with -- printf '%s.' --
succeeds test "$(cat out)" = '--.'
expect 7 "" "$tessera" with sh -c 'exit 7'
expect 127 "tessera with: no-such-program: No such file or directory" "$tessera" with no-such-program --help
touch plain
expect 126 "tessera with: ./plain: Permission denied" "$tessera" with ./plain

# A command without its libraries says so.
mkdir -p moved/bin
cp "$tessera" moved/bin/
expect 1 "tessera with: there is no libtessera_cublas.so.0 beside this command or in its library folder" \
    moved/bin/tessera with true

# LD_PRELOAD cannot name every folder.
for place in 'a folder' 'a:folder'; do
    mkdir -p "$place"
    cp "$tessera" "$here"/libtessera.so.0 "$here"/libtessera_cublas.so.0 "$here"/libtessera_blas.so.0 "$place/"
    expect 1 "tessera with: $(pwd -P)/$place/libtessera_cublas.so.0: LD_PRELOAD cannot name a path with a space or a \
colon" "$place/tessera" with true
done
finish
