#!/usr/bin/env bash
# Bad .npy files: each gets an exact message that names it, and no output appears.
. "$(dirname "$0")/cli_lib.sh"

# npy FILE DICTIONARY BYTES: a version 1.0 file with that header and so many bytes of data.
npy() {
    local length=${#2}
    {
        printf '\x93NUMPY\x01\x00'
        printf "\\x$(printf %02x $((length & 255)))\\x$(printf %02x $((length >> 8)))"
        printf %s "$2"
        head -c "$3" /dev/zero
    } >"$1"
}

# bad FILE MESSAGE: as A and as B and as C.
bad() {
    expect 1 "tessera run: $1 $2" "$tessera" run "$1" good.npy -o out.npy
    expect 1 "tessera run: $1 $2" "$tessera" run good.npy "$1" -o out.npy
    expect 1 "tessera run: $1 $2" "$tessera" run good.npy good.npy --beta 1 --c "$1" -o out.npy
    checks=$((checks + 1))
    [ ! -e out.npy ] || fail "out.npy exists after $1"
}

with() { # DESCR SHAPE
    echo "{'descr': $1, 'fortran_order': False, 'shape': $2, }"
}

make_matrix good.npy f32 4 4 c
needed="f16, f32, f64, e5m2, s8 or u8 ('<f2', '<f4', '<f8', '<f1', '|i1', '|u1') is needed, or with --dtype bf16 or e4m3 ('<V2', '<V1')"

bad none.npy "cannot be read: No such file or directory"
mkdir folder.npy && bad folder.npy "cannot be read: it is a directory"
bad /dev/null "is empty"
if [ "$(id -u)" != 0 ]; then
    cp good.npy locked.npy && chmod 000 locked.npy && bad locked.npy "cannot be read: Permission denied"
fi
: >empty.npy && bad empty.npy "is empty"
echo 'hello, world' >text.npy && bad text.npy "is not a .npy file: it does not begin with \\x93NUMPY"
head -c 1000 /dev/urandom | sed '1s/^/x/' >garbage.npy
bad garbage.npy "is not a .npy file: it does not begin with \\x93NUMPY"
printf 'PK\003\004rest' >zip.npy && bad zip.npy "is a zip archive (perhaps .npz); unzip it: each member is a .npy file"
printf '\x80\x04\x95rest' >pickle.npy
bad pickle.npy "is a Python pickle, not a .npy file; save the array with numpy.save"
gzip -c good.npy >gzip.npy && bad gzip.npy "is compressed with gzip; gunzip it first"
head -c 4 good.npy >magic.npy && bad magic.npy "is truncated: 4 bytes, less than a .npy header"
head -c 9 good.npy >length.npy && bad length.npy "is truncated: 9 bytes, less than a .npy header"
head -c 100 good.npy >header.npy && bad header.npy "is truncated: its header is 118 bytes long, 90 are there"
head -c 190 good.npy >short.npy
bad short.npy "is truncated: shape (4, 4) of f32 needs 64 bytes of data, 62 are there"
{ cat good.npy && printf abc; } >long.npy
bad long.npy "has 3 bytes after its data: shape (4, 4) of f32 needs 64 bytes, 67 are there"
printf '\x93NUMPY\x09\x00\x01\x00{}' >version.npy
bad version.npy "is of .npy format version 9.0; 1.0, 2.0 and 3.0 are known"
printf '\x93NUMPY\x02\x00\xff\xff\xff\xff{}' >lies.npy
bad lies.npy "is truncated: its header is 4294967295 bytes long, 2 are there"

npy big-endian.npy "$(with "'>f4'" "(2, 2)")" 16
bad big-endian.npy "is big-endian ('>f4'); in NumPy a.astype('<f4') is little-endian"
npy objects.npy "$(with "'|O'" "(2, 2)")" 32
bad objects.npy "holds pickled Python objects ('|O'); a matrix of f16, f32, f64, e5m2, s8 or u8 is needed"
npy records.npy "$(with "[('x', '<f4'), ('y', '<f4')]" "(2, 2)")" 32
bad records.npy "holds records (a structured dtype); a matrix of f16, f32, f64, e5m2, s8 or u8 is needed"
npy integers.npy "$(with "'<i8'" "(2, 2)")" 32
bad integers.npy "holds elements of dtype '<i8'; $needed"
npy complex.npy "$(with "'<c16'" "(2, 2)")" 64
bad complex.npy "holds elements of dtype '<c16'; $needed"
npy scalar.npy "$(with "'<f4'" "()")" 4
bad scalar.npy "has shape (), one scalar; a matrix has 2 dimensions"
npy vector.npy "$(with "'<f4'" "(4,)")" 16
bad vector.npy "has shape (4,), 1 dimension; a matrix has 2: in NumPy a.reshape(1, -1) makes it a row, a.reshape(-1, 1) a column"
npy four.npy "$(with "'<f4'" "(2, 2, 2, 1)")" 32
bad four.npy "has shape (2, 2, 2, 1), 4 dimensions; a matrix has 2, a stack of matrices 3"
npy short-stack.npy "$(with "'<f4'" "(2, 2, 2)")" 31
bad short-stack.npy "is truncated: shape (2, 2, 2) of f32 needs 32 bytes of data, 31 are there"
npy negative.npy "$(with "'<f4'" "(-2, 2)")" 16
bad negative.npy "has a shape with a negative length, -2"
npy overflow.npy "$(with "'<f4'" "(4294967296, 4294967296)")" 16
bad overflow.npy "has shape (4294967296, 4294967296), whose bytes overflow 64 bits"
npy empty.npy "$(with "'<f4'" "(4611686018427387904, 0)")" 0
bad empty.npy "has shape (4611686018427387904, 0): without the lengths of 0 its bytes overflow 64 bits"
npy huge.npy "$(with "'<f4'" "(99999999999999999999, 1)")" 16
bad huge.npy "has a shape with a length that overflows 64 bits"
npy no-shape.npy "{'descr': '<f4', 'fortran_order': False, }" 16
bad no-shape.npy "has a malformed .npy header: no key 'shape'"
# A shape that one byte an element allows, which a result of s32 does not have.
npy tall.npy "$(with "'|i1'" "(4611686018427387904, 0)")" 0
npy wide.npy "$(with "'|i1'" "(0, 3)")" 0
npy none.npy "$(with "'|i1'" "(0, 0)")" 0
expect 1 "tessera run: out.npy cannot be written: shape (4611686018427387904, 3) of s32 overflows 64 bits" \
    "$tessera" run tall.npy wide.npy -o out.npy --device cpu
expect 1 "tessera run: out.npy cannot be written: shape (4611686018427387904, 0) of s32 overflows 64 bits without the lengths of 0" \
    "$tessera" run tall.npy none.npy -o out.npy --device cpu
npy nonsense.npy "__import__('os').system('true')" 16
bad nonsense.npy "has a malformed .npy header, at \"__import__('os').system\""
npy "new
line.npy" "" 0
expect 1 "tessera run: new?line.npy has a malformed .npy header: it ends too early" \
    "$tessera" run "new
line.npy" good.npy -o out.npy

finish
