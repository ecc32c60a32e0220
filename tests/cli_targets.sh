#!/usr/bin/env bash
# Where tessera run -o writes: through symbolic links, with the mode that is there, and not over what is read-only or has
# other names.
. "$(dirname "$0")/cli_lib.sh"

run() { "$tessera" run --device cpu -q "$@"; }
mode_of() { stat -c %a "$1"; }

make_matrix A.npy f32 3 3 c 1
make_matrix old.npy f32 2 2 c 2
mkdir there

# A link stays a link and the file at its end is the new one: by a relative path, over two links, from another folder.
cp old.npy there/file.npy
ln -s file.npy there/link.npy
ln -s there/link.npy far.npy
expect 0 "" run A.npy A.npy -o far.npy
succeeds test -L far.npy -a -L there/link.npy
succeeds "$npy_tool" product A.npy A.npy there/file.npy

# A link to nothing: the file appears where it leads.
ln -s there/new.npy dangling.npy
expect 0 "" run A.npy A.npy -o dangling.npy
succeeds test -L dangling.npy -a ! -L there/new.npy
succeeds "$npy_tool" product A.npy A.npy there/new.npy
ln -s loop.npy loop.npy
expect 1 "tessera run: loop.npy cannot be written: Too many levels of symbolic links" run A.npy A.npy -o loop.npy
succeeds test -L loop.npy
ln -s no_such_folder/x.npy nowhere.npy
expect 1 "tessera run: nowhere.npy cannot be written: No such file or directory" run A.npy A.npy -o nowhere.npy

# A file that is replaced keeps its mode, whatever the umask; a new one gets the umask's.
for mode in 600 640 664 751; do
    cp old.npy keep.npy
    chmod $mode keep.npy
    (umask 022 && run A.npy A.npy -o keep.npy) || fail "mode $mode"
    checks=$((checks + 2))
    [ "$(mode_of keep.npy)" = $mode ] || fail "mode $mode becomes $(mode_of keep.npy)"
    cmp -s old.npy keep.npy && fail "mode $mode: nothing was written"
done
(umask 077 && run A.npy A.npy -o private.npy) || fail "umask 077"
checks=$((checks + 1))
[ "$(mode_of private.npy)" = 600 ] || fail "umask 077 gives $(mode_of private.npy)"

# Owner and group too, where one may give files away.
if [ "$(id -u)" = 0 ]; then
    cp old.npy theirs.npy
    chown 12345:23456 theirs.npy
    expect 0 "" run A.npy A.npy -o theirs.npy
    checks=$((checks + 1))
    [ "$(stat -c %u:%g theirs.npy)" = 12345:23456 ] || fail "the owner becomes $(stat -c %u:%g theirs.npy)"
fi

# Read-only files are left alone, also by root and through a link.
cp old.npy locked.npy
chmod 444 locked.npy
ln -s locked.npy to_locked.npy
for name in locked.npy to_locked.npy; do
    expect 1 "tessera run: $name cannot be written: it is read-only (mode 0444)" run A.npy A.npy -o $name
    succeeds cmp old.npy locked.npy
done

# So are files with a second name.
cp old.npy first.npy
ln first.npy second.npy
expect 1 "tessera run: second.npy cannot be written: it has 2 hard links, and a new file would part them; remove it first, or choose another name" \
    run A.npy A.npy -o second.npy
succeeds cmp old.npy first.npy
succeeds test first.npy -ef second.npy

finish
