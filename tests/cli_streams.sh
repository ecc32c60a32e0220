#!/usr/bin/env bash
# tessera run between pipes ("-", FIFOs, process substitution), and stacks of matrices.
. "$(dirname "$0")/cli_lib.sh"

run() { "$tessera" run --device cpu "$@"; }
make_matrix A.npy f32 5 7 c 1
make_matrix B.npy f32 7 3 f 2
make_matrix C.npy f32 5 3 f 3

# in_pipe COMMAND...: with A.npy coming through a pipe.
in_pipe() { cat A.npy | "$@"; }
expect 0 "" in_pipe run - B.npy -o D.npy
prints '^D.npy: 5 x 3 f32, K = 7'
succeeds "$npy_tool" product A.npy B.npy D.npy

# Out through a pipe: only the file is on stdout, the summary goes to stderr.
to_pipe() { "$@" | cat >D.npy; }
rm D.npy
expect 0 "*" to_pipe run A.npy B.npy -o - --check
succeeds "$npy_tool" product A.npy B.npy D.npy
succeeds grep -q '^-: 5 x 3 f32, K = 7' err
succeeds grep -q '^checked 15 of 15 elements' err
rm D.npy
expect 0 "" to_pipe run A.npy B.npy -o - -q
succeeds "$npy_tool" product A.npy B.npy D.npy
rm D.npy
expect 0 "" to_pipe run A.npy B.npy -o /dev/stdout -q
succeeds "$npy_tool" product A.npy B.npy D.npy

# A chain of commands; FIFOs on both sides; the C to add; a file as the standard input and output.
checks=$((checks + 1))
cat A.npy | run - B.npy -q -o - | run A.npy - --transa -q -o - >chain.npy || fail "a chain of pipes"
"$npy_tool" product A.npy B.npy D.npy && run A.npy D.npy --transa -q -o whole.npy
succeeds cmp whole.npy chain.npy
mkfifo in.fifo out.fifo
cat B.npy >in.fifo &
cat out.fifo >D.npy &
expect 0 "" run A.npy in.fifo -o out.fifo
prints '^out.fifo: 5 x 3'
wait
succeeds "$npy_tool" product A.npy B.npy D.npy
expect 0 "" run A.npy B.npy --beta 2 --c <(cat C.npy) -o D.npy
succeeds "$npy_tool" axpby A.npy B.npy D.npy 1 2 C.npy
checks=$((checks + 1))
run - B.npy -qo - <A.npy >D.npy || fail "files as standard streams"
succeeds "$npy_tool" product A.npy B.npy D.npy
expect 0 "" run A.npy B.npy -o /dev/null

# What does not work says so.
expect 2 "tessera run: - can be one input only: the standard input is read once" run - - -o D.npy
cut() { head -c 200 A.npy | run - B.npy -o D.npy; }
expect 1 "tessera run: - is truncated: shape (5, 7) of f32 needs 140 bytes of data, 72 are there" cut
more() { cat A.npy A.npy | run - B.npy -o D.npy; }
expect 1 "tessera run: - has more bytes after the 140 of its data" more
expect 1 "tessera run: /dev/zero is not a .npy file: it does not begin with \\x93NUMPY" run /dev/zero B.npy -o D.npy
lies() { printf '\x93NUMPY\x02\x00\xff\xff\xff\x7f{}' | run - B.npy -o D.npy; }
expect 1 "tessera run: - has a header of 2147483659 bytes; at most 1048576 can be read from a pipe" lies
nothing() { run - B.npy -o D.npy </dev/null; }
expect 1 "tessera run: - is empty" nothing
if [ -w /dev/full ]; then
    expect 1 "tessera run: /dev/full cannot be written: No space left on device" run A.npy B.npy -o /dev/full
fi

# Version 3 of the format, whose header's length has four bytes, through a file and a pipe; no elements at all.
version_3() { # DICTIONARY
    printf '\x93NUMPY\x03\x00'"\\x$(printf %02x ${#1})"'\x00\x00\x00%s' "$1"
}
{
    version_3 "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 7), }"
    tail -c 140 A.npy
} >A_3.npy
expect 0 "" run A.npy B.npy -o D.npy
expect 0 "" run A_3.npy B.npy -o D_3.npy
succeeds cmp D.npy D_3.npy
in_pipe_3() { cat A_3.npy | run - B.npy -o D_3.npy; }
rm D_3.npy
expect 0 "" in_pipe_3
succeeds cmp D.npy D_3.npy
rm D.npy D_3.npy
make_matrix none.npy f32 0 7 c
expect 0 "" run none.npy B.npy -o D.npy --check
prints '^D.npy: 0 x 3 f32'
rm D.npy

