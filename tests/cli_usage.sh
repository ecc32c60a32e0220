#!/usr/bin/env bash
# Help, version, and every way to get the arguments wrong.
. "$(dirname "$0")/cli_lib.sh"

commands="info run route verify explain tiles roofline profile try doctor with"
if "$tessera" --help | grep '^  bench ' >/dev/null; then
    commands="$commands bench"
fi

expect 2 "*" "$tessera"
succeeds grep -q "^usage: tessera COMMAND" err
expect 0 "" "$tessera" --help
prints '^usage: tessera COMMAND'
fits_terminal
for command in $commands; do
    prints "^  $command +[a-z]"
done
expect 0 "" "$tessera" -h
expect 0 "" "$tessera" help
prints '^usage: tessera COMMAND'
for command in $commands; do
    expect 0 "" "$tessera" help $command
    "$tessera" $command --help | cmp -s - out || fail "help $command is not $command --help"
done
expect 2 "tessera: unknown command rnu; did you mean run?" "$tessera" help rnu
expect 2 "tessera: unexpected argument 'x': usage is tessera help COMMAND" "$tessera" help run x
expect 0 "" "$tessera" --version
prints '^tessera [0-9]+\.[0-9]+\.[0-9]+$'

# What the environment holds that is of no use is told once.
for value in abc -1 1e9 4097; do
    expect 0 "*" env TESSERA_NUM_THREADS=$value "$tessera" route 4 4 4 --device cpu
    succeeds grep -q "^tessera: TESSERA_NUM_THREADS = \"$value\": not a number from 1 to 4096" err
    succeeds test "$(wc -l <err)" = 1
done
expect 0 "*" env TESSERA_LOG=all TESSERA_NUM_THREADS=2 "$tessera" route 4 4 4 --device cpu
succeeds grep -q "^tessera: TESSERA_LOG = \"all\": only" err

# Closed streams: what cannot be said is an error, and no file opened later takes a stream's place.
checks=$((checks + 2))
"$tessera" --version >&- 2>err
[ $? = 1 ] || fail "--version >&- succeeds"
grep -q "^tessera: cannot write to the standard output: Bad file descriptor$" err || fail ">&- says $(cat err)"
make_matrix A.npy f32 3 3 c
checks=$((checks + 2))
"$tessera" run A.npy A.npy -o D.npy --device cpu <&- >&- 2>&-
[ $? = 1 ] || fail "run with all streams closed does not fail for want of a stdout"
"$tessera" run A.npy A.npy -o D.npy --device cpu --quiet <&- >&- 2>&- || fail "run --quiet with all streams closed fails"
succeeds "$npy_tool" product A.npy A.npy D.npy

expect 2 "tessera: unknown command rout; did you mean route?" "$tessera" rout
expect 2 "tessera: unknown command vreify; did you mean verify?" "$tessera" vreify
expect 2 "tessera: unknown command multiply; tessera --help lists the commands" "$tessera" multiply
expect 2 "tessera: unknown option --verison; tessera --help lists the commands" "$tessera" --verison
expect 2 "tessera: unknown command ; tessera --help lists the commands" "$tessera" ""
expect 2 "tessera: unknown command a?b; tessera --help lists the commands" "$tessera" $'a\033b'

for command in $commands; do
    for help in --help -h; do
        expect 0 "" "$tessera" $command $help
        prints "^tessera $command: "
        prints "^usage: tessera $command"
        prints "^  -h, --help +this text$"
        fits_terminal
    done
    expect 2 "tessera $command: unknown option --zebra" "$tessera" $command --zebra
    expect 2 "tessera $command: unknown option --hlep; did you mean --help?" "$tessera" $command --hlep
    expect 2 "tessera $command: unknown option -z" "$tessera" $command -z
    # A full disk is a failure, not silence.
    if [ -w /dev/full ]; then
        checks=$((checks + 1))
        "$tessera" $command --help >/dev/full 2>err
        [ $? = 1 ] || fail "$command --help >/dev/full succeeds"
        grep -q "cannot write to the standard output: No space left on device" err || fail "$command: $(cat err)"
    fi
