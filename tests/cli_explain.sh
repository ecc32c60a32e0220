#!/usr/bin/env bash
# tessera explain: the tutorials' phase table, edges, counts that are known, and wrong arguments.
. "$(dirname "$0")/cli_lib.sh"
explain="$tessera explain"

if ! $explain tiled >out 2>err; then
    grep -q "this build has no emulator" err && exit 77
fi

# The table for 4 x 4 with tiles of 2 x 2. A and B hold 1 .. 16.
expect 0 "" $explain tiled --m 4 --n 4 --k 4 --tile 2
fits_terminal
prints '^C = A B, 4 x 4 x 4 f32; block \(0,0\) of a grid of 2 x 2 makes rows 0..1 and columns 0..1 of C with 2$'
succeeds [ "$(grep -c '^phase' out)" = 2 ]
prints '^  \(0,0\)   A\[0,0\]=1->s0  B\[0,0\]=1->s4  C\[0,0\] \+= A\[0,0\]\*B\[0,0\] \+ A\[0,1\]\*B\[1,0\]: 0 \+ 1\*1 \+ 2\*5 = 11$'
prints '^  \(1,0\)   A\[0,1\]=2->s1  B\[0,1\]=2->s5  C\[0,1\] \+= A\[0,0\]\*B\[0,1\] \+ A\[0,1\]\*B\[1,1\]: 0 \+ 1\*2 \+ 2\*6 = 14$'
prints '^  \(0,1\)   A\[1,0\]=5->s2  B\[1,0\]=5->s6  C\[1,0\] \+= A\[1,0\]\*B\[0,0\] \+ A\[1,1\]\*B\[1,0\]: 0 \+ 5\*1 \+ 6\*5 = 35$'
prints '^  \(1,1\)   A\[1,1\]=6->s3  B\[1,1\]=6->s7  C\[1,1\] \+= A\[1,0\]\*B\[0,1\] \+ A\[1,1\]\*B\[1,1\]: 0 \+ 5\*2 \+ 6\*6 = 46$'
prints '^  \(0,0\)   A\[0,2\]=3->s0  B\[2,0\]=9->s4   C\[0,0\] \+= A\[0,2\]\*B\[2,0\] \+ A\[0,3\]\*B\[3,0\]: 11 \+ 3\*9 \+ 4\*13 =$'
prints '^ +228; stores C\[1,1\]$'
prints '^  loads of A +8 +32 B +8 +32 B +8 +2$' # block: loads, bytes, different, bytes; of warp 0; of a working thread
prints '^  loads of B +8 +32 B +8 +32 B +8 +2$'
prints '^  into shared memory +16 +64 B +4$'
prints '^  from shared memory +32 +128 B +8$'
prints '^  products +16 +4$'
prints '^In pairs, x comes first: thread \(x,y\) is threadIdx.x, threadIdx.y, block \(x,y\) is column, row of the$'
cp out first
expect 0 "" $explain tiled --tile 2 # these sizes are what it takes by itself
succeeds cmp -s out first
TESSERA_EMU_SEED=99 expect 0 "" $explain tiled # whatever order the threads run in
succeeds cmp -s out first

# Another block, one phase, one thread.
expect 0 "" $explain tiled --m 256 --n 256 --k 256 --tile 32 --block 2,1 --phase 7
fits_terminal
succeeds [ "$(grep -c '^phase' out)" = 1 ]
prints 'makes rows 32..63 and columns 64..95 of$'
prints '^  \(31,31\) +A\[63,255\]=[0-9]+->s1023 +B\[255,95\]=[0-9]+->s2047 +C\[63,95\]: [0-9]+ -> [0-9]+ by k = 224..255;'
prints '^  load A +tiled.cu:[0-9]+ +4 +1 +128 of 128 +A\[32,224..255\]$'
prints '^  read B +tiled.cu:[0-9]+ +4 +32 +1024 of 1024 +s1024..1055$'
expect 0 "" $explain tiled --m 5 --n 3 --k 7 --tile 4 --block 0,1 --thread 1,0
prints '^  adds +C\[4,1\] \+= A\[4,4\]\*B\[4,1\] \+ A\[4,5\]\*B\[5,1\] \+ A\[4,6\]\*B\[6,1\]: '
prints '1 with padding zeros'
expect 0 "" $explain tiled --m 256 --n 64 --k 512 --tile 16
prints '^\.\.\. 28 phases like these'
fits_terminal

