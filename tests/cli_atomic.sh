#!/usr/bin/env bash
# However a run ends, the output file is the old one or the new one, whole, and nothing else is left behind.
. "$(dirname "$0")/cli_lib.sh"

make_matrix A.npy f64 1000 3000 c 1
make_matrix B.npy f64 3000 1000 f 2
make_matrix old.npy f64 3 3 c 3
cp old.npy D.npy
before=$(ls -A | grep -vE '^(out|err)$')

# Seconds of a whole run with the slowest kernel; killed well before its end.
for signal in KILL INT TERM HUP; do
    for after in 0.05 0.2 0.4; do
        checks=$((checks + 1))
        { # the shell reports what SIGKILL ended; nobody needs to read that
            timeout --preserve-status -s $signal $after "$tessera" run A.npy B.npy -o D.npy --kernel cpu-sequential \
                --device cpu >out 2>err
            code=$?
        } 2>/dev/null
        want=$((128 + $(kill -l $signal)))
        [ $code = $want ] || fail "SIG$signal after $after s: exit code $code, not $want"
        cmp -s old.npy D.npy || fail "SIG$signal after $after s changed D.npy"
        # Only SIGKILL, and only on a file system without nameless files, may leave the temporary file.
        left=$(ls -A | grep -vE '^(out|err)$')
        [ $signal != KILL ] || left=$(echo "$left" | grep -v '^\.tessera-.*\.tmp$')
        [ "$left" = "$before" ] || fail "SIG$signal after $after s leaves $left"
        rm -f .tessera-*.tmp
    done
done

# A file size limit is a full disk's little brother: an error, the old file, no trace. SIGXFSZ is ignored as the shell's
# trap says, so that the write fails instead.
checks=$((checks + 1))
(
    trap '' XFSZ
    ulimit -f 1000
    "$tessera" run A.npy B.npy -o D.npy --device cpu
) >out 2>err
[ $? = 1 ] || fail "a file size limit is no error"
grep -q "^tessera run: D.npy cannot be written: 8000128 bytes: File too large$" err || fail "file size limit: $(cat err)"
cmp -s old.npy D.npy || fail "a file size limit changed D.npy"
[ "$(ls -A | grep -vE '^(out|err)$')" = "$before" ] || fail "a file size limit leaves $(ls -A)"

# A folder that cannot be written to.
if [ "$(id -u)" != 0 ]; then
    mkdir locked && chmod 500 locked
    expect 1 "tessera run: locked/D.npy cannot be written: Permission denied" \
        "$tessera" run old.npy old.npy -o locked/D.npy --device cpu
    chmod 700 locked
fi

# The mode is the umask's; a link's target is replaced, not the link; inputs may be the output.
(umask 027 && "$tessera" run old.npy old.npy -o new.npy --device cpu -q) || fail "umask 027"
checks=$((checks + 1))
[ "$(stat -c %a new.npy)" = 640 ] || fail "mode $(stat -c %a new.npy), not 640"
ln -s new.npy link.npy
cp old.npy same.npy
expect 0 "" "$tessera" run old.npy old.npy -o link.npy --device cpu
succeeds test -L link.npy
succeeds "$npy_tool" product old.npy old.npy new.npy
expect 0 "" "$tessera" run same.npy same.npy -o same.npy --device cpu
succeeds "$npy_tool" product old.npy old.npy same.npy

finish
