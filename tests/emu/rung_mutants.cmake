# Mutants of the rungs below wgmma, for tests/unit_emu_mutants.c: NAME, the base that is mutated (a kernel with its
# constants), file, text, what takes its place, and what the emulator must say of it: "" for anything, a fault or a wrong
# result; "equivalent" where the mutant is right, and docs/EMULATOR.md says why.
set(rung_mutants)
set(rung_table)
macro(rung_mutant name base file text replacement says)
  list(APPEND rung_mutants ${name})
  set(mutant_${name}_base "${base}")
  set(mutant_${name}_file "${file}")
  set(mutant_${name}_text "${text}")
  set(mutant_${name}_replacement "${replacement}")
  string(APPEND rung_table "MUTANT(${name}, ${base}, \"${says}\")\n")
endmacro()

# Bases: the kernel's file and its constants.
set(bases)
macro(base name file)
  list(APPEND bases ${name})
  set(base_${name}_file ${file})
  set(base_${name}_defines ${ARGN})
endmacro()
base(tiled gemm/tiled.cu -DELEM_f32 -DTILE=8)
base(regtile1d gemm/regtile1d.cu -DELEM_f32 -DBM=64 -DBN=64 -DBK=16 -DTM=16)
set(regtile -DELEM_f32 -DBM=128 -DBN=128 -DBK=8 -DTM=8 -DTN=8)
base(regtile2d gemm/regtile2d.cu ${regtile})
base(padded gemm/padded.cu ${regtile})
base(swizzled gemm/swizzled.cu ${regtile})
base(vectorized gemm/vectorized.cu ${regtile} -DALIGNED=0)
base(buffered gemm/double_buffered.cu ${regtile} -DSTAGES=3 -DCTAS=2 -DEARLY=0 -DALIGNED=0)
base(warptile gemm/warptile.cu -DELEM_f32 -DBM=64 -DBN=64 -DBK=16 -DWM=64 -DWN=32 -DTM=8 -DTN=8 -DSTAGES=4 -DCTAS=4
     -DBAND=16 -DALIGNED=0)
base(wmma gemm/wmma.cu -DELEM_bf16 -DBM=128 -DBN=128 -DBK=32 -DWM=32 -DWN=64 -DALIGNED=0)
# Elements of both operands loaded together, for small products.
base(wmma_small gemm/wmma_small.cu -DELEM_f16 -DOUT_f32 -DBM=32 -DBN=32 -DBK=64)
base(mma gemm/mma.cu -DELEM_bf16 -DBM=64 -DBN=64 -DBK=32 -DWM=32 -DWN=32 -DSTAGES=4 -DCTAS=4 -DFRAGMENTS=2 -DBAND=8
     -DALIGNED=1)
base(mma_other gemm/mma.cu -DELEM_bf16 -DOUT_f16 -DBM=64 -DBN=64 -DBK=32 -DWM=32 -DWN=64 -DSTAGES=4 -DCTAS=4 -DFRAGMENTS=1
     -DBAND=8 -DALIGNED=1 -DANY_CD=1)
base(mma_f64 gemm/mma_f64.cu -DELEM_f64 -DBM=64 -DBN=64 -DBK=16 -DWM=32 -DWN=32 -DSTEP_K=4 -DFRAGMENTS=2 -DSTAGES=4
     -DCTAS=3 -DBAND=8 -DWIDTH=2)
# Stream-K.
base(mma_f64_units gemm/mma_f64.cu -DELEM_f64 -DBM=64 -DBN=64 -DBK=16 -DWM=32 -DWN=32 -DSTEP_K=4 -DFRAGMENTS=2 -DSTAGES=4
     -DCTAS=3 -DBAND=8 -DWIDTH=2)
# By the instruction of GPUs before 9.0.
base(mma_f64_eight gemm/mma_f64.cu -DELEM_f64 -DBM=64 -DBN=128 -DBK=16 -DWM=32 -DWN=64 -DSTEP_K=4 -DFRAGMENTS=2 -DSTAGES=3
     -DCTAS=2 -DBAND=8 -DWIDTH=1 -DTSR_F64_EIGHT_ROWS)
# By the largest one.
base(mma_f64_sixteen gemm/mma_f64.cu -DELEM_f64 -DBM=64 -DBN=64 -DBK=32 -DWM=32 -DWN=32 -DSTEP_K=16 -DFRAGMENTS=2
     -DSTAGES=3 -DCTAS=1 -DBAND=8 -DWIDTH=1)
base(mma_f64_one_set gemm/mma_f64.cu -DELEM_f64 -DBM=64 -DBN=64 -DBK=16 -DWM=32 -DWN=32 -DSTEP_K=8 -DFRAGMENTS=1 -DSTAGES=3
     -DCTAS=1 -DBAND=8 -DWIDTH=2)

base(stream_k gemm/stream_k.cu -DELEM_f32 -DBM=64 -DBN=64 -DBK=16 -DWM=64 -DWN=32 -DTM=8 -DTN=8 -DSTAGES=4 -DCTAS=4
     -DBAND=16 -DALIGNED=0)
base(cluster_k gemm/cluster_k.cu -DELEM_f32 -DBM=64 -DBN=64 -DBK=16 -DWM=64 -DWN=32 -DTM=8 -DTN=8 -DSTAGES=4 -DCTAS=4
     -DBAND=16 -DALIGNED=0)
base(thin gemm/thin.cu -DELEM_f32 -DBM=4 -DBK=32 -DDEPTH=4 -DCTAS=3 -DALIGNED=0 -DALONG_K=0 -DCOLUMNS=0)
base(thin_transposed gemm/thin.cu -DELEM_f32 -DBM=4 -DBK=64 -DDEPTH=8 -DCTAS=2 -DALIGNED=0 -DALONG_K=1 -DCOLUMNS=0)
base(thin_columns gemm/thin.cu -DELEM_f32 -DBM=4 -DBK=32 -DDEPTH=4 -DCTAS=3 -DALIGNED=0 -DALONG_K=0 -DCOLUMNS=1)
base(thin_columns_along_k gemm/thin.cu -DELEM_bf16 -DOUT_f32 -DBM=2 -DBK=64 -DDEPTH=8 -DCTAS=2 -DALIGNED=0 -DALONG_K=1
     -DCOLUMNS=1)
