#!/usr/bin/env bash
# tessera run: dtypes, orders, transposes, factors, conversions; every answer compared with a product of the test's own.
. "$(dirname "$0")/cli_lib.sh"

run() { "$tessera" run "$@"; }

# Every dtype, order and transpose. A is 5 x 7 and B 7 x 3, as they are multiplied.
for dtype in f16 f32 f64; do
    for order_a in c f; do
        for order_b in c f; do
            make_matrix A.npy $dtype 5 7 $order_a 1
            make_matrix B.npy $dtype 7 3 $order_b 2
            "$npy_tool" transpose A.npy At.npy
            "$npy_tool" transpose B.npy Bt.npy
            expect 0 "" run A.npy B.npy -o nn.npy --device cpu
            prints "^nn.npy: 5 x 3 $dtype, K = 7, cpu_[a-z]+_$dtype on cpu, [0-9.]+ [num]?s, [0-9.]+ [KMG]?FLOP/s$"
            expect 0 "" run At.npy B.npy -o tn.npy --transa --device cpu --kernel cpu-sequential
            prints "cpu_sequential_$dtype on cpu"
            expect 0 "" run A.npy Bt.npy -o nt.npy --transb --device cpu --check
            prints "^checked 15 of 15 elements against float64: all within the bound"
            succeeds grep -Eq "of all, error up to [0-9.e+-]+, relative error up to [0-9.e+-]+$" <(tr '\n' ' ' <out | sed 's/  */ /g; s/ $//')
            fits_terminal
            expect 0 "" run At.npy Bt.npy -o tt.npy --transa --transb --device cpu -q
            [ ! -s out ] || fail "--quiet prints $(cat out)"
            for answer in nn tn nt tt; do
                succeeds "$npy_tool" product A.npy B.npy $answer.npy
            done
        done
    done
done

# alpha, beta, C in either order, in place; the result is in C order.
make_matrix A.npy f32 33 20 c 3
make_matrix B.npy f32 20 70 f 4
for order in c f; do
    make_matrix C.npy f32 33 70 $order 5
    cp C.npy D.npy
    expect 0 "" run A.npy B.npy -o D.npy --alpha 2 --beta=-1 --c D.npy --device cpu --check
    succeeds "$npy_tool" axpby A.npy B.npy D.npy 2 -1 C.npy
    expect 0 "" run A.npy B.npy -o D.npy --alpha 0 --beta 3 --c C.npy --device cpu --check
    succeeds "$npy_tool" axpby A.npy B.npy D.npy 0 3 C.npy
done

# Conversions are asked for, and then exact here.
make_matrix B64.npy f64 20 70 f 4
make_matrix C16.npy f16 33 70 f 5
expect 1 "tessera run: A.npy holds f32 and B64.npy f64; --dtype says in which type to compute" run A.npy B64.npy -o D.npy
expect 1 "tessera run: A.npy holds f32 and C16.npy f16; --dtype says in which type to compute" \
    run A.npy B.npy --beta 1 --c C16.npy -o D.npy
for dtype in f16 f32 f64; do
    expect 0 "" run A.npy B64.npy -o D.npy --beta 2 --c C16.npy --dtype $dtype --device cpu --check
    prints "33 x 70 $dtype"
    succeeds "$npy_tool" axpby A.npy B64.npy D.npy 1 2 C16.npy
done

# Factors that the type of the sums cannot hold, too large or too small; and sums that overflow by themselves.
fits="(1.4013e-45 to 3.40282e+38, and 0); --dtype f64 computes in f64"
expect 2 "tessera run: --alpha 1e+300 is beyond f32, in which f32 products are computed $fits" \
    run A.npy B.npy -o none.npy --alpha 1e300 --check
expect 2 "tessera run: --alpha -1e-60 is beyond f32, in which f16 products are computed $fits" \
    run A.npy B.npy -o none.npy --alpha=-1e-60 --dtype f16
expect 2 "tessera run: --beta 3.5e+38 is beyond f32, in which f32 products are computed $fits" \
    run A.npy B.npy -o none.npy --beta 3.5e38 --c C.npy
