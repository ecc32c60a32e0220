#!/usr/bin/env bash
# tessera explain of kernels in which several parties work at once, of those that cut K, and of the CPU's: every rung.
. "$(dirname "$0")/cli_lib.sh"
explain="$tessera explain"

# The CPU's need no emulator.
expect 0 "" $explain cpu-tiled --m 1 --n 300 --k 200
fits_terminal
prints '^algorithm: (GEMV|skinny) '
expect 0 "" $explain cpu-tiled --m 24 --n 24 --k 24
prints '^algorithm: small \(src/cpu/small/in_place.c\)$'
expect 0 "" $explain cpu-tiled --m 1500 --n 1500 --k 1500
fits_terminal
prints '^algorithm: blocked loops \(src/cpu/blocked/blocked.c\)$'
prints '^  KC +[0-9]+ steps of K +[0-9]+$'
read -r kc blocks < <(sed -n 's/^  KC  *\([0-9]*\) steps of K *\([0-9]*\)$/\1 \2/p' out)
succeeds [ $(((1500 + kc - 1) / kc)) = "$blocks" ]
read -r mr nr < <(sed -n 's/^  micro-tile  sums \([0-9]*\) x \([0-9]*\) .*/\1 \2/p' out)
prints "^  NR +panel of B, $kc x $nr "
prints "^  MR +panel of A, $mr x $kc "
expect 0 "" $explain cpu-sequential --m 8 --n 16 --k 32
fits_terminal
prints '^  A +4096 +256 +4$'
prints '^  B +4096 +512 +64$'
expect 0 "" $explain cpu-sequential --m 8 --n 16 --k 32 --layout nt
prints '^  B +4096 +512 +4$'
# An instance is told of its own types: 8-bit floats, and 16-bit ones with another result, by the blocks that are widened.
for types in cpu_tiled_fp8:e4m3 cpu_tiled_bf16_f32:bf16 "cpu_tiled_fp8 --dtype e5m2:e5m2" "cpu-tiled --dtype e4m3:e4m3"; do
    expect 0 "" $explain ${types%:*} --m 1500 --n 700 --k 1500
    fits_terminal
    kernel=${types%%[ :]*}
    prints "^$kernel: C = A B, 1500 x 700 x 1500 ${types##*:}, layout nn, on this machine$"
    prints '^A and B are widened to f32, which is exact, for 512 x 700 of C and 1500 steps of K at a time$'
    prints '^algorithm: [a-z -]+ \(src/cpu/'
done
expect 0 "" $explain cpu_tiled_f16 --m 1500 --n 700 --k 1500
prints '^cpu_tiled_f16: C = A B, 1500 x 700 x 1500 f16, layout nn, on this machine$'
succeeds [ -z "$(grep widened out)" ]
expect 0 "" $explain cpu_sequential_fp8 --m 8 --n 16 --k 32
prints '^C = A B, 8 x 16 x 32 e4m3, layout nn$'
prints '^  B +4096 +512 +16$'
expect 1 "tessera explain: cpu_tiled_fp8: does not multiply f32" $explain cpu_tiled_fp8 --dtype f32
expect 1 "tessera explain: cpu_tiled_int8: explained of floats; s8 is multiplied as it is, in src/cpu/integers.c" \
    $explain cpu_tiled_int8
expect 2 "tessera explain: --format html: cpu-tiled is told as text" $explain cpu-tiled --format html
expect 2 "tessera explain: --block, --cta, --tile, --thread, --phase and --warp are for kernels of a GPU" \
    $explain cpu-tiled --cta 0

if ! $explain tiled >out 2>err; then
    grep -q "this build has no emulator" err && finish
fi

# Every rung that there is, by its name alone.
expect 0 "" $tessera info --kernels --format json
rungs=$(sed -n 's/.*"kind": "kernel", "name": "\([^"]*\)".*/\1/p' out | sort -u)
succeeds [ "$(wc -w <<<"$rungs")" -ge 20 ]
for kernel in $rungs; do
    expect 0 "" $explain $kernel
    fits_terminal
    succeeds [ "$(wc -l <out)" -ge 10 ]
done

# Of a compressed A half of K comes, as values.
expect 0 "" $explain wgmma-sparse24
prints '^A is compressed 2:4: '

# The ring of wgmma: ten stages, four instructions a step, the groups in turns, one batch in flight beside the next.
expect 0 "" $explain wgmma
prints '^  0-3 +group 0 +232 +waits for full, multiplies, arrives at empty \(wgmma\)$'
prints '^  8 +producer +40 '
prints '^  stage 9 '
succeeds [ "$(grep -c '^  stage 9 ' out)" -ge 2 ]
prints '^The ring has 10 stages; at most 8 steps were requested and not given back\. A step brings 16384 bytes$'
prints '^Batches of wgmma: 4 instructions of 64 x 64 x 16 for a step; at most 2 batches of a group are in$'
prints '^ +10 +0 +0\.\.63 +768\.\.831 +256\.\.319 +10 +12 +20-22 +1 +22$' # the first stage again, for the second tile and group
prints '^  group 1 wgmma( +\.){12} +x6 +x6 ' # begins before the first group's sums have left
prints '^  group 0 end( +\.){14} +end'
prints '^  row 3  24\.\.31   16\.\.23   8\.\.15    0\.\.7     56\.\.63   48\.\.55   40\.\.47   32\.\.39$'
prints '^  32 +\(16,0\) +\(16,1\) +\(24,0\) +\(24,1\) +\(16,8\)$'
expect 0 "" $explain wgmma --all
prints '^ +11 +1 +0\.\.63 +768\.\.831 +320\.\.383 .* 1 +[0-9-]+$' # the second tile is the second group's
for columns in 80 120; do
    for what in wgmma mma-tma warp-specialized stream-k wgmma-skinny; do
        COLUMNS=$columns expect 0 "" $explain $what --all
        checks=$((checks + 1))
        ! grep -Eq ".{$((columns + 1))}| \$" out || fail "$what at $columns columns: $(grep -E ".{$((columns + 1))}| \$" out | head -n 3)"
    done