# A tile's padding zeros are A's or B's, by where they lie in shared memory; two of each are read in the last phase.
expect 0 "" $explain tiled --m 3 --n 3 --k 3 --tile 2
succeeds [ "$(grep -cE '^  read A   tiled.cu:[0-9]+ +4 +2 ' out)" = 2 ]
succeeds [ "$(grep -cE '^  read B   tiled.cu:[0-9]+ +4 +2 ' out)" = 2 ]
expect 0 "" $explain tiled --m 16 --n 16 --k 1030 --tile 16 --phase 64
prints '^  read A +tiled.cu:[0-9]+ +4 +16 '
prints '^  read B +tiled.cu:[0-9]+ +4 +16 '
for kernel in regtile2d padded swizzled double-buffered warptile; do # at an edge of K: no read is of nobody's
    expect 0 "" $explain $kernel --m 130 --n 130 --k 13 --block 1,1
    checks=$((checks + 1))
    ! grep -Eq '^  (read|fill) +[0M]? +[a-z0-9_]+\.cu' out || fail "$kernel: accesses of nobody: $(grep -E '^  (read|fill) +[0M]? +[a-z]' out)"
done

# The naive product by 2 x 2 blocks, as tutorials draw it: each thread loads a row of A and a column of B.
expect 0 "" $explain naive --m 4 --n 4 --k 4 --tile 2
fits_terminal
cp out first
expect 0 "" $explain naive # these are the sizes that it takes by itself
succeeds cmp -s out first
prints '^  \(0,0\) +A\[0,0\.\.3\] +B\[0\.\.3,0\] +C\[0,0\] \+= A\[0,0\]\*B\[0,0\] \+ A\[0,1\]\*B\[1,0\] \+ A\[0,2\]\*B\[2,0\] \+$'
prints '^  \(1,1\) +A\[1,0\.\.3\] +B\[0\.\.3,1\] +C\[1,1\] \+= '
prints '^  loads of A +16 +64 B +8 +32 B +8 +4$'
prints '^All 4 threads of the block work\.'
# Threads outside of C count for nothing: each of the others loads 8.
expect 0 "" $explain naive_f32 --m 4 --n 4 --k 4
fits_terminal
prints '^16 of the 256 threads of the block work\.'
prints '^  loads of A +64 +256 B +16 +64 B +4 +4$'
prints '^  loads of B +64 +256 B +16 +64 B +16 +4$'
# What a block of 8 x 32 loads of 256 x 256, and a warp of it: 1 KiB of A and 32 KiB of B; a block of 32 x 32 64 KiB.
expect 0 "" $explain naive_f32 --m 256 --n 256 --k 256
prints '^  loads of A +65536 +256 KiB +2048 +8 KiB +256 +256$'
prints '^  loads of B +65536 +256 KiB +8192 +32 KiB +8192 +256$'
prints '^Warp 0 loads 1 KiB of A and 32 KiB of B, each element counted once, the block 8 KiB and 32 KiB'
expect 0 "" $explain tiled --m 256 --n 256 --k 256 --tile 32
prints ' the block 32 KiB and 32 KiB together 64 KiB\.$|^ *.*together 64 KiB\.$'
prints '^  loads of A +8192 +32 KiB +8192 +32 KiB +256 +8$'

# Text fits the terminal; what repeats is told once, and --all tells the rest.
expect 0 "" $explain padded --thread 5,2
fits_terminal
succeeds [ "$(wc -l <out)" -le 60 ]
prints '^  brings of A  A\[4,5\]=15->s704, A\[36,5\]=2->s740, '
prints '^  and 63 more elements of C\[16..23,40..47\]'
expect 0 "" $explain padded --thread 5,2 --phase 1 --all
succeeds [ "$(grep -c '^  C\[' out)" = 64 ]
for columns in 80 120; do
    for what in "padded --thread 5,2" "tiled --tile 16 --m 40 --n 40 --k 40" "naive" "regtile2d --phase 0" "wmma --dtype f16"; do
        sampled 3 || continue
        COLUMNS=$columns expect 0 "" $explain $what
        checks=$((checks + 1))
        ! grep -Eq ".{$((columns + 1))}| \$" out || fail "$what at $columns columns: $(grep -E ".{$((columns + 1))}" out)"
    done
done

# Loads are 2 K for a thread of naive, 2 K / TILE for one of tiled; FLOP for each byte 0.25, and 8 with TILE 32.
expect 0 "" $explain naive_f32 --m 32 --n 64 --k 64
prints '^  loads of A +16384 .* 64$'
succeeds grep -q 'FLOP for each byte loaded: 0.25 ' <(tr '\n' ' ' <out | sed 's/  */ /g; s/ $//')
expect 0 "" $explain tiled --m 64 --n 64 --k 64 --tile 32
prints '^  loads of A +2048 .* 2$'
succeeds grep -q 'FLOP for each byte loaded: 8 ' <(tr '\n' ' ' <out | sed 's/  */ /g; s/ $//')