succeeds test ! -e none.npy
expect 0 "" run A.npy B.npy -o D.npy --alpha 1e300 --dtype f64 --device cpu --check
prints 'all within the bound'
expect 0 "" run A.npy B.npy -o D.npy --alpha 3e38 --device cpu --check
prints '^checked 2310 of 2310 elements against float64: [1-9][0-9]* overflow f32 and have no bound; of the others'
# Sums are made before alpha: those of squares of numbers near 1e25 are infinite, whatever alpha makes of them.
expect 0 "" run A.npy B.npy -o large.npy --alpha 1e25 --device cpu
for device in cpu emu; do
    expect 0 "" run large.npy large.npy --transb -o D.npy --alpha 1e-30 --device $device --check
    prints '^checked 1089 of 1089 elements against float64: 1089 overflow f32 and have no bound; of the others'
done
rm large.npy

# A kernel by a schedule of its own, and what is no schedule of it.
make_matrix one.npy f32 1 512 c 5
make_matrix wide.npy f32 512 128 c 6
expect 0 "" run one.npy wide.npy -o parts.npy --device emu --kernel thin@split-k=3
prints "thin_f32_1_a1 on emu"
succeeds "$npy_tool" product one.npy wide.npy parts.npy
none="tessera run: --kernel \"thin@split-k=99\" does not run f32 x f32 -> f32 on emu; nearest: thin_f32_1_a4: split-k = 99:"
expect 1 "$none this instance has at most 64" run one.npy wide.npy -o parts.npy --device emu --kernel thin@split-k=99
expect 2 "tessera run: --kernel needs the name of a kernel, not 'thim'; did you mean thin?" run one.npy wide.npy -o parts.npy \
    --kernel thim@split-k=3

# An epilogue: of the product, of C too, of a stack, and where nothing is multiplied; on the CPU and in the emulator.
for dtype in f16 f32 f64; do
    make_matrix P.npy $dtype 9 6 c 11
    make_matrix Q.npy $dtype 6 13 c 12
    make_matrix O.npy $dtype 9 13 c 13
    make_matrix row.npy $dtype 1 13 c 14
    "$npy_tool" vector row.npy bias.npy
    expect 0 "" run P.npy Q.npy -o acc.npy --beta 2 --c O.npy --device cpu
    expect 0 "" run P.npy Q.npy -o D.npy --beta 2 --c O.npy --epilogue "acc + bias[n]" --bind bias=bias.npy --device cpu --check
    prints '^checked 117 of 117 elements against float64: all within the bound'
    succeeds "$npy_tool" form acc.npy row.npy D.npy bias
    expect 0 "" run P.npy Q.npy -o D.npy --beta 2 --c O.npy --epilogue "relu(acc+bias[n])" --bind bias=bias.npy --device cpu --check
    succeeds "$npy_tool" form acc.npy row.npy D.npy relu
    expect 0 "" run P.npy Q.npy -o D.npy --beta 2 --c O.npy --epilogue "relu(acc+bias[n])" --bind bias=- --device cpu <bias.npy
    succeeds "$npy_tool" form acc.npy row.npy D.npy relu
done
"$npy_tool" stack PP.npy c P.npy P.npy
expect 0 "" run PP.npy Q.npy -o DD.npy --epilogue "relu(acc + bias[n])" --bind bias=bias.npy --device cpu --check
"$npy_tool" slice DD.npy 1 D.npy
expect 0 "" run P.npy Q.npy -o acc.npy --device cpu
succeeds "$npy_tool" form acc.npy row.npy D.npy relu
make_matrix P0.npy f64 9 0 c
make_matrix Q0.npy f64 0 13 c
expect 0 "" run P0.npy Q0.npy -o D.npy --epilogue "acc + bias[n]" --bind bias=bias.npy --device cpu --check
make_matrix row32.npy f32 1 13 c 14
"$npy_tool" vector row32.npy bias32.npy
expect 1 "tessera run: P.npy holds f64 and bias32.npy f32; --dtype says in which type to compute" \
    run P.npy Q.npy -o D.npy --epilogue "acc + bias[n]" --bind bias=bias32.npy
expect 0 "" run P.npy Q.npy -o D.npy --epilogue "acc + bias[n]" --bind bias=bias32.npy --dtype f64 --device cpu
succeeds "$npy_tool" form acc.npy row.npy D.npy bias
expect 1 "tessera run: row.npy has shape (1, 13), 2 dimensions; a vector has 1: in NumPy a.ravel() makes it one" \
    run P.npy Q.npy -o D.npy --epilogue "acc + bias[n]" --bind bias=row.npy