base(thin_16 gemm/thin.cu -DELEM_bf16 -DBM=4 -DBK=32 -DDEPTH=4 -DCTAS=3 -DALIGNED=0 -DALONG_K=0 -DCOLUMNS=0)
base(thin_64 gemm/thin.cu -DELEM_f64 -DBM=4 -DBK=32 -DDEPTH=4 -DCTAS=2 -DALIGNED=0 -DALONG_K=0 -DCOLUMNS=0)
base(thin_64_transposed gemm/thin.cu -DELEM_f64 -DBM=2 -DBK=64 -DDEPTH=4 -DCTAS=2 -DALIGNED=0 -DALONG_K=1 -DCOLUMNS=0)
base(thin_16_transposed gemm/thin.cu -DELEM_f16 -DBM=2 -DBK=64 -DDEPTH=8 -DCTAS=2 -DALIGNED=0 -DALONG_K=1 -DCOLUMNS=0)
base(thin_mma gemm/thin_mma.cu -DELEM_bf16 -DOUT_either -DSMALL=16 -DWARPS=2 -DSTAGES=2 -DALONG_K=0 -DCOLUMNS=0)
base(thin_mma_columns gemm/thin_mma.cu -DELEM_f16 -DOUT_either -DSMALL=32 -DWARPS=2 -DSTAGES=3 -DALONG_K=0 -DCOLUMNS=1)
base(thin_mma_along_k gemm/thin_mma.cu -DELEM_bf16 -DOUT_either -DSMALL=32 -DWARPS=8 -DSTAGES=2 -DALONG_K=1 -DCOLUMNS=0)

base(sparse24 gemm/sparse24.cu -DELEM_bf16 -DBM=128 -DBN=128 -DBK=64 -DWM=64 -DWN=64 -DSTAGES=3 -DBAND=8 -DCTAS=2)
base(sparse24_tf32 gemm/sparse24.cu -DELEM_tf32 -DBM=128 -DBN=128 -DBK=32 -DWM=64 -DWN=64 -DSTAGES=3 -DBAND=8 -DCTAS=2)
base(sparse24_int8 gemm/sparse24.cu -DELEM_int8 -DBM=128 -DBN=128 -DBK=128 -DWM=64 -DWN=64 -DSTAGES=3 -DBAND=8 -DCTAS=2)
base(mma_int8 gemm/mma_int8.cu -DELEM_int8 -DBM=64 -DBN=64 -DBK=64 -DWM=32 -DWN=32 -DSTAGES=3 -DBAND=8 -DCTAS=4 -DDIRECT=0)
base(mma_int8_large gemm/mma_int8.cu -DELEM_int8 -DBM=128 -DBN=128 -DBK=64 -DWM=64 -DWN=64 -DSTAGES=3 -DBAND=8 -DCTAS=2
     -DDIRECT=0)
base(mma_int8_direct gemm/mma_int8.cu -DELEM_int8 -DBM=64 -DBN=64 -DBK=64 -DWM=32 -DWN=32 -DSTAGES=3 -DBAND=8 -DCTAS=4
     -DDIRECT=1)