done
for command in run route verify; do
    "$tessera" $command --help >out
    case $command in
    run | verify) prints '^kernels: cpu-sequential cpu-tiled uncoalesced naive tiled' ;;
    esac
    devices="auto, cpu, emu, cuda:N"
    [ $command != route ] || devices="$devices, $gpus"
    expect 2 "tessera $command: --device needs one of $devices, not 'gpu'" "$tessera" $command --device gpu
    expect 2 "tessera $command: --device needs one of $devices, not 'cuda:'" "$tessera" $command --device cuda:
    expect 2 "tessera $command: --device needs one of $devices, not 'cuda:0x'" \
        "$tessera" $command --device=cuda:0x
    expect 2 "tessera $command: --device needs a value: --device D" "$tessera" $command --device
    expect 2 "tessera $command: unknown option --devise; did you mean --device?" "$tessera" $command --devise cpu
done

expect 2 "tessera info: unexpected argument 'cpu': usage is tessera info [--kernels] [--measure] [--format table|json]" \
    "$tessera" info cpu
expect 2 "tessera info: --format needs one of table, json, not 'xml'" "$tessera" info --format xml
expect 2 "tessera info: --kernels takes no value" "$tessera" info --kernels=all

expect 2 "tessera route: M is missing: usage is tessera route M N K [options]" "$tessera" route
expect 2 "tessera route: K is missing: usage is tessera route M N K [options]" "$tessera" route 1 2
expect 2 "tessera route: unexpected argument '4': usage is tessera route M N K [options]" "$tessera" route 1 2 3 4
expect 2 "tessera route: N needs a whole number of at least 0, not 'x'" "$tessera" route 1 x 3
expect 2 "tessera route: M needs a whole number of at least 0, not '-1'" "$tessera" route -1 2 3
expect 2 "tessera route: --dtype needs one of f64, f32, f16, bf16, e4m3, e5m2, s8, u8, s32, not 'f31'" \
    "$tessera" route 1 2 3 --dtype f31
expect 2 "tessera route: --layout needs one of nn, nt, tn, tt (A, B transposed or not), not 'nnn'" \
    "$tessera" route 1 2 3 --layout nnn
expect 2 "tessera route: --memory needs one of host, device, not 'disk'" "$tessera" route 1 2 3 --memory disk

expect 2 "tessera verify: --quick and --full exclude each other" "$tessera" verify --quick --full
expect 2 "tessera verify: --seed needs a whole number of at least 0, not '-5'" "$tessera" verify --seed=-5
expect 2 "tessera verify: --kernel needs the name of a kernel or all, not 'tild'; did you mean tiled?" \
    "$tessera" verify --kernel tild
expect 2 "tessera verify: --kernel needs the name of a kernel or all, not 'tild'; did you mean tiled?" \
    "$tessera" verify --kernel naive,tild
expect 2 "tessera verify: --kernel needs a list without empty items, such as a,b" "$tessera" verify --kernel naive,
expect 2 "tessera verify: unexpected argument 'tiled': usage is tessera verify [options]" "$tessera" verify tiled

expect 2 "tessera doctor: unexpected argument 'python3': usage is tessera doctor [--python PYTHON] [--blas FILE] [--cublas FILE] [--timeout S]" \
    "$tessera" doctor python3
expect 2 "tessera doctor: --python needs a value: --python PYTHON" "$tessera" doctor --python
expect 2 "tessera doctor: --blas needs a value: --blas FILE" "$tessera" doctor --blas
expect 2 "tessera doctor: --cublas needs a value: --cublas FILE" "$tessera" doctor --cublas

expect 2 "tessera profile: KERNEL is missing: usage is tessera profile KERNEL,... SIZE,... [options]" "$tessera" profile
expect 2 "tessera profile: SIZE is missing: usage is tessera profile KERNEL,... SIZE,... [options]" "$tessera" profile naive
expect 2 "tessera profile: SIZE needs a whole number from 1 to 1048576, not '0'" "$tessera" profile naive 0
expect 2 "tessera profile: --sample needs a whole number from 0 to 1073741824, not '-1'" "$tessera" profile naive 8 --sample=-1
expect 2 "tessera profile: --gpu needs one of $gpus, not 'v100'" "$tessera" profile naive 8 --gpu v100