expect 1 "tessera run: bias.npy has 13 values; the product has 9 columns, each with one" \
    run Q.npy P.npy -o D.npy --transa --transb --epilogue "acc + bias[n]" --bind bias=bias.npy
expect 2 "tessera run: --epilogue \"max(acc)\": only \"acc + bias[n]\" and \"relu(acc + bias[n])\" are supported yet" \
    run P.npy Q.npy -o none.npy --epilogue "max(acc)" --bind bias=bias.npy --device cpu
expect 2 "tessera run: --epilogue needs --bind bias=FILE, a vector with a value for each column" \
    run P.npy Q.npy -o none.npy --epilogue "acc + bias[n]"
expect 2 "tessera run: --bind bias=bias.npy would not be read: there is no --epilogue" \
    run P.npy Q.npy -o none.npy --bind bias=bias.npy
expect 2 "tessera run: --bind needs bias=FILE, not 'scale=bias.npy'" \
    run P.npy Q.npy -o none.npy --epilogue "acc + bias[n]" --bind scale=bias.npy
expect 2 "tessera run: --bind is given twice" \
    run P.npy Q.npy -o none.npy --epilogue "acc + bias[n]" --bind bias=bias.npy --bind bias=row.npy
succeeds test ! -e none.npy

# TESSERA_DEVICE is the default of --device.
TESSERA_DEVICE=cpu expect 0 "" run A.npy B.npy -o D.npy
prints ' on cpu, '
TESSERA_DEVICE=cuda:99 expect 1 "*" run A.npy B.npy -o D.npy
succeeds grep -q 'cuda:99\|no such device\|no GPU\|libcuda' err
TESSERA_DEVICE=gpu expect 2 "tessera run: TESSERA_DEVICE needs one of auto, cpu, emu, cuda:N, not 'gpu'" run A.npy B.npy -o D.npy
TESSERA_DEVICE=gpu expect 0 "" run A.npy B.npy -o D.npy --device cpu
TESSERA_DEVICE= expect 0 "" run A.npy B.npy -o D.npy
TESSERA_DEVICE=cpu expect 0 "" "$tessera" route 5 5 5
prints '^5 x 5 x 5 f32 nn on cpu, '

# Nothing to add up, and nothing at all.
make_matrix A0.npy f32 4 0 c
make_matrix B0.npy f32 0 5 c
make_matrix E.npy f32 0 3 c
make_matrix F.npy f32 3 6 c
expect 0 "" run A0.npy B0.npy -o D.npy --check --device cpu
succeeds "$npy_tool" product A0.npy B0.npy D.npy
expect 0 "" run E.npy F.npy -o D.npy --check --device cpu
prints '^D.npy: 0 x 6 f32, K = 3, cpu_[a-z]+_f32 on cpu, [0-9.]+ [num]?s, -$'
succeeds "$npy_tool" product E.npy F.npy D.npy

# Shapes that do not fit.
expect 1 "tessera run: A.npy is 33 x 20 and A.npy 33 x 20: the columns of A (20) must equal the rows of B (33)" \
    run A.npy A.npy -o D.npy
expect 1 "tessera run: A.npy's transpose is 20 x 33 and B.npy's transpose 70 x 20: the columns of A (33) must equal the rows of B (70)" \
    run A.npy B.npy --transa --transb -o D.npy
expect 1 "tessera run: F.npy is 3 x 6; the product is 33 x 70" run A.npy B.npy --beta 1 --c F.npy -o D.npy

# Kernels and devices that cannot.
expect 1 "*" run A.npy B.npy -o none.npy --kernel tiled --device cpu
succeeds grep -q "^tessera run: --kernel \"tiled\" does not run f32 x f32 -> f32 on cpu; nearest: " err
expect 1 "*" run A.npy B.npy -o none.npy --device cuda:99
succeeds grep -q "^tessera run: ." err

# Outputs that cannot be.
expect 1 "tessera run: . cannot be written: it is a directory" run A.npy B.npy -o .
expect 1 "tessera run: no/where.npy cannot be written: No such file or directory" run A.npy B.npy -o no/where.npy
[ ! -e none.npy ] || fail "none.npy exists"