set(file gemm/tiled.cu)
rung_mutant(tiled_first_barrier tiled ${file} "b += b_step;
            tsr_barrier();" "b += b_step;" "shared memory")
rung_mutant(tiled_second_barrier tiled ${file} "sum);
            tsr_barrier();" "sum);" "race")
rung_mutant(tiled_k_off_by_one tiled ${file} "k0 + a_k < args.k ? *a" "k0 + a_k <= args.k ? *a" "")
rung_mutant(tiled_k_tail tiled ${file} "k0 < args.k; k0 += TILE" "k0 + TILE <= args.k; k0 += TILE" "")
rung_mutant(tiled_row_off_by_one tiled ${file} "row0 + a_m < args.m &&" "row0 + a_m <= args.m &&" "")
rung_mutant(tiled_column_guard tiled ${file} "if (row0 + y < args.m && col0 + x < args.n)" "if (row0 + y < args.m)" "")
rung_mutant(tiled_transposed tiled ${file} "As[y][k]" "As[k][y]" "")
rung_mutant(tiled_short_sum tiled ${file} "k < TILE; k++" "k < TILE - 1; k++" "")
rung_mutant(tiled_batch_step tiled ${file} "z += gridDim.z" "z += gridDim.z + 1" "")

set(file gemm/regtile1d.cu)
rung_mutant(regtile1d_first_barrier regtile1d ${file} "b.next += b.tile_stride;
            tsr_barrier();" "b.next += b.tile_stride;" "shared memory")
rung_mutant(regtile1d_second_barrier regtile1d ${file} "            }
            tsr_barrier();" "            }" "race")
rung_mutant(regtile1d_k_tail regtile1d ${file} "args.k - k0 < BK ? (int)(args.k - k0) : BK" "BK" "")
rung_mutant(regtile1d_no_advance regtile1d ${file} "b.next += b.tile_stride;" "" "")
rung_mutant(loader_row_guard regtile1d tile/load.h "i * loader->row_step < loader->rows && " "" "")
rung_mutant(loader_k_off_by_one regtile1d tile/load.h "< depth - loader->k" "<= depth - loader->k" "")

set(file gemm/regtile2d.cu)
rung_mutant(regtile2d_first_barrier regtile2d ${file} "b.next += b.tile_stride;
            tsr_barrier();" "b.next += b.tile_stride;" "shared memory")
rung_mutant(regtile2d_second_barrier regtile2d ${file} "            }
            tsr_barrier();" "            }" "race")
rung_mutant(regtile2d_fragment regtile2d ${file} "Bs[k * BN + x * TN]" "Bs[k * BN + (x ^ 1) * TN]" "")
rung_mutant(regtile2d_row_off_by_one regtile2d ${file} "y * TM + i, col0" "y * TM + i + 1, col0" "")

rung_mutant(padded_gaps padded gemm/padded.cu "row / 32 * 4" "row / 16 * 4" "")
rung_mutant(padded_pitch padded gemm/padded.cu "PITCH_A = BM + BM / 8 - 4" "PITCH_A = BM" "")
rung_mutant(swizzled_stores swizzled gemm/swizzled.cu "(row >> 5 ^ k) & 7" "(row >> 4 ^ k) & 7" "")
rung_mutant(swizzled_loads swizzled gemm/swizzled.cu "(ya ^ i ^ (k & 7) << 2)" "(ya ^ i ^ (k & 3) << 2)" "")
rung_mutant(vectorized_one_k vectorized gemm/vectorized.cu "padded(row, k + j, pitch)" "padded(row, k, pitch)" "")
rung_mutant(vectorized_barrier vectorized gemm/vectorized.cu "b.next += b.tile_stride;
            tsr_barrier();" "b.next += b.tile_stride;" "shared memory")
rung_mutant(quad_off_by_one vectorized tile/load_quad.h "j < inside ? from[j]" "j <= inside ? from[j]" "")

set(file gemm/double_buffered.cu)
rung_mutant(buffered_wait_late buffered ${file} "tsr_copy_wait(STAGES - 2)" "tsr_copy_wait(STAGES - 1)" "")
rung_mutant(buffered_barrier buffered ${file} "tsr_barrier();             /* for" "/* for" "")
rung_mutant(buffered_wrong_stage buffered ${file} "(stage == 0 ? LAST_STAGE : stage - STAGE)" "stage" "")
rung_mutant(buffered_stage_wraps_early buffered ${file} "stage == LAST_STAGE ? 0" "stage == LAST_STAGE - STAGE ? 0" "")
rung_mutant(buffered_k_tail buffered ${file} "(int)((args.k - 1) % BK) + 1 : BK" "BK : BK" "")
rung_mutant(buffered_commit buffered ${file} "            tsr_copy_commit();

            const elem" "            const elem" "")
rung_mutant(buffered_lost_tile buffered ${file} "t + STAGES - 1 < tiles" "t + STAGES < tiles" "")
rung_mutant(buffered_batch_barrier buffered ${file} "tsr_barrier(); /* the next" "/* the next" "")
rung_mutant(copy_row_guard buffered tile/async_tile.h "row < s->rows && k < depth" "k < depth" "")
rung_mutant(copy_advance buffered tile/async_tile.h "s->next += depth * k_stride" "s->next += bk * k_stride" "")

set(file collective/warp_product.h)
rung_mutant(warptile_wait warptile ${file} "tsr_copy_wait(STAGES - 2);
                tsr_barrier();" "tsr_barrier();" "")
rung_mutant(warptile_barrier warptile ${file} "tsr_copy_wait(STAGES - 2);
                tsr_barrier();" "tsr_copy_wait(STAGES - 2);" "")
rung_mutant(warptile_first_wait warptile ${file} "tsr_copy_wait(STAGES - 2);
    tsr_barrier();" "tsr_barrier();" "")
rung_mutant(warptile_stale_fragment warptile ${file} "fa[k % 2][i]" "fa[(k + 1) % 2][i]" "")
rung_mutant(warptile_wrong_stage warptile ${file} "from_b = shared + stage + BK" "from_b = shared + BK" "")
rung_mutant(warptile_lane warptile ${file} "(lane >> 1 & 1)" "(lane & 1)" "")
rung_mutant(warptile_no_advance warptile tile/async_tile.h "    s->next += bk;" "" "")

set(file gemm/wmma.cu)
rung_mutant(wmma_first_barrier wmma ${file} "tsr_barrier(); /* the tiles" "/* the tiles" "race")
rung_mutant(wmma_second_barrier wmma ${file} "tsr_barrier(); /* nobody" "/* nobody" "race")
rung_mutant(wmma_warp_sync wmma ${file} "SCRATCH_PITCH);
                tsr_warp_sync(TSR_ALL_LANES);" "SCRATCH_PITCH);" "race")
rung_mutant(wmma_pitch wmma ${file} "(a_k ? BK : BM) + 8" "(a_k ? BK : BM) + 16" "")
rung_mutant(wmma_layout wmma ${file} "(unsigned)pitch_b, b_k)" "(unsigned)pitch_b, !b_k)" "")
rung_mutant(wmma_lines_guard wmma tile/tensor_line.h "first_line + line < lines ?" "first_line + line <= lines ?" "")

set(file gemm/wmma_small.cu)
rung_mutant(wmma_small_tiles_barrier wmma_small ${file} "tsr_barrier(); /* these tiles" "/* these tiles" "race")
rung_mutant(wmma_small_reuse_barrier wmma_small ${file} "tsr_barrier(); /* nobody reads the tiles before" "(void)0; /*" "race")
rung_mutant(wmma_small_scratch_barrier wmma_small ${file} "tsr_barrier(); /* the scratch" "/* the scratch" "race")
rung_mutant(wmma_small_ahead wmma_small ${file} "at, k0 + BK);" "at, k0);" "")
rung_mutant(wmma_small_pass_rows wmma_small ${file} "pass ? args.m : 0" "args.m" "")
rung_mutant(wmma_small_pass_output wmma_small ${file} "out.m = x.m;" "" "")
rung_mutant(wmma_small_batch_barrier wmma_small ${file} "tsr_barrier(); /* the next problem" "/* the next problem" "race")
set(file tile/tensor_elements.h)
rung_mutant(wmma_small_line_guard wmma_small ${file} "lines - first_line - thread / width" "lines + 1 - first_line - thread / width" "")
rung_mutant(wmma_small_length_guard wmma_small ${file} "at < length ?" "at <= length ?" "")
rung_mutant(wmma_small_first_line wmma_small ${file} "(first_line + thread / width) * ld" "(first_line + thread / width + 1) * ld" "")
rung_mutant(wmma_small_place_across wmma_small ${file} ": at * pitch + across" ": across * pitch + at" "")
rung_mutant(wmma_small_place_along wmma_small ${file} "? across * pitch + at" "? at * pitch + across" "")
rung_mutant(wmma_small_step wmma_small ${file} "threads / width * (along_k" "2 * threads / width * (along_k" "")

set(file gemm/mma.cu)
rung_mutant(mma_wait mma ${file} "tsr_copy_wait(STAGES - 2);
                tsr_barrier();" "tsr_barrier();" "")
rung_mutant(mma_barrier mma ${file} "tsr_copy_wait(STAGES - 2);
                tsr_barrier();" "tsr_copy_wait(STAGES - 2);" "")
rung_mutant(mma_first_wait mma ${file} "tsr_copy_wait(STAGES - 2);
    tsr_barrier();" "tsr_barrier();" "")
rung_mutant(mma_k_tail mma ${file} "t + STAGES - 1 < full ? BK : rest" "BK" "")
rung_mutant(mma_commit mma ${file} "b_k, ALIGNED);
                }
                tsr_copy_commit();" "b_k, ALIGNED);
                }" "")
rung_mutant(mma_wrong_stage mma ${file} "(stage == 0 ? LAST_STAGE : stage - STAGE)" "stage" "")
rung_mutant(mma_stale_step mma ${file} "(step + 1) % STEPS, a_k" "step % STEPS, a_k" "")
rung_mutant(mma_swizzle_added mma tile/tensor_fragment.h "(offset ^ (unsigned)(step * 32))" "(offset + (unsigned)(step * 32))" "")
rung_mutant(mma_lane_offset mma tile/tensor_fragment.h "along = is_b ? lane / 8 % 2 : lane / 16" "along = is_b ? lane / 16 : lane / 8 % 2" "")
rung_mutant(mma_no_swizzle mma tile/tensor_tile.h "const int swap = sizeof(elem) == 2 ? k % 8 : 2 * (k % 4);" "const int swap = 0;" "equivalent")
rung_mutant(mma_chunk_off_by_one mma tile/tensor_tile.h "inside < CHUNK ? inside : CHUNK" "inside < CHUNK ? inside + 1 : CHUNK" "")
rung_mutant(mma_tile_missed mma collective/raster.h "place.m = first + inside % rows" "place.m = first" "")
rung_mutant(mma_other_pairs mma_other tile/tensor_element.h "(unsigned long long)out->ldd) % 2 == 0" "(unsigned long long)out->ldd) % 2 <= 1" "misaligned")
rung_mutant(mma_other_type mma_other tile/tensor_element.h "#define tensor_narrow_half tsr_narrow_f16" "#define tensor_narrow_half tsr_narrow_bf16" "")
rung_mutant(mma_other_lanes mma_other ${file} "tsr_warp_sync(TSR_ALL_LANES);" "" "race")
rung_mutant(mma_other_barrier mma_other ${file} "tsr_barrier(); /* the next" "/* the next" "race")
rung_mutant(mma_other_first_row mma_other ${file} "row + i, col" "row, col" "")
rung_mutant(mma_other_one_warp mma_other ${file} "TSR_SHARED + warp *" "TSR_SHARED + 0 * warp *" "race")

set(file gemm/mma_f64.cu)
rung_mutant(mma_f64_wait mma_f64 ${file} "tsr_copy_wait(STAGES - 2);
                tsr_barrier();" "tsr_barrier();" "")
rung_mutant(mma_f64_barrier mma_f64 ${file} "tsr_copy_wait(STAGES - 2);
                tsr_barrier();" "tsr_copy_wait(STAGES - 2);" "")
rung_mutant(mma_f64_first_wait mma_f64 ${file} "tsr_copy_wait(STAGES - 2);
    tsr_barrier();" "tsr_barrier();" "")
rung_mutant(mma_f64_commit mma_f64 ${file} "last, a_k, b_k);
                tsr_copy_commit();" "last, a_k, b_k);" "")
rung_mutant(mma_f64_k_tail mma_f64 ${file} "t + STAGES < p->steps ? BK : words_of(shared)->last" "BK" "")
rung_mutant(mma_f64_wrong_stage mma_f64 ${file} "(stage == 0 ? LAST_STAGE : stage - STAGE)" "stage" "")
rung_mutant(mma_f64_stale_step mma_f64 ${file} "(step + 1) % STEPS, a_k" "step % STEPS, a_k" "")
rung_mutant(mma_f64_grid_wait mma_f64 ${file} "    tsr_grid_wait();" "" "")
rung_mutant(mma_f64_lower_half mma_f64 ${file} "row + 16 * i + 8, col" "row + 16 * i + 4, col" "")
rung_mutant(mma_f64_halves mma_f64 tile/f64_fragment.h "2 * index + i % 2, step" "2 * index + i / 2, step" "")
set(file tile/f64_tile.h)
rung_mutant(mma_f64_swizzle_added mma_f64 ${file} "(offset ^ (unsigned)(four" "(offset + (unsigned)(four" "")
rung_mutant(mma_f64_rows_swizzle_added mma_f64 ${file} "(offset ^ (unsigned)(eight" "(offset + (unsigned)(eight" "")
rung_mutant(mma_f64_no_swizzle mma_f64 ${file} "(at / F64_QUAD ^ line % 4)" "(at / F64_QUAD)" "equivalent")
rung_mutant(mma_f64_copy_off_by_one mma_f64 ${file} "inside < width ? inside : width" "inside < width ? inside + 1 : width" "")
rung_mutant(mma_f64_line_guard mma_f64 ${file} "first_line + line < (" "first_line + line <= (" "")
rung_mutant(mma_f64_no_advance mma_f64 ${file} "k_contiguous ? bk : bk * ld" "k_contiguous ? bk : ld" "")
rung_mutant(mma_f64_line_step mma_f64 ${file} "s.step = threads / of_line * ld" "s.step = ld" "")
rung_mutant(mma_f64_sums_of_other_lanes mma_f64_sixteen gemm/mma_f64.cu "tsr_warp_sync(TSR_ALL_LANES);
    const int lane_row" "const int lane_row" "")
rung_mutant(mma_f64_half_a_row mma_f64_eight gemm/mma_f64.cu "* PITCH + (at + 32 * i) % WN" "* PITCH" "")
rung_mutant(mma_f64_one_column mma_f64_eight tile/output_pair.h "row >= out->m || col >= out->n)
        return;
    elem value;" "row >= out->m)
        return;
    elem value;" "")
rung_mutant(mma_f64_odd_column mma_f64 tile/output_pair.h "col + 2 <= out->n" "col + 1 <= out->n" "")

set(file gemm/mma_int8.cu)
rung_mutant(mma_int8_wait mma_int8 ${file} "tsr_copy_wait(STAGES - 2);" "" "")
rung_mutant(mma_int8_barrier mma_int8 ${file} "tsr_barrier(); /* the tile" "/* the tile" "shared memory")
rung_mutant(mma_int8_next_problem mma_int8 ${file} "tsr_barrier(); /* the problem" "/* the problem" "race")
rung_mutant(mma_int8_stages_free mma_int8 ${file} "tsr_barrier(); /* the stages" "/* the stages" "race")
rung_mutant(mma_int8_commit mma_int8 ${file} "tsr_copy_commit();" "if (t == 0) tsr_copy_commit();" "")
rung_mutant(mma_int8_k_tail mma_int8 ${file} "BM, thread, t < full ? BK : rest" "BM, thread, BK" "")
rung_mutant(mma_int8_step mma_int8 ${file} "offset_b, step, second" "offset_b, 0, second" "")
rung_mutant(mma_int8_halves mma_int8 ${file} "&f->b[j / 2][j % 2 * 2]" "&f->b[j / 2][0]" "")
rung_mutant(mma_int8_last_tile mma_int8 ${file} "t < tiles + STAGES - 1; t++" "t < tiles + STAGES - 2; t++" "")
rung_mutant(mma_int8_unsigned mma_int8_large ${file} "z, row0, col0, has_zeros, sum, 1, 1" "z, row0, col0, has_zeros, sum, 1, 0" "")
rung_mutant(mma_int8_zeros_sign mma_int8_large ${file} "line < BM ? second_a : second_b" "0" "")
rung_mutant(mma_int8_zeros_one_line mma_int8_large ${file} "const int line = i * THREADS + thread" "const int line = thread" "")
rung_mutant(mma_int8_zeros_begin mma_int8 ${file} "        of_line[i] = 0;" "        of_line[i] = i + 1;" "")
rung_mutant(mma_int8_zeros_stored mma_int8_large ${file} "ZEROS_AT + (unsigned)(i * THREADS + thread) * 4" "ZEROS_AT + (unsigned)thread * 4" "")
rung_mutant(mma_int8_zeros_over_stages mma_int8 ${file} "ZEROS_AT = STAGES * STAGE" "ZEROS_AT = 0" "")
set(file collective/int8_output.h)
rung_mutant(mma_int8_slab_pitch mma_int8 ${file} "PITCH = WN + 8" "PITCH = WN + 9" "misaligned")
rung_mutant(mma_int8_slab_left mma_int8_large ${file} "tsr_warp_sync(TSR_ALL_LANES); /* the rows" "/* the rows" "race")
rung_mutant(mma_int8_slab_there mma_int8 ${file} "        leave_slab(slab, sum[0]);
        tsr_warp_sync(TSR_ALL_LANES);" "        leave_slab(slab, sum[0]);" "race")
rung_mutant(mma_int8_second_slab mma_int8_large ${file} "        if (i > 0)" "        if (0)" "")
rung_mutant(mma_int8_lower_half mma_int8 ${file} "* 16 + i % 2 * 8, column" "* 16 + i % 2 * 4, column" "")
rung_mutant(mma_int8_row_guard mma_int8 ${file} "first + i < e->out.m" "first + i <= e->out.m" "")
rung_mutant(mma_int8_column_guard mma_int8 ${file} "            if (j < left)" "            if (j <= left)" "")
rung_mutant(mma_int8_row_step mma_int8 ${file} "to += SLAB_STEP * e->out.ldd" "to += e->out.ldd" "")
rung_mutant(mma_int8_zero_of_row mma_int8 ${file} "zeros->row + at,
                                                args->m" "zeros->row,
                                                args->m" "")
rung_mutant(mma_int8_zero_of_column mma_int8 ${file} "col + at + i, args->n" "col + i, args->n" "")
rung_mutant(mma_int8_sum_of_column mma_int8 ${file} "(unsigned)(BM + at + i) * 4" "(unsigned)(at + i) * 4" "")
rung_mutant(mma_int8_zeros_both mma_int8 ${file} "- (unsigned)args->k * point" "" "")
rung_mutant(mma_int8_scale_of_column mma_int8 ${file} "e->columns[col + i]" "e->columns[col]" "")
rung_mutant(mma_int8_bias mma_int8 ${file} "e->out.form.bias, col + i)" "e->out.form.bias, col)" "")
set(file tile/byte_tile.h)
rung_mutant(mma_int8_direct_inside mma_int8_direct ${file} "4 * j + b < inside" "4 * j + b <= inside" "")
rung_mutant(mma_int8_direct_lines mma_int8_direct ${file} "line < s->lines ? depth - k : 0" "depth - k" "")
rung_mutant(mma_int8_direct_step mma_int8_direct ${file} "s.step = is_along_k ? 1 : ld" "s.step = 1" "")
rung_mutant(mma_int8_direct_advance mma_int8_direct ${file} "s->next += bk * s->step" "s->next += bk" "")

set(file gemm/sparse24.cu)
rung_mutant(sparse24_wait sparse24 ${file} "tsr_copy_wait(STAGES - 2);" "" "")
rung_mutant(sparse24_barrier sparse24 ${file} "tsr_barrier(); /* the tile" "/* the tile" "shared memory")
rung_mutant(sparse24_next_problem sparse24 ${file} "tsr_barrier(); /* the problem" "/* the problem" "race")
rung_mutant(sparse24_stage sparse24 ${file} "next = stage;" "" "")
rung_mutant(sparse24_commit sparse24 ${file} "        tsr_copy_commit();
        const" "        const" "")
rung_mutant(sparse24_k_tail sparse24 ${file} "t < full ? BK : rest" "BK" "")
rung_mutant(sparse24_selector sparse24 ${file} "metadata[i], step, second" "metadata[i], 0, second" "")
rung_mutant(sparse24_metadata_step sparse24_int8 ${file} "step * BLOCKS / 2" "0" "")
rung_mutant(sparse24_metadata_line sparse24 ${file} "(i * BLOCKS +" "(0 * BLOCKS +" "")
rung_mutant(sparse24_metadata_advance sparse24 ${file} "s->next += BLOCKS * BLOCK_BYTES;" "" "")
rung_mutant(sparse24_metadata_warp sparse24 ${file} "warp_line / 16 * BLOCKS" "0 * BLOCKS" "")
rung_mutant(sparse24_metadata_at sparse24 ${file} "line0 / 16 * m.line_bytes" "0" "")
rung_mutant(sparse24_halves sparse24 ${file} "first[2 * h], first[2 * h + 1], second[2 * h]" "second[2 * h], first[2 * h + 1], first[2 * h]" "")
rung_mutant(sparse24_other_step sparse24 ${file} "j, 2 * step + 1, 1" "j, 2 * step, 1" "")
rung_mutant(sparse24_pitch sparse24 ${file} "o->k_padded / 2, line0" "o->k_padded, line0" "")
rung_mutant(sparse24_lines sparse24 ${file} "(lines + 127) / 128 * 128" "lines" "")
rung_mutant(sparse24_tf32_selector sparse24_tf32 ${file} "metadata[i], step, second" "metadata[i], 0, second" "")
rung_mutant(sparse24_tf32_other_selector sparse24_tf32 ${file} "metadata[i], step, second" "metadata[i], 1 - step, second" "")
rung_mutant(sparse24_tf32_line sparse24_tf32 ${file} "o->k_padded / BLOCK_K * BLOCK" "o->k_padded / 64 * BLOCK" "")
rung_mutant(sparse24_tf32_form sparse24_tf32 ${file} "FORM_K = 256 / (int)sizeof(elem)" "FORM_K = 128" "")
rung_mutant(sparse24_tf32_halves sparse24_tf32 ${file} "first[2 * h], first[2 * h + 1], second[2 * h]" "second[2 * h], first[2 * h + 1], first[2 * h]" "")
rung_mutant(sparse24_tf32_rounds sparse24_tf32 ${file} "        tensor_round(s[i]);" "" "")
rung_mutant(sparse24_tf32_rounds_first sparse24_tf32 ${file} "        tensor_round(first);" "" "")
rung_mutant(sparse24_tf32_rounds_second sparse24_tf32 ${file} "        tensor_round(second);" "" "")
set(file tile/sparse_element.h)
rung_mutant(sparse24_tf32_metadata sparse24_tf32 ${file} "tsr_mma_sparse_tf32(acc, a, b, metadata," "tsr_mma_sparse_tf32(acc, a, b, metadata ^ 10,"
            "")
rung_mutant(sparse24_tf32_nibble sparse24_tf32 ${file} "tsr_mma_sparse_tf32(acc, a, b, metadata," "tsr_mma_sparse_tf32(acc, a, b, metadata | 8,"
            "metadata of tf32 is neither")
set(file gemm/sparse24.cu)
rung_mutant(sparse24_swap sparse24_int8 ${file} "j = swap_ab ? line : row" "j = row" "")
rung_mutant(sparse24_edge sparse24 ${file} "i < out->m && j < out->n" "i < out->m" "")
rung_mutant(sparse24_columns sparse24 ${file} "row + 8 * j + e % 2" "row + 8 * j" "")

set(file gemm/stream_k.cu)
rung_mutant(stream_k_counter_relaxed stream_k collective/units.h "tsr_add_acquire_release(counter, 1)" "tsr_add_relaxed(counter, 1)" "race")
rung_mutant(stream_k_sums_not_gathered stream_k collective/units.h "{
    tsr_barrier();
    if (thread == 0) {" "{
    if (thread == 0) {" "race")
rung_mutant(stream_k_last_not_told stream_k collective/units.h "    }
    tsr_barrier();
    return *word" "    }
    return *word" "")
rung_mutant(stream_k_counter_stays stream_k collective/units.h "tsr_store_release(counter, 0)" "(void)counter" "")
rung_mutant(stream_k_last_is_first stream_k collective/units.h "return *word == count - 1" "return *word == 0" "")
rung_mutant(stream_k_part_missing stream_k ${file} "s < count; s++" "s + 1 < count; s++" "")
rung_mutant(stream_k_wrong_unit stream_k collective/units.h "* units - 1) / all" "* units) / all" "")
rung_mutant(stream_k_wrong_start stream_k ${file} "rest + (long long)(first - 1) * BK" "(long long)first * BK" "")
rung_mutant(stream_k_first_step stream_k ${file} "first == 0 ? rest : BK, shared" "BK, shared" "")
rung_mutant(stream_k_one_slot stream_k ${file} "(long long)(blockIdx.x - unit0) * TILE" "0 * TILE" "")
rung_mutant(stream_k_step_twice stream_k ${file} "unit_begin(blockIdx.x + 1, all, units) - begin"
            "unit_begin(blockIdx.x + 1, all, units) - begin + 1" "")

set(file collective/f64_partials.h)
rung_mutant(mma_f64_counter_relaxed mma_f64_units collective/units.h "tsr_add_acquire_release(counter, 1)" "tsr_add_relaxed(counter, 1)" "race")
rung_mutant(mma_f64_sums_not_gathered mma_f64_units collective/units.h "{
    tsr_barrier();
    if (thread == 0) {" "{
    if (thread == 0) {" "race")
rung_mutant(mma_f64_last_not_told mma_f64_units collective/units.h "    }
    tsr_barrier();
    return *word" "    }
    return *word" "")
rung_mutant(mma_f64_counter_stays mma_f64_units collective/units.h "tsr_store_release(counter, 0)" "(void)counter" "")
rung_mutant(mma_f64_last_is_first mma_f64_units collective/units.h "return *word == count - 1" "return *word == 0" "")
rung_mutant(mma_f64_part_missing mma_f64_units ${file} "part < count; part++" "part + 1 < count; part++" "")
rung_mutant(mma_f64_group_not_stored mma_f64_units ${file} "f64_store_partial(of_group, thread, sum);" ";" "")
rung_mutant(mma_f64_group_step mma_f64_units ${file} "(long long)group * TILE_SUMS" "TILE_SUMS" "")
rung_mutant(mma_f64_counter_of_each_part mma_f64_units ${file} "counters + 1 + part / group" "counters + 1 + part" "")
rung_mutant(mma_f64_last_group mma_f64_units ${file} "parts - first < group ? parts - first : group" "group" "")
set(file gemm/mma_f64.cu)
rung_mutant(mma_f64_wrong_start mma_f64_units ${file} "p.k0 = (long long)first * BK" "p.k0 = 0" "")
rung_mutant(mma_f64_step_twice mma_f64_units ${file} "unit_begin(blockIdx.x + 1, shared * steps, units)"
            "unit_begin(blockIdx.x + 1, shared * steps, units) + 1" "")
rung_mutant(mma_f64_one_slot mma_f64_units ${file} "(long long)(first + p->tile) * TILE_SUMS" "0" "")
rung_mutant(mma_f64_early_tail mma_f64_units ${file} "args->k - p.k0 < (long long)p.steps * BK ?" "args->k % BK > 0 ?" "")

set(file gemm/thin.cu)
rung_mutant(thin_first_barrier thin ${file} "(int)(args.k - k0) : BK;
        tsr_barrier();" "(int)(args.k - k0) : BK;" "race")
rung_mutant(thin_second_barrier thin ${file} "}
        tsr_barrier();
        TSR_ROLLED" "}
        TSR_ROLLED" "shared memory")
rung_mutant(thin_sums_too_early thin ${file} "in their order. */
    tsr_barrier();" "in their order. */" "race")
rung_mutant(thin_sums_unready thin ${file} "warp, lane);
    tsr_barrier();
    real total" "warp, lane);
    real total" "shared memory")
rung_mutant(thin_counter_relaxed thin ${file} "tsr_add_acquire_release(counter, 1)" "tsr_add_relaxed(counter, 1)" "race")
rung_mutant(thin_sums_not_gathered thin ${file} "= total[i];
        tsr_barrier();" "= total[i];" "race")
rung_mutant(thin_last_not_told thin ${file} "        }
        tsr_barrier();
        if (*word" "        }
        if (*word" "")
rung_mutant(thin_counter_stays thin ${file} "tsr_store_release(counter, 0)" "(void)counter" "")
rung_mutant(thin_last_is_first thin ${file} "if (*word != parts - 1)" "if (*word != 0)" "")
rung_mutant(thin_panel_lost thin ${file} "panel < last; panel++" "panel + 1 < last; panel++" "")
rung_mutant(thin_rows_stay thin ${file} "next += STRIDE;" "" "")
rung_mutant(thin_end_of_part thin ${file} "end - next" "end - next + DEPTH" "")
rung_mutant(thin_row_guard thin ${file} "m < rows && k < depth" "k < depth" "")
rung_mutant(thin_depth_off_by_one thin tile/thin_block.h "inside >= DEPTH &&" "inside >= DEPTH - 1 &&" "")
rung_mutant(thin_column_off_by_one thin tile/thin_block.h "lane_col(lane, 3) < cols" "lane_col(lane, 3) <= cols" "")
rung_mutant(thin_grid_wait thin ${file} "tsr_grid_wait();" "" "griddepcontrol.wait")
rung_mutant(thin_pitch thin ${file} "PITCH = BK + 4" "PITCH = BK - 4" "")
rung_mutant(thin_columns_as_rows thin_columns ${file} "n = COLUMNS ? row0 + row" "n = COLUMNS ? col0 + row" "")
rung_mutant(thin_columns_panel_along_k thin_columns ${file} "args->trans_b ? args->ldb : 1, " "args->trans_b ? 1 : args->ldb, " "")
rung_mutant(thin_columns_batch thin_columns_along_k ${file} "p.large_batch = args->batch_a" "p.large_batch = args->batch_b" "")
rung_mutant(thin_columns_along_k_count thin_columns_along_k ${file} "p.many = args->m" "p.many = args->m + 1" "")
rung_mutant(thin_columns_along_k_ld thin_columns_along_k ${file} "p.ld = args->lda" "p.ld = args->ldb" "")
rung_mutant(thin_16_bits_as_values thin_16 tile/thin_block.h "widen(row[k + l][j])" "(float)row[k + l][j]" "")
rung_mutant(thin_16_panel_as_bits thin_16 ${file} "widen(a[m * p.panel_line + (k0 + k) * p.panel_k])"
            "(float)a[m * p.panel_line + (k0 + k) * p.panel_k]" "")
rung_mutant(thin_16_row_guard thin_16 ${file} "m < rows && k < depth" "k < depth" "")
rung_mutant(thin_16_transposed_as_values thin_16_transposed tile/thin_block.h "widen(quad[j + i][l])" "(float)quad[j + i][l]" "")
rung_mutant(thin_16_transposed_row_guard thin_16_transposed ${file} "m < rows && k < depth" "k < depth" "")
rung_mutant(thin_64_half_a_quad thin_64 ${file} "tsr_load_f64x2(from + 2)" "tsr_load_f64x2(from)" "")
rung_mutant(thin_64_half_the_sums thin_64 ${file} "(to + 2, high)" "(to, high)" "")
rung_mutant(thin_64_low_words thin_64_transposed ptx/warp_f64.h "tsr_shuffle_xor(mask, both.half[1], flip)" "both.half[1]" "")
rung_mutant(thin_64_row_guard thin_64_transposed ${file} "m < rows && k < depth" "k < depth" "")
rung_mutant(thin_transposed_four_lanes thin_transposed tile/thin_block.h "step < 3" "step < 2" "")
rung_mutant(thin_transposed_depth thin_transposed tile/thin_block.h "inside >= BLOCK &&" "inside >= BLOCK - 1 &&" "")
rung_mutant(thin_transposed_tail thin_transposed tile/thin_block.h "lane_k(lane, j) + l < inside" "lane_k(lane, j) + l <= inside" "")
rung_mutant(thin_transposed_last_column thin_transposed tile/thin_block.h "lane_col(lane, 3) < cols" "lane_col(lane, 3) <= cols" "")
rung_mutant(thin_transposed_columns thin_transposed ${file} "cols - 16 * warp, warp_k" "cols, warp_k" "")
rung_mutant(thin_transposed_second_line thin_transposed tile/thin_block.h "j / 4 * 32" "j / 4 * 16" "")
rung_mutant(thin_transposed_next thin_transposed ${file} "next += STRIDE;" "" "")
rung_mutant(thin_transposed_sums_too_early thin_transposed ${file} "in their order. */
    tsr_barrier();" "in their order. */" "race")

set(file gemm/cluster_k.cu)
set(meet "tsr_cluster_arrive();
    tsr_cluster_wait();")
rung_mutant(cluster_k_first_meeting cluster_k ${file} "${meet}
    const unsigned sums" "const unsigned sums" "")
rung_mutant(cluster_k_last_meeting cluster_k ${file} "others' reads. */
    ${meet}" "others' reads. */" "")
rung_mutant(cluster_k_grid_wait cluster_k ${file} "tsr_grid_wait();" "" "griddepcontrol.wait")
rung_mutant(cluster_k_part_missing cluster_k ${file} "if (rank < parts)
                total[e]" "if (rank + 1 < parts)
                total[e]" "")
rung_mutant(cluster_k_own_sums_alone cluster_k ${file} "tsr_cluster_map(address, rank)" "tsr_cluster_map(address, 0)" "")
rung_mutant(cluster_k_share_too_short cluster_k ${file} "last = QUADS * (rank + 1) / parts" "last = QUADS * (rank + 1) / parts - 1" "")
rung_mutant(cluster_k_shares_overlap cluster_k ${file} "q = QUADS * rank / parts +" "q = QUADS * rank / parts / 2 +" "race")
rung_mutant(cluster_k_wrong_start cluster_k ${file} "rest + (first - 1) * BK" "first * BK" "")
rung_mutant(cluster_k_first_step cluster_k ${file} "first == 0 ? rest : BK, (elem" "BK, (elem" "")
rung_mutant(cluster_k_step_lost cluster_k ${file} "steps * (rank + 1) / parts - first" "steps * (rank + 1) / parts - first - (rank == 1)" "")
rung_mutant(cluster_k_tile_of_cta cluster_k ${file} "index = blockIdx.x / parts" "index = blockIdx.x % (gridDim.x / parts)" "")
rung_mutant(cluster_k_quad_beside cluster_k ${file} "q % (BN / 4) * 4" "q % (BN / 4) * 4 + 4" "")

set(file gemm/thin_mma.cu)
foreach(base thin_mma thin_mma_along_k)
  rung_mutant(${base}_copies_unready ${base} ${file} "tsr_copy_wait(STAGES - 1);" "tsr_copy_wait(STAGES);" "")
  rung_mutant(${base}_others_unready ${base} ${file} "await_all(); /* all chunks" "/* all chunks" "")
  rung_mutant(${base}_overwritten ${base} ${file} "await_all(); /* they may" "/* they may" "")
  rung_mutant(${base}_one_stage ${base} ${file} "stage == STAGES - 1 ? 0 : stage + 1; /* the oldest" "stage; /* the oldest" "")
  rung_mutant(${base}_one_skew ${base} tile/thin_mma_copies.h "(unsigned)line * (unsigned)t->ld_large) % CHUNK" "0u * (unsigned)line) % CHUNK" "")
  rung_mutant(${base}_no_skew ${base} ${file} "return tile_shift(first, next, 2 * skew)" "return tile_shift(first, next, 0 * skew)" "")
  rung_mutant(${base}_one_chunk ${base} ${file} "tsr_load_u32x4(from + 4)" "tsr_load_u32x4(from)" "")
  rung_mutant(${base}_what_comes_before ${base} tile/thin_mma_copies.h "return chunk == 0 ? 2 * skew : 0;" "return chunk == 0 ? 0 * skew : 0;"
              "out of bounds")
  rung_mutant(${base}_chunk_beyond ${base} tile/thin_mma_copies.h "left < CHUNK ? 2 * (unsigned)left : 16;
}

TSR_DEVICE unsigned skipped" "16;
}

TSR_DEVICE unsigned skipped" "out of bounds")
  rung_mutant(${base}_rows_exchanged ${base} ${file} "lane, i / 4, i / 2 % 2)" "lane, i / 4, 1 - i / 2 % 2)" "")
  rung_mutant(${base}_columns_alike ${base} ${file} "lane % 4 * 2 + i % 2) * LARGE" "lane % 4 * 2) * LARGE" "")
  rung_mutant(${base}_sums_unready ${base} ${file} "sum[i / 4][j][i % 4];
    tsr_barrier();" "sum[i / 4][j][i % 4];" "")
  rung_mutant(${base}_one_warp ${base} ${file} "total[i] += shared[w * SUMS + at]" "total[i] += shared[at]" "")
  rung_mutant(${base}_counter_relaxed ${base} ${file} "tsr_add_acquire_release(counter, 1)" "tsr_add_relaxed(counter, 1)" "race")
  rung_mutant(${base}_counter_stays ${base} ${file} "tsr_store_release(counter, 0)" "(void)counter" "")
  rung_mutant(${base}_last_is_first ${base} ${file} "if (*word != parts - 1)" "if (*word != 0)" "")
  rung_mutant(${base}_column_guard ${base} ${file} "if (col < t.cols)" "if (col < LARGE)" "")
  rung_mutant(${base}_grid_wait ${base} ${file} "tsr_grid_wait();" "" "griddepcontrol.wait")
  rung_mutant(${base}_one_epilogue ${base} ${file} "if (e->form != TSR_EPILOGUE_NONE)" "if (0)" "")
endforeach()
rung_mutant(thin_mma_sums_too_early thin_mma ${file} "tsr_copy_wait(0);
    tsr_barrier();" "tsr_copy_wait(0);" "race")
rung_mutant(thin_mma_half_a_pair thin_mma ${file} "tsr_lane(rows[2 * i], q) >> 16" "tsr_lane(rows[2 * i], q)" "")
rung_mutant(thin_mma_k_of_the_first thin_mma ${file} "i % 2 + i / 2 * 8" "i % 2" "")
rung_mutant(thin_mma_plain_places thin_mma tile/thin_mma_copies.h "chunk ^ row / 4 % 2; /* ldmatrix" "chunk; /* ldmatrix" "")
rung_mutant(thin_mma_eight_rows thin_mma tile/thin_mma_copies.h "return (t->eights + 1) / 2 * 16;" "return 8 * t->eights;" "never written")
rung_mutant(thin_mma_whole_step_beyond thin_mma ${file} "k + STEP <= t.k" "k < t.k" "out of bounds")
rung_mutant(thin_mma_lines_beyond thin_mma tile/thin_mma_copies.h "line < left ? wanted_bytes" "line < STEP ? wanted_bytes" "out of bounds")
rung_mutant(thin_mma_rows_beyond thin_mma tile/thin_mma_copies.h "row < t->rows ? CHUNK : 0" "row < SMALL ? CHUNK : 0" "out of bounds")
rung_mutant(thin_mma_last_rows_beyond thin_mma tile/thin_mma_copies.h "row < t->rows ? left - chunk * CHUNK : 0" "left - chunk * CHUNK" "out of bounds")
rung_mutant(thin_mma_columns_as_rows thin_mma_columns ${file} "COLUMNS ? row0 + row : col0 + col, shared" "col0 + col, shared" "")
rung_mutant(thin_mma_batch thin_mma ${file} "p.batch_large = args->batch_b" "p.batch_large = 0" "")
rung_mutant(thin_mma_columns_ld thin_mma_columns ${file} "p.ld_large = args->lda" "p.ld_large = args->ldb" "")
rung_mutant(thin_mma_along_k_of_the_first_warp thin_mma_along_k ${file} "warp * (STEP / CHUNK) + lane % 4" "0 * warp + lane % 4" "")
rung_mutant(thin_mma_along_k_last_chunk thin_mma_along_k tile/thin_mma_copies.h "warp * 32 < LARGE" "warp * 64 < LARGE" "")
rung_mutant(thin_mma_along_k_rows_beyond thin_mma_along_k tile/thin_mma_copies.h "row < t->cols ? bytes : 0" "bytes" "out of bounds")
rung_mutant(thin_mma_along_k_small_beyond thin_mma_along_k tile/thin_mma_copies.h "row < t->rows ? wanted_bytes(all, 0, lane) : 0"
            "wanted_bytes(all, 0, lane)" "out of bounds")
rung_mutant(thin_mma_along_k_half thin_mma_along_k ${file} "tsr_lane(four, 2 * i + 1)" "tsr_lane(four, 2 * i)" "")

# Forms of an epilogue. The bias of one's neighbour, past the end, left out or added to each part of K; relu left out, or
# made of every form.
set(file epilogue/epilogue.h)
foreach(base tiled vectorized wmma mma mma_f64 thin)
  rung_mutant(${base}_bias_of_the_neighbour ${base} ${file} "epilogue_widen(from[i])" "epilogue_widen(from[i + 1])" "")
  rung_mutant(${base}_relu_dropped ${base} ${file} "e->form == TSR_EPILOGUE_BIAS_RELU" "e->form > TSR_EPILOGUE_COUNT" "")
  rung_mutant(${base}_relu_always ${base} ${file} "e->form == TSR_EPILOGUE_BIAS_RELU" "e->form > 0" "")
  rung_mutant(${base}_bias_dropped ${base} ${file} "epilogue_add(value[i], bias[i])" "epilogue_add(value[i], 0 * bias[i])" "")
endforeach()
rung_mutant(vectorized_bias_past_the_end vectorized ${file} "i < left ?" "1 ?" "out of bounds")
rung_mutant(thin_bias_in_each_part thin gemm/thin.cu "slots[(long long)part * SUMS + thread + i * THREADS] = total[i];" "{
            const long long at = col0 + scratch_col((thread + i * THREADS) % BN);
            slots[(long long)part * SUMS + thread + i * THREADS] =
                total[i] + (args.epilogue && at < args.n ? ((const elem *)args.bias)[at] : 0);
        }" "")
rung_mutant(thin_relu_in_each_part thin gemm/thin.cu "slots[(long long)part * SUMS + thread + i * THREADS] = total[i];"
            "slots[(long long)part * SUMS + thread + i * THREADS] = total[i] < 1 ? 0 : total[i] - 1;" "")

# Compiles each base as it is (mutant_none_BASE) and all mutants.
function(tessera_rung_mutants target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/mutants/${target})
  foreach(base IN LISTS bases)
    tessera_emu_test_kernel(${target} mutant_none_${base} ${PROJECT_SOURCE_DIR}/kernels/${base_${base}_file}
                            ${base_${base}_defines})
  endforeach()
  foreach(name IN LISTS rung_mutants)
    set(base ${mutant_${name}_base})
    tessera_mutate(${name} ${folder}/${name} ${base_${base}_file} main)
    tessera_emu_test_kernel(${target} mutant_${name} ${main} -I${folder}/${name} ${base_${base}_defines})
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/mutants.def CONTENT "@rung_table@" @ONLY)
  target_include_directories(${target} PRIVATE ${folder} ${PROJECT_SOURCE_DIR}/kernels)
endfunction()

if(TARGET unit_emu_mutants)
  tessera_rung_mutants(unit_emu_mutants)
endif()