# The reader is gone: killed by SIGPIPE as other commands are, or told where that is ignored.
make_matrix large.npy f64 300 300 c 7 # more than a pipe holds
gone() { run large.npy large.npy -q -o - | true; return ${PIPESTATUS[0]}; }
expect 141 "" gone
ignored() { (trap '' PIPE; run large.npy large.npy -q -o - | true; exit ${PIPESTATUS[0]}); }
expect 1 "tessera run: - cannot be written: Broken pipe" ignored
# A closed standard stream; a summary that nobody takes: the file is whole.
closed_in() { run - B.npy -o D.npy <&-; }
expect 1 "tessera run: - is empty" closed_in
closed_out() { run A.npy B.npy -o - >&-; }
expect 1 "tessera run: - cannot be written: Bad file descriptor" closed_out
succeeds test ! -e D.npy
if [ -w /dev/full ]; then
    full() { run A.npy B.npy -o - >/dev/full; }
    expect 1 "tessera run: - cannot be written: No space left on device" full
    full_summary() { run A.npy B.npy -o D.npy >/dev/full; }
    expect 1 "tessera run: cannot write to the standard output: No space left on device" full_summary
    succeeds "$npy_tool" product A.npy B.npy D.npy
    rm D.npy
fi

# Interrupted while it waits for its input, for a reader to come, and for one that does not read: nothing is left.
before=$(ls -A | grep -vE '^(out|err)$')
mkfifo waits.fifo
interrupted() { # SIGNAL COMMAND...: its exit code is the signal's
    local signal=$1
    shift
    checks=$((checks + 1))
    timeout --preserve-status -s $signal 0.4 "$tessera" run --device cpu "$@" >out 2>err
    [ $? = $((128 + $(kill -l $signal))) ] || fail "SIG$signal of run $*: $(cat err)"
}
sleep 2 >waits.fifo &
for signal in INT TERM HUP; do
    interrupted $signal waits.fifo B.npy -o D.npy
done
wait
interrupted INT A.npy B.npy -o waits.fifo
sleep 2 <waits.fifo &
interrupted INT large.npy large.npy -o waits.fifo
wait
rm waits.fifo
succeeds test "$(ls -A | grep -vE '^(out|err)$')" = "$before"

# ---- stacks: problem by problem they are the products of the matrices they were made of ----
for i in 0 1 2; do
    make_matrix A$i.npy f32 5 7 c 1$i
    make_matrix B$i.npy f32 7 3 c 2$i
    make_matrix C$i.npy f32 5 3 c 3$i
    "$npy_tool" transpose A$i.npy At$i.npy
done
stacked() { # FILE COUNT: the stack's matrices as got0.npy, ...
    local i
    for i in $(seq 0 $(($2 - 1))); do
        "$npy_tool" slice "$1" $i got$i.npy || fail "no matrix $i in $1"
    done
}
for order in c f; do
    "$npy_tool" stack A.npy $order A0.npy A1.npy A2.npy
    "$npy_tool" stack At.npy $order At0.npy At1.npy At2.npy
    "$npy_tool" stack B.npy $order B0.npy B1.npy B2.npy
    "$npy_tool" stack C.npy $order C0.npy C1.npy C2.npy
    "$npy_tool" stack one.npy $order B1.npy
    expect 0 "" run A.npy B.npy -o D.npy --check
    prints '^D.npy: 3 of 5 x 3 f32, K = 7'
    prints '^checked 45 of 45 elements against float64: all within the bound; worst at \([0-2], [0-4], [0-2]\)'
    stacked D.npy 3
    for i in 0 1 2; do succeeds "$npy_tool" product A$i.npy B$i.npy got$i.npy; done
    expect 0 "" run At.npy B.npy --transa -o D.npy --alpha 2 --beta=-1 --c C.npy --check
    stacked D.npy 3
    for i in 0 1 2; do succeeds "$npy_tool" axpby A$i.npy B$i.npy got$i.npy 2 -1 C$i.npy; done
    # A matrix, or a stack of one, beside a stack.
    for b in B1.npy one.npy; do
        expect 0 "" run A.npy $b -o D.npy --beta 1 --c C2.npy
        stacked D.npy 3
        for i in 0 1 2; do succeeds "$npy_tool" axpby A$i.npy B1.npy got$i.npy 1 1 C2.npy; done
    done
    expect 0 "" run A0.npy B.npy -o D.npy --dtype f64 --check
    stacked D.npy 3
    for i in 0 1 2; do succeeds "$npy_tool" product A0.npy B$i.npy got$i.npy; done
    checks=$((checks + 1))
    cat B.npy | run A.npy - -q -o - | cmp - <(run A.npy B.npy -q -o -) || fail "a stack through a pipe"
done
"$npy_tool" stack two.npy c B0.npy B1.npy
expect 1 "tessera run: A.npy is a stack of 3 matrices and two.npy of 2" run A.npy two.npy -o D.npy
# A stack of no matrices is one too.
version_3 "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5, 7), }" >empty.npy
expect 0 "" run empty.npy B1.npy -o D.npy --check
prints '^D.npy: 0 of 5 x 3 f32'
expect 1 "tessera run: empty.npy is a stack of 0 matrices and two.npy of 2" run empty.npy two.npy -o D.npy

finish
