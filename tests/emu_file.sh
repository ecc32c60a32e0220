#!/usr/bin/env bash
# emu_file.sh PROGRAM LIBRARY EMU: the shared library loads the emulator's kernels from the file beside it. Without the file,
# or with one of another build, the device "emu" is missing, and the message names the file; all else works. EMU is that file.
set -uo pipefail
program=$1 library=$2 emu=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
name=libtessera_emu.so.0
status=0
cp "$library" "$work/libtessera.so.0"

expect() { # WHAT PATTERN
    local text
    text=$(LD_LIBRARY_PATH=$work "$program" 2>&1)
    if grep -qE -- "$2" <<<"$text"; then
        echo "$1: $text"
    else
        echo "$1: FAILED, no '$2' in: $text"
        status=1
    fi
}

expect "no file" "^no such device.*: device emu: .*$name.*$work/$name"
cp "$emu" "$work/$name"
expect "the file" '^ok$'
cp "$emu" "$work/other" # the build that it says it is of, with one digit changed
build=$(grep -aoE '[0-9]+\.[0-9]+\.[0-9]+ [0-9a-f]{16}' "$emu" | sed -n 1p)
[ -n "$build" ] || { echo "no build in $emu"; exit 1; }
last=${build: -1}
[ "$last" = 0 ] && changed=${build%?}1 || changed=${build%?}0
LC_ALL=C sed -i "s/$build/$changed/" "$work/other"
mv "$work/other" "$work/$name"
expect "of another build" "^no such device.*: device emu: $name is of another build .*$changed.*$build"
echo "no ELF file" >"$work/$name"
expect "broken" "^no such device.*: device emu: .*$name"
# The kernels are in one of the two files only.
size=$(stat -Lc %s "$library")
if grep -aq libtessera_emu "$emu" && ! nm -D --defined-only "$emu" | grep -vE ' (tsr_emu_file|_.*)$'; then
    echo "the file exports tsr_emu_file alone; the library has $size bytes"
else
    echo "what the file exports: FAILED"
    status=1
fi
exit $status