# On a terminal, and only there, a run of more than two seconds shows that it is alive, and wipes the line in the end.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then # not everywhere is a terminal to be had
    make_matrix long-a.npy f64 1000 2500 c
    make_matrix long-b.npy f64 2500 1000 c
    checks=$((checks + 1))
    script -qec "'$tessera' run long-a.npy long-b.npy -o D.npy --kernel cpu-sequential --device cpu --threads 1" \
        /dev/null >out 2>&1 </dev/null || fail "a run on a terminal: $(cat out)"
    if grep -q '^D.npy: 1000 x 1000 f64, K = 2500, cpu_sequential_f64 on cpu, [3-9]\.[0-9]* s' out; then
        prints $'^\r''multiplying 1000 x 1000 x 2500 on cpu  [0-9]+ s'
    fi
    prints '(^|K)D.npy: 1000 x 1000 f64'
fi

# "-" and "--": files may have any name.
cp A.npy -- --a.npy
expect 0 "" run -o D.npy --device cpu -- --a.npy B.npy
succeeds "$npy_tool" product A.npy B.npy D.npy
expect 2 "tessera run: unknown option --a.npy" run -o D.npy --a.npy B.npy

# verify takes kernels of several kinds of devices; each runs where it can.
expect 0 "" "$tessera" verify --kernel naive,cpu_sequential_f32,naive_f32 --small --every 40
prints '^cpu_sequential_f32 +cpu '
prints '^naive_f32 +(emu|cuda:0) '
prints '^4 of 4 kernels passed'
# Kernels that never partition K have no schedule to force; that is no failure.
expect 0 "" "$tessera" verify --schedules --kernel cpu_sequential_f32,cpu_tiled_f64 --device cpu
prints '^cpu_sequential_f32 +cpu +0 +0 +0 +- +- +-$'
prints '^  no case applies: the kernel never partitions K, so it has no schedules$'
prints '^0 of 0 kernels passed, 2 without schedules, 0 cases '
expect 0 "" "$tessera" verify --schedules --kernel cpu_sequential_f32 --device cpu --format json
prints '"passed": true, .*"cases": 0, .*"refusal": "the kernel never partitions K, so it has no schedules"'
expect 0 "" "$tessera" verify --schedules --kernel naive_f32,stream_k_f32_64x128_a4 --device emu --every 60
prints '^1 of 1 kernels passed, 1 without schedules, [1-9]'
expect 1 "tessera verify: --kernel \"naive\": does not run on this device; this device has: cpu-sequential, cpu-tiled" \
    "$tessera" verify --kernel cpu-tiled,naive --device cpu