# Lanes that skip an element meet again as the counters have them: the blocks' sectors add up to those of the launch.
sectors=0
for block in 0 1 2 3; do
    expect 0 "" $explain warptile_f32_16x128_a1 --m 61 --n 70 --k 33 --block 0,$block
    sectors=$((sectors + $(sed -n 's/^  store C .* \([0-9]*\) of [0-9]* .*/\1/p' out)))
done
expect 0 "" "$tessera" profile warptile_f32_16x128_a1 61 --n 70 --k 33 --device emu
prints "^  global stores +[0-9]+ requests +$sectors sectors "

# Conflicts: turning A costs regtile2d 8 wavefronts for each store of a warp, padded 1; uncoalesced loads 32 sectors.
expect 0 "" $explain regtile2d --phase 0
prints '^  fill A +regtile2d.cu:[0-9]+ +4 +4 +256 of 32 '
expect 0 "" $explain padded --phase 0
prints '^  fill A +padded.cu:[0-9]+ +4 +4 +32 of 32 '
expect 0 "" $explain swizzled --phase 0
prints '^  fill A +swizzled.cu:[0-9]+ +4 +4 +32 of 32 '
expect 0 "" $explain uncoalesced --m 64 --n 16 --k 16 --warp 3
prints '^  load A +uncoalesced.cu:[0-9]+ +4 +16 +4096 of 512 +A\[0..31,0\]$'

# Each kernel that can be followed, in each layout; tensor cores without single products.
for kernel in uncoalesced naive_f32 tiled regtile1d regtile2d padded swizzled vectorized double-buffered warptile; do
    for layout in nn nt tn tt; do
        sampled 5 || continue
        expect 0 "" $explain $kernel --layout $layout --warp 1 --phase 0 $([ $kernel = tiled ] && echo --tile 8)
    done
    fits_terminal
done
expect 0 "" $explain mma --dtype bf16
prints '^The products are made by tensor cores, a warp at a time'
prints '^  copy A '
expect 0 "" $explain mma --compute tf32
expect 0 "" $explain wmma --dtype f16
prints '^Which lane holds which element of a WMMA fragment is not documented'
# What the tensor cores multiply, a step along K after the other; an edge is filled up with zeros.
prints '^ +0  A\[0\.\.15,0\.\.15\] +B\[0\.\.15,0\.\.15\] +C\[0\.\.15,0\.\.15\]$'
prints '^ +7  A\[16\.\.31,0\.\.15\] +B\[0\.\.15,48\.\.63\] +C\[16\.\.31,48\.\.63\]$'
expect 0 "" $explain wmma --dtype f16 --layout tt --m 40 --n 50 --k 20 --all
prints '^ +3  A\[0\.\.15,0\.\.15\] +B\[0\.\.15,48\.\.49\] +C\[0\.\.15,48\.\.49\]$'
prints '^ +8  A\[0\.\.15,16\.\.19\] +B\[16\.\.19,0\.\.15\] +C\[0\.\.15,0\.\.15\]$'
succeeds [ "$(sed -n '/^products of warp 0/,/^$/p' out | wc -l)" = 19 ]
expect 0 "" $explain mma_f64_64x64_a2 --layout tn --k 18
prints '^ +0  A\[0\.\.15,0\.\.3\] +B\[0\.\.3,0\.\.7\] +C\[0\.\.15,0\.\.7\]$'
prints '^ +7  A\[16\.\.31,0\.\.3\] +B\[0\.\.3,24\.\.31\] +C\[16\.\.31,24\.\.31\]$'
expect 0 "" $explain mma-f64
prints '^products of warp 0'
# Units of stream-K, and no table of fragments, which would be that of elements of 16 bits.
expect 0 "" $explain mma_f64_32x32x32_a2@stream-k=2/6 --m 32 --n 64 --k 384
prints '^ +5 +0\.\.31 +32\.\.63 +256\.\.383 .* the tile$'
succeeds [ "$(grep -c '^fragments of mma.sync' out)" = 0 ]
expect 0 "" $explain mma --warp 0 --all
prints '^ +63  A\[16\.\.31,112\.\.127\] +B\[112\.\.127,24\.\.31\] +C\[16\.\.31,24\.\.31\]$'
fits_terminal