done

# Stream-K: 2 tiles of 12 steps on 3 CTAs. The last to count adds both parts.
expect 0 "" $explain stream-k
prints '^ +0 +0\.\.15 +0\.\.127 +0\.\.127 +262144 +8 KiB +1 +- +-$'
prints '^ +1 +0\.\.15 +0\.\.127 +128\.\.191 +131072 +8 KiB +2 +16 KiB +the tile$'
prints '^ +1 +0\.\.15 +128\.\.255 +0\.\.63 +131072 +8 KiB +1 +- +-$'
prints '^ +2 +0\.\.15 +128\.\.255 +64\.\.191 +262144 +8 KiB +2 +16 KiB +the tile$'
cp out first
TESSERA_EMU_SEED=99 expect 0 "" $explain stream-k # whatever order the threads run in
succeeds cmp -s out first
expect 0 "" $explain wgmma@stream-k=3/2 --m 64 --n 384 --k 512
prints '^ +0 +0\.\.63 +128\.\.255 +0\.\.255 +2097152 +32 KiB +1 +- +-$'
prints '^ +1 +0\.\.63 +128\.\.255 +256\.\.511 +2097152 +32 KiB +2 +32 KiB +the tile$'
# Split-K: no CTA stores a tile, a second launch does; the CTA that is followed has a part of the tile's sums.
expect 0 "" $explain wgmma_skinny@split-k=2 --m 16 --n 128 --k 1536 --block 1,0
fits_terminal
prints '^Followed: CTA [23]\.$'
succeeds [ "$(grep -Ec '^ +[0-3] +0\.\.15 .* 3145728 +4 KiB +- +- +-$' out)" = 4 ]
prints '^A unit leaves the sums of its part of K in the workspace; a second launch \(kernels/prep/reduce.cu\)$'
expect 0 "" $explain wgmma_skinny@split-k=2 --m 16 --n 128 --k 1536 --format html --out page.html
succeeds grep -q '"reduces":1' page.html

# Either spelling, with a schedule or without.
expect 0 "" $explain wgmma-skinny
cp out first
expect 0 "" $explain wgmma_skinny
succeeds cmp -s out first
prints '^ +1 +0\.\.15 +0\.\.63 +64\.\.127 \+128 +393216 '
# 8-bit operands lie along K.
expect 0 "" $explain wgmma_skinny_fp8_16_g1
prints '^C = A B, 16 x 128 x 1536 e4m3, layout nt, schedule cluster-k=2: '
expect 1 "tessera explain: wgmma_skinny reads A along K: take --layout nt" $explain wgmma_skinny_fp8_16_g1 --layout tn
# Tiles lie as the schedule has them: 100 rows are one of 128, 200 columns four of 56.
expect 0 "" $explain wgmma_skinny_fp8_64_g2 --m 100 --n 200 --k 1000 --block 3,0
prints 'tiles of 128 x 56$'
prints '^Followed: CTA 12, '
expect 0 "" $explain mma_tma --cta 1
prints '^Followed: CTA 1\.$'

# Pages, whole.
for kernel in wgmma mma-tma stream-k; do
    expect 0 "" $explain $kernel --format html --out page.html
    succeeds grep -q '</html>' page.html
done
for dtype in f32 bf16 f16; do # the instance whose B is transposed, or is not, as the layout says
    expect 0 "" $explain thin --dtype $dtype --layout nt
    prints "^thin_${dtype}_[12]t_"
    expect 0 "" $explain thin --dtype $dtype
    prints "^thin_${dtype}_[14]_"
done
expect 1 "tessera explain: thin_f32_1_a4 runs on 6 CTAs, 0 to 5" $explain thin --cta 6
expect 1 "tessera explain: block 0,9: mma_tma_bf16_256x128 makes C from 2 x 1 blocks (x up to 1, y up to 0)" \
    $explain mma-tma --block 0,9
expect 2 "tessera explain: --thread, --phase and --warp: wgmma is told as a pipeline" $explain wgmma --warp 1
expect 2 "tessera explain: --cta: tiled is told by blocks; take --block" $explain tiled --cta 0
for kernel in wgmma tiled cpu-tiled; do
    expect 2 "tessera explain: --cta 0 and --block 0,0: each says which block to explain; take one of them" \
        $explain $kernel --cta 0 --block 0,0
done
expect 2 "tessera explain: KERNEL needs the name of a kernel, not 'wgma'; did you mean wgmma?" $explain wgma@stream-k=3/2
finish