# Elements of 8 bits, and types that NumPy has no name for, as ml_dtypes writes them.
raw() { # FILE DESCR SHAPE BYTES
    local header="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
    printf "\\x93NUMPY\\x01\\x00\\x$(printf %02x ${#header})\\x00%s$4" "$header" >"$1"
}
holds() { # FILE BYTES-IN-HEX: its last bytes
    checks=$((checks + 1))
    local got
    got=$(tail -c $((${#2} / 2)) "$1" | od -An -tx1 -v | tr -d ' \n')
    [ "$got" = "$2" ] || fail "$1 ends with $got, not $2"
}
raw V.npy '<V1' '(2, 2)' '\x38\x40\x40\x38' # e4m3: 1 2; 2 1
raw I.npy '|V1' '(2, 2)' '\x38\x00\x00\x38' # 1 0; 0 1
expect 1 "tessera run: V.npy does not say what its elements of 1 byte are; --dtype e4m3, s8 or u8 does" \
    run V.npy I.npy -o D.npy
expect 1 "tessera run: I.npy does not say what its elements of 1 byte are; --dtype e4m3, e5m2, s8 or u8 does" \
    run I.npy V.npy -o D.npy
expect 1 "tessera run: V.npy holds elements of dtype '<V1', as which ml_dtypes saves e4m3 but never e5m2 ('<f1'), which --dtype says" \
    run V.npy I.npy -o D.npy --dtype e5m2
expect 1 "tessera run: V.npy has elements of 1 byte, which cannot be bf16" run V.npy I.npy -o D.npy --dtype bf16
expect 0 "" run V.npy I.npy -o D.npy --dtype e4m3 --out-dtype e4m3 --device cpu --check
prints "D.npy: 2 x 2 e4m3, K = 2, cpu_[a-z]+_fp8 on cpu"
holds D.npy 38404038
expect 0 "" run V.npy V.npy -o D.npy --dtype e4m3 --device cpu --check # bf16 by itself: 5 4; 4 5
holds D.npy a04080408040a040
expect 1 "tessera run: V.npy has elements of 1 byte, which cannot be f32" \
    run V.npy V.npy -o D.npy --dtype e4m3 --out-dtype f32 --beta 1 --c V.npy
expect 0 "" run V.npy V.npy -o D.npy --dtype e4m3 --out-dtype e4m3 --beta 1 --c V.npy --device cpu --check # 6 6; 6 6
holds D.npy 4c4c4c4c
# '<f1' is e5m2, whatever --dtype says: then the numbers are converted.
raw E.npy '<f1' '(2, 2)' '\x3c\x40\x40\x3c' # 1 2; 2 1
expect 0 "" run E.npy E.npy -o D.npy --device cpu --check
holds D.npy a04080408040a040
expect 0 "" run V.npy E.npy -o D.npy --dtype e4m3 --device cpu --check
holds D.npy a04080408040a040
# Types that mix: files that say so need no option.
expect 1 "tessera run: V.npy does not say what its elements of 1 byte are; --dtype-b e4m3, s8 or u8 does" \
    run E.npy V.npy -o D.npy
expect 0 "" run E.npy V.npy -o D.npy --dtype-b e4m3 --device cpu --check
holds D.npy a04080408040a040
raw F.npy '<f1' '(2, 2)' '\x01\x40\x40\x7b' # 2^-16 2; 2 57344: e4m3 has neither the first nor the last
expect 0 "" run V.npy F.npy -o D.npy --dtype e4m3 --dtype-b e5m2 --out-dtype f32 --device cpu --check
holds D.npy 200080400001e0478000004000046047
raw S.npy '|i1' '(1, 2)' '\x01\xff'
raw U.npy '|u1' '(2, 1)' '\xc8\x01' # 200 1
expect 0 "" run S.npy U.npy -o D.npy --device cpu --check
prints "D.npy: 1 x 1 s32"
holds D.npy c7000000
expect 1 "tessera run: S.npy holds s8 and E.npy e5m2; --dtype says in which type to compute" run S.npy E.npy -o D.npy
expect 2 "tessera run: --dtype-b f32: must be that of A (s8) or u8" run S.npy U.npy -o D.npy --dtype-b f32
raw T.npy '|i1' '(2, 1)' '\x02\x05'
expect 0 "" run S.npy T.npy -o D.npy --device cpu --check
prints "D.npy: 1 x 1 s32"
holds D.npy fdffffff
expect 0 "" run S.npy T.npy -o D.npy --out-dtype f32 --device cpu --check
holds D.npy 000040c0
# Results in s32 wrap around, in the sum, in alpha * sum and in what beta * C adds; so does the reference of --check.
raw X.npy '<i4' '(1, 1)' '\xff\xff\xff\x7f'
expect 0 "" run S.npy T.npy -o D.npy --alpha 2000000000 --device cpu --check # -6e9 + 2^33
holds D.npy 00445f9a
expect 0 "" run S.npy T.npy -o D.npy --alpha=-1 --beta 3 --c X.npy --device cpu --check # 3 + 3 * (2^31 - 1) - 2^32
holds D.npy 00000080
raw w.npy '<i4' '(1,)' '\x01\x00\x00\x00'
expect 2 "tessera run: --epilogue: not for results in s32; --out-dtype f32, f16 or bf16" \
    run S.npy T.npy -o none.npy --epilogue "acc + bias[n]" --bind bias=w.npy --device cpu
raw long-s.npy '|u1' '(1, 40000)' "$(printf '%40000s' | sed 's/ /\\xff/g')"
raw long-t.npy '|u1' '(40000, 1)' "$(printf '%40000s' | sed 's/ /\\xff/g')"
expect 0 "" run long-s.npy long-t.npy -o D.npy --device cpu --check # 40000 * 255^2 - 2^32
holds D.npy 401c089b
expect 0 "" run long-s.npy long-t.npy -o D.npy --out-dtype f32 --device cpu --check
holds D.npy c8efc9ce
raw W.npy '<i4' '(1, 2)' '\x01\x00\x00\x00\x02\x00\x00\x00'
raw none-a.npy '<f4' '(0, 3, 4)' ''
raw none-b.npy '<f4' '(0, 4, 5)' ''
expect 0 "" run none-a.npy none-b.npy -o D.npy --device cpu --check
prints '^D.npy: 0 of 3 x 5 f32, K = 4, cpu_[a-z]+_f32 on cpu, 0.000 ns, -$'
expect 1 "tessera run: W.npy: A and B cannot be s32; --dtype says in which type to compute" run W.npy T.npy -o D.npy
expect 2 "tessera run: --out-dtype e4m3: no result of s8 operands" run S.npy T.npy -o none.npy --out-dtype e4m3

# Scales: the count says which elements share one; those of blocks are named.
raw one.npy '<f4' '(1,)' '\x00\x00\x00\x40'                  # 2
raw two.npy '<f4' '(2,)' '\x00\x00\x00\x3f\x00\x00\x80\x3f' # 0.5 1
raw four.npy '<f4' '(4,)' '\x00\x00\x80\x3f\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00' # 1; three are not read
scaled="run E.npy E.npy -o D.npy --device cpu --check -q" # 5 4; 4 5
expect 0 "" $scaled --scale-a one.npy --scale-b one.npy # 20 16; 16 20
holds D.npy a04180418041a041
expect 0 "" $scaled --scale-a two.npy # 2.5 2; 4 5
holds D.npy 204000408040a040
expect 0 "" $scaled --scale-a two.npy --scale-b four.npy --scales 1x128:128x128
holds D.npy 204000408040a040
expect 1 "tessera run: four.npy has 4 scales; A has 1, or 2, one for each row; --scales names those of blocks" \
    $scaled --scale-a four.npy
expect 1 "tessera run: two.npy has 2 scales; those of B, which --scales names, are 4" \
    $scaled --scale-b two.npy --scales 1x128:128x128
expect 1 "tessera run: E.npy has shape (2, 2), 2 dimensions; a vector has 1: in NumPy a.ravel() makes it one" \
    $scaled --scale-a E.npy
expect 2 "tessera run: --scales needs --scale-a FILE, --scale-b FILE or both" $scaled --scales vector
expect 0 "" run S.npy T.npy -o D.npy --out-dtype f32 --scale-a one.npy --device cpu --check -q # -6
holds D.npy 0000c0c0
# What is wrong with scales is told of the option that gives them: with types, in the arguments; with numbers, in files.
expect 2 "tessera run: --scale-a: a result in s32 takes no scales; --out-dtype f32, f16 or bf16" \
    run S.npy T.npy -o none.npy --scale-a one.npy --device cpu
expect 2 "tessera run: --scale-b: only operands of 8 bits have scales, not f32" \
    run A.npy B.npy -o none.npy --scale-b one.npy --device cpu
expect 2 "tessera run: --scales 1x128: only 8-bit floats have scales of blocks, not s8" \
    run S.npy T.npy -o none.npy --out-dtype f32 --scale-a one.npy --scales 1x128 --device cpu
expect 2 "tessera run: --scales 1x128: scales of blocks multiply sums that --compute fast leaves whole" \
    $scaled --scale-a two.npy --scales 1x128 --compute fast
expect 2 "tessera run: --scale-a: must be --scales tensor with a compressed operand" \
    $scaled --scale-a two.npy --sparse b --prune
raw nan.npy '<f4' '(1,)' '\x00\x00\xc0\x7f'
raw nans.npy '<f4' '(2,)' '\x00\x00\x80\x3f\x00\x00\xc0\x7f'
expect 1 "tessera run: --scale-a = nan: must be a number" $scaled --scale-a nan.npy
expect 1 "tessera run: --scale-b[1] = nan: must be a number" $scaled --scale-b nans.npy

# Numbers beyond an integer type are saturated, and that is said; --quiet is quiet.
raw R.npy '<f4' '(1, 2)' '\x00\x00\x96\x43\x00\x00\x80\xbf' # 300 -1
raw N.npy '<f4' '(2, 1)' '\x00\x00\xc0\x7f\x00\x00\x80\x3f' # NaN 1
saturated() { # FILE COUNT ELEMENTS TYPE RANGE
    echo "tessera run: $1: $2 of $3 elements $([ $2 = 1 ] && echo becomes || echo become) the end of $4, which ranges from $5"
}
expect 0 "$(saturated R.npy 1 2 s8 '-128 to 127')" run R.npy T.npy -o D.npy --dtype s8 --device cpu --check # 254 - 5
holds D.npy f9000000
expect 0 "$(saturated R.npy 2 2 u8 '0 to 255')" \
    run R.npy T.npy -o D.npy --dtype u8 --device cpu --check # 510 + 0
holds D.npy fe010000
expect 0 "tessera run: N.npy: 1 of 2 elements is NaN, which becomes 0 in s8" \
    run S.npy N.npy -o D.npy --dtype s8 --device cpu --check
holds D.npy ffffffff
expect 0 "" run R.npy T.npy -o D.npy --dtype s8 --device cpu -q
expect 0 "" run S.npy T.npy -o D.npy --dtype s8 --device cpu
# Beyond a type of floats they become infinite, or NaN in e4m3.
raw G.npy '<f4' '(1, 4)' '\x00\x00\xe8\x43\x00\x00\xe1\xc3\x00\x00\x80\x7f\x00\x20\x80\x47' # 464 -450 inf 65600
raw H.npy '<f4' '(4, 1)' '\x00\x00\x80\x3f\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00' # 1 0 0 0
lost() { # FILE COUNT ELEMENTS WHAT TYPE RANGE
    echo "tessera run: $1: $2 of $3 elements $([ $2 = 1 ] && echo becomes || echo become) $4 in $5, which ranges from $6"
}
expect 0 "$(lost G.npy 2 4 NaN e4m3 '-448 to 448')" run G.npy H.npy -o D.npy --dtype e4m3 --device cpu
expect 0 "$(lost G.npy 1 4 infinite e5m2 '-57344 to 57344')" run G.npy H.npy -o D.npy --dtype e5m2 --device cpu
expect 0 "$(lost G.npy 1 4 infinite f16 '-65504 to 65504')" run G.npy H.npy -o D.npy --dtype f16 --device cpu
expect 0 "$(lost G.npy 2 4 NaN e4m3 '-448 to 448')" \
    run H.npy G.npy -o D.npy --dtype e5m2 --dtype-b e4m3 --transa --transb --device cpu
expect 0 "" run G.npy H.npy -o D.npy --dtype bf16 --device cpu
expect 0 "" run G.npy H.npy -o D.npy --dtype e4m3 --device cpu -q
raw Y.npy '<f4' '(1, 1)' '\x00\x00\x00\x4f' # 2^31
expect 0 "$(saturated Y.npy 1 1 s32 '-2147483648 to 2147483647')" \
    run S.npy T.npy -o D.npy --beta 1 --c Y.npy --out-dtype s32 --device cpu --check
holds D.npy fcffff7f

# What the library refuses is told in the options' names, not in those of its structs.
make_matrix F.npy f32 8 8 c
expect 2 "tessera run: --alpha 0.5: must be a whole number of 32 bits where the result is s32" \
    run F.npy F.npy -o none.npy --dtype s8 --alpha 0.5 --device cpu

# Types that do not go together: the arguments are wrong, as in all commands; files that do not fit are a failure.
expect 2 "tessera run: --dtype-b f16: must be that of A (f32)" run F.npy F.npy -o none.npy --dtype-b f16
expect 2 "tessera run: --out-dtype f64: no result of f32 operands" run F.npy F.npy -o none.npy --out-dtype f64
expect 2 "tessera run: --compute tf32: not for f64 operands" run F.npy F.npy -o none.npy --dtype f64 --compute tf32
expect 2 "tessera run: --beta 2147483648: must be a whole number of 32 bits where the result is s32" \
    run S.npy T.npy -o none.npy --beta 2147483648 --c X.npy
succeeds test ! -e none.npy

# Products below f32's normal numbers, each rounded to a multiple of 2^-149: 2^-75 * (1, 1) times 2^-75 * (1, 1)'.
raw little.npy '<f4' '(1, 2)' '\x00\x00\x00\x1a\x00\x00\x00\x1a'
raw least.npy '<f4' '(2, 1)' '\x00\x00\x00\x1a\x00\x00\x00\x1a'
for kernel in cpu-tiled cpu-sequential; do
    expect 0 "" run little.npy least.npy -o D.npy --kernel $kernel --device cpu --check
    prints 'all within the bound'
done

finish