expect 2 "tessera run: A.npy is missing: usage is tessera run A.npy B.npy -o FILE [options]" "$tessera" run
expect 2 "tessera run: B.npy is missing: usage is tessera run A.npy B.npy -o FILE [options]" "$tessera" run a
expect 2 "tessera run: -o is missing: usage is tessera run A.npy B.npy -o FILE [options]" "$tessera" run a b
expect 2 "tessera run: -o needs a value: -o FILE" "$tessera" run a b -o
expect 2 "tessera run: --alpha needs a finite number, not 'one'" "$tessera" run a b -o c --alpha one
expect 2 "tessera run: --beta needs a finite number, not 'nan'" "$tessera" run a b -o c --beta nan
expect 2 "tessera run: --beta 0.5 needs --c FILE, the C to add" "$tessera" run a b -o c --beta 0.5
expect 2 "tessera run: --c old would not be read: --beta is 0" "$tessera" run a b -o c --c old
expect 2 "tessera run: --dtype needs one of f64, f32, f16, bf16, e4m3, e5m2, s8, u8, s32, not 'tf32'" "$tessera" run a b -o c --dtype tf32
expect 2 "tessera run: --threads needs a whole number from 1 to 4096, not '0'" "$tessera" run a b -o c --threads 0
expect 2 "tessera run: --kernel needs the name of a kernel, not 'zebra'; tessera info --kernels lists them" \
    "$tessera" run a b -o c --kernel zebra
expect 2 "tessera run: -o is given twice" "$tessera" run a b -o c -o d
expect 2 "tessera run: --output is given twice" "$tessera" run a b -o c --output=c
expect 2 "tessera run: -o needs a value: -o FILE" "$tessera" run a b -qo
expect 2 "tessera run: unknown option -x" "$tessera" run a b -qx
expect 0 "" "$tessera" run A.npy A.npy --device cpu -qo cluster.npy
succeeds "$npy_tool" product A.npy A.npy cluster.npy
expect 0 "" "$tessera" run A.npy A.npy --device cpu -qocluster2.npy -q
succeeds cmp cluster.npy cluster2.npy
expect 2 "tessera run: --transa takes no value" "$tessera" run a b -o c --transa=yes


# What the library refuses is told in the options' names, not in those of its structs.
expect 2 "tessera route: --out-dtype e4m3: no result of f32 operands" "$tessera" route 4 4 4 --out-dtype e4m3
expect 2 "tessera route: --dtype s32: operands of a product may not be s32" "$tessera" route 4 4 4 --dtype s32
expect 2 "tessera route: --compute fast: not for f32 operands" "$tessera" route 4 4 4 --compute fast
expect 1 "tessera route: --align 24: must be a power of two" "$tessera" route 4 4 4 --align 24
# A K that an instance does not take is the reason, not the tensor map that it would lead to.
expect 0 "" "$tessera" route 8088 472 40 --dtype f16 --device h200 --all
prints '^wgmma_skinny_f16_f16_32_g1d2 .*K = 40 is no multiple of 64$'
expect 0 "" "$tessera" route 4 4 4 --dtype f32 --compute tf32 --sparse a --device cpu
prints '^cpu_(tiled|sequential)_f32 .*<- chosen$'
expect 0 "" "$tessera" route 4 4 4 --dtype f32 --compute tf32 --sparse a --device h200
prints '^wgmma_sparse24_tf32_64x64_c1 '
expect 0 "" "$tessera" route 64 64 64 --dtype bf16 --device h200
succeeds [ -z "$(grep TSR_ out)" ]
prints 'multiplies compressed operands alone'
prints '\(--sparse a or b\)'
expect 1 "*" "$tessera" verify --device cpu --kernel tiled
succeeds grep -q '^tessera verify: --kernel "tiled": does not run on this device' err
expect 1 "*" "$tessera" profile tiled 32 --device emu --dtype s8
succeeds grep -q '^tessera profile: KERNEL "tiled" does not run s8 x s8 -> s32 on emu; ' err
expect 2 "tessera profile: KERNEL needs kernels by name, not 'all'" "$tessera" profile all 32 --device emu
expect 1 "*" "$tessera" explain tiled --dtype s8
succeeds grep -q '^tessera explain: KERNEL "tiled" does not run s8' err
expect 2 "tessera roofline: --dtype s32: operands of a product may not be s32" "$tessera" roofline 4 4 4 --dtype s32

finish
