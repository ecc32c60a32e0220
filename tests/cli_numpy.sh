#!/usr/bin/env bash
# Files that NumPy wrote, answers that NumPy reads: the formats and the product agree. Skipped where NumPy is missing.
. "$(dirname "$0")/cli_lib.sh"

python=
for candidate in python3 /usr/bin/python3; do
    if $candidate -c 'import numpy' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "no NumPy"
    exit 77
fi

$python - <<'PYTHON' || fail "NumPy cannot write"
import numpy as np
random = np.random.default_rng(1)
for name in "f2", "f4", "f8":
    a, b, c = (random.standard_normal(shape).astype("<" + name) for shape in ((47, 31), (31, 59), (47, 59)))
    np.save(f"a-{name}.npy", a)
    np.save(f"b-{name}.npy", np.asfortranarray(b))
    np.save(f"c-{name}.npy", np.asfortranarray(c))
    np.save(f"big-{name}.npy", a.astype(">" + name))
a = np.load("a-f4.npy")
for version in (1, 0), (2, 0), (3, 0):
    with open(f"version{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, a, version=version)
np.save("object.npy", np.array([[1, "x"]], dtype=object), allow_pickle=True)
np.save("records.npy", np.zeros((2, 2), dtype=[("x", "<f4")]))
np.save("scalar.npy", np.float32(1))
np.save("vector.npy", np.ones(3, np.float32))
np.save("four.npy", np.ones((2, 2, 2, 2), np.float32))
stack = random.standard_normal((6, 47, 31)).astype("f4")
np.save("stack.npy", stack)
np.save("stack-f.npy", np.asfortranarray(stack))
np.savez("archive.npz", a=a)
PYTHON

for type in f2 f4 f8; do
    expect 0 "" "$tessera" run a-$type.npy b-$type.npy -o d-$type.npy --alpha 1.5 --beta=-0.5 --c c-$type.npy --device cpu
done
for version in 1 2 3; do
    expect 0 "" "$tessera" run version$version.npy b-f4.npy -o v$version.npy --device cpu
done
expect 0 "" "$tessera" run stack.npy b-f4.npy -o stacked.npy --device cpu
expect 0 "" "$tessera" run stack-f.npy b-f4.npy -o stacked-f.npy --device cpu
succeeds cmp stacked.npy stacked-f.npy
expect 1 "tessera run: big-f4.npy is big-endian ('>f4'); in NumPy a.astype('<f4') is little-endian" \
    "$tessera" run big-f4.npy b-f4.npy -o none.npy
for bad in object records scalar vector four; do
    expect 1 "*" "$tessera" run $bad.npy b-f4.npy -o none.npy
    succeeds grep -Eq "^tessera run: $bad.npy (holds|has shape) " err
done
expect 1 "tessera run: archive.npz is a zip archive (perhaps .npz); unzip it: each member is a .npy file" \
    "$tessera" run archive.npz b-f4.npy -o none.npy

checks=$((checks + 1))
$python - <<'PYTHON' || fail "NumPy disagrees"
import numpy as np
for name, roundoff in ("f2", 2.0**-11), ("f4", 2.0**-24), ("f8", 2.0**-53):
    a, b, c, d = (np.load(f"{which}-{name}.npy") for which in "abcd")
    assert d.dtype == np.dtype("<" + name) and d.shape == (47, 59) and d.flags.c_contiguous, name
    a, b, c = (x.astype(np.longdouble) for x in (a, b, c))
    error = np.abs(d.astype(np.longdouble) - (1.5 * (a @ b) - 0.5 * c))
    size = 1.5 * (np.abs(a) @ np.abs(b)) + 0.5 * np.abs(c)
    assert (error <= 31 * roundoff * size).all(), (name, float((error / size).max()))
stacked = np.load("stacked.npy")
assert stacked.shape == (6, 47, 59) and stacked.flags.c_contiguous
assert np.allclose(stacked, np.load("stack.npy") @ np.load("b-f4.npy"), rtol=1e-4, atol=1e-4)
for version in 1, 2, 3:
    product = np.load("version1.npy").astype(float) @ np.load("b-f4.npy").astype(float)
    assert np.allclose(np.load(f"v{version}.npy"), product, rtol=1e-4, atol=1e-4)
PYTHON

finish