# A page, whole or not at all.
expect 0 "" $explain tiled --format html --out page.html
succeeds [ ! -s out ]
succeeds grep -q '^<!DOCTYPE html>' page.html
succeeds grep -q '</html>' page.html
expect 0 "" $explain tiled --format html
succeeds cmp -s out page.html
expect 1 "tessera explain: no/page.html: cannot be written: No such file or directory" $explain tiled --out no/page.html
expect 2 "*" $explain tiled --m 4 --n 4 --k 4 --tile 2 --thread 2,0 --out none.txt
succeeds [ ! -e none.txt ]

expect 1 "tessera explain: naive: explained in f32; f64 does the same with twice the bytes" $explain naive --dtype f64
expect 1 "tessera explain: tiled has no instance with tiles of 5 x 5 in f32; there are: 2, 4, 8, 16, 32" $explain tiled --tile 5
expect 1 "tessera explain: block 0,2: tiled_f32_t2 makes C from 2 x 2 blocks (x up to 1, y up to 1)" $explain tiled --block 0,2
expect 1 "tessera explain: 5000 x 5000 x 5000 is too large: A and B may have 2^24 elements together" \
    $explain tiled --m 5000 --n 5000 --k 5000
expect 2 "tessera explain: KERNEL is missing: usage is tessera explain KERNEL [options]" $explain
expect 2 "tessera explain: KERNEL needs the name of a kernel, not 'tild'; did you mean tiled?" $explain tild
expect 2 "tessera explain: --block needs two whole numbers x,y, not '1'" $explain tiled --block 1
expect 2 "tessera explain: --block needs two whole numbers x,y, not '1,-1'" $explain tiled --block 1,-1
expect 2 "tessera explain: --phase 2: the last is 1" $explain tiled --phase 2
expect 2 "tessera explain: --thread 2,0: a block has 2 x 2 threads" $explain tiled --thread 2,0
expect 2 "tessera explain: --warp 1: the last of a block is 0" $explain tiled --warp 1
expect 2 "tessera explain: --m needs a whole number from 1 to 16777216, not '0'" $explain tiled --m 0
expect 2 "tessera explain: --format needs one of text, html, not 'pdf'" $explain tiled --format pdf
expect 2 "tessera explain: --thread, --phase, --warp and --all are for text; the page shows all of them" \
    $explain tiled --format html --phase 1
# A wide load of a transposed operand brings elements that lie below each other in op(B).
expect 0 "" "$tessera" explain mma --dtype bf16 --layout nt --phase 0
prints '^  \(1,0\) .* B\[8\.\.15,0\.\.32 by'
prints '^  copy B .* B\[0\.\.31,0\]'

# 8-bit integers: both operands along K without a word about the layout; byte by byte any layout.
expect 0 "" "$tessera" explain mma-int8
prints '^The products are made by tensor cores, a warp at a time'
prints '^  copy A  '
expect 1 "tessera explain: mma_int8_128x128: explained where A and B need no copy before: rows of whole 16 bytes, layout nt" \
    "$tessera" explain mma_int8_128x128 --k 100
expect 0 "" "$tessera" explain mma_int8_64x64_a1 --layout tn --dtype u8 --dtype-b s8 --k 100
prints '^C = A B, 128 x 128 x 100 u8xs8;'

# 2:4: values of every second element, half of A's loads, and instructions that go twice as far along K.
expect 0 "" "$tessera" explain sparse24
prints '^A is compressed 2:4\.'
prints '^  \(0,0\) +A\[0\.\.96 by 32,1\.\.15\]'
prints '^ +0  A\[0\.\.15,0\.\.31\] +B\[0\.\.31,0\.\.7\] +C\[0\.\.15,0\.\.7\]$'
prints '^  loads of A +8192 +16 KiB +8192 '
prints '^  loads of B +16384 +32 KiB +16384 '
cp out first
expect 0 "" "$tessera" explain sparse24 # wherever the operands lie
succeeds cmp -s out first
expect 0 "" "$tessera" explain sparse24 --dtype s8 --layout nt
expect 1 "tessera explain: sparse24_tf32_128x128: explained in 16 and 8 bits; tf32 does the same with one of each two" \
    "$tessera" explain sparse24 --compute tf32 --layout nt
expect 1 "tessera explain: sparse24_bf16_128x128: explained where B needs no copy before: rows of whole 16 bytes, and in 8 bits layout nt" \
    "$tessera" explain sparse24 --m 100 --n 60 --k 70
finish
