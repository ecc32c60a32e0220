# Mutants of the rungs: NAME, the base that is mutated (a kernel with its constants), file, text, what takes its place, and
# what the emulator must say of it (";" between alternatives, "" for anything: a fault or, where the base is not wgmma, a
# wrong result; "equivalent" where the mutant is right, and docs/EMULATOR.md says why). tests/unit_emu_hopper.c runs those
# of wgmma, tests/unit_emu_mutants.c all others. A text that its file does not have stops the build.
set(mutants)
set(mutant_table)
macro(mutant name base file text replacement says)
  list(APPEND mutants ${name})
  set(mutant_${name}_base "${base}")
  set(mutant_${name}_file "${file}")
  set(mutant_${name}_text "${text}")
  set(mutant_${name}_replacement "${replacement}")
  string(APPEND mutant_table_${base} "MUTANT(${name}, ${base}, \"${says}\")\n")
endmacro()

# Bases: the kernel's file and its constants.
set(bases)
macro(base name file)
  list(APPEND bases ${name})
  set(base_${name}_file ${file})
  set(base_${name}_defines ${ARGN})
endmacro()
base(wgmma gemm/wgmma.cu -DELEM_bf16 -DOUT_bf16 -DPINGPONG=1 -DBM=64 -DBN=64 -DSTAGES=4 -DCLUSTER_M=2 -DCLUSTER_N=1
     -DCONSUMERS=2 -DEPILOGUE_BOXES=1 -DRASTER=4 -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
base(tiled gemm/tiled.cu -DELEM_f32 -DTILE=8)
base(regtile1d gemm/regtile1d.cu -DELEM_f32 -DBM=64 -DBN=64 -DBK=16 -DTM=16)
set(regtile -DELEM_f32 -DBM=128 -DBN=128 -DBK=8 -DTM=8 -DTN=8)
base(regtile2d gemm/regtile2d.cu ${regtile})
base(padded gemm/padded.cu ${regtile})
base(swizzled gemm/swizzled.cu ${regtile})
base(vectorized gemm/vectorized.cu ${regtile} -DALIGNED=0)
base(buffered gemm/double_buffered.cu ${regtile} -DSTAGES=3 -DALIGNED=0)
base(warptile gemm/warptile.cu -DELEM_f32 -DBM=64 -DBN=64 -DBK=16 -DWM=64 -DWN=32 -DTM=8 -DTN=8 -DSTAGES=4 -DCTAS=4
     -DBAND=16 -DALIGNED=0)
base(wmma gemm/wmma.cu -DELEM_bf16 -DBM=128 -DBN=128 -DBK=32 -DWM=32 -DWN=64 -DALIGNED=0)
base(mma gemm/mma.cu -DELEM_bf16 -DBM=64 -DBN=64 -DBK=32 -DWM=32 -DWN=32 -DSTAGES=4 -DCTAS=4 -DFRAGMENTS=2 -DBAND=8
     -DALIGNED=1)

set(kernel gemm/wgmma.cu)
set(output tile/wgmma_output.h)
mutant(full_wait_missing wgmma ${kernel} "tsr_mbarrier_wait(w->shared + FULL_AT + 8 * (unsigned)at->stage, at->parity);" "" "")
mutant(empty_wait_missing wgmma ${kernel}
       "tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * (unsigned)at.stage, at.parity ^ 1);" "" "")
mutant(too_few_arrivals wgmma ${kernel} "RELEASES * CLUSTER)" "RELEASES * CLUSTER / 2)" "")
mutant(too_many_arrivals wgmma ${kernel} "RELEASES * CLUSTER)" "RELEASES * CLUSTER + 1)" "deadlock")
mutant(stale_phase wgmma ${kernel} "at->parity ^= 1" "at->parity ^= 0" "")
mutant(stale_phase_of_skip wgmma ${kernel} "at->parity ^= (unsigned)(stage / STAGES) & 1" "at->parity ^= 0" "")
mutant(wgmma_wait_late wgmma ${kernel} "tsr_wgmma_wait(1)" "tsr_wgmma_wait(2)" "race")
mutant(wgmma_wait_missing wgmma ${kernel} "tsr_wgmma_wait(0)" "(void)0" "")
mutant(wgmma_fence_missing wgmma ${kernel} "tsr_wgmma_fence()" "(void)0" "with no wgmma.fence before")
mutant(descriptor_misaligned wgmma ${kernel} "tsr_wgmma_descriptor(stage + A_BYTES, SLAB_BYTES)"
       "tsr_wgmma_descriptor(stage + A_BYTES + 128, SLAB_BYTES)" "misaligned wgmma descriptor")
mutant(expects_too_much wgmma ${kernel} "(full, STAGE_BYTES)" "(full, STAGE_BYTES + 16)" "deadlock")
mutant(expects_too_little wgmma ${kernel} "(full, STAGE_BYTES)" "(full, STAGE_BYTES - A_BYTES)" "")
mutant(init_fence_missing wgmma ${kernel} "tsr_mbarrier_fence_init()" "(void)0" "fence.mbarrier_init")
mutant(start_barrier_missing wgmma ${kernel} "tsr_cluster_wait();\n    } else" "    } else" "")
mutant(multicast_to_one wgmma ${kernel} "mask_b |= 1u << (m * CLUSTER_N + w->rank_n)" "mask_b |= 1u << w->rank_n" "deadlock")
mutant(proxy_fence_missing wgmma ${output} "tsr_fence_async_shared()" "(void)0" "with no fence.proxy.async")
mutant(store_barrier_missing wgmma ${output} "tsr_fence_async_shared();\n        tsr_named_barrier(1 + (unsigned)boxes->group, 128)"
       "tsr_fence_async_shared()" "race")
mutant(store_wait_missing wgmma ${output} "tsr_tma_wait_read(EPILOGUE_BOXES - 1)" "(void)0" "race")
mutant(last_store_wait_missing wgmma ${kernel} "tsr_tma_wait_read(0)" "(void)0" "ends before its bulk stores")

set(file gemm/tiled.cu)
mutant(tiled_first_barrier tiled ${file} "b += b_step;
            tsr_barrier();" "b += b_step;" "shared memory")
mutant(tiled_second_barrier tiled ${file} "sum);
            tsr_barrier();" "sum);" "race")
mutant(tiled_k_off_by_one tiled ${file} "k0 + a_k < args.k ? *a" "k0 + a_k <= args.k ? *a" "")
mutant(tiled_k_tail tiled ${file} "k0 < args.k; k0 += TILE" "k0 + TILE <= args.k; k0 += TILE" "")
mutant(tiled_row_off_by_one tiled ${file} "row0 + a_m < args.m &&" "row0 + a_m <= args.m &&" "")
mutant(tiled_column_guard tiled ${file} "if (row0 + y < args.m && col0 + x < args.n)" "if (row0 + y < args.m)" "")
mutant(tiled_turned tiled ${file} "As[y][k]" "As[k][y]" "")
mutant(tiled_short_sum tiled ${file} "k < TILE; k++" "k < TILE - 1; k++" "")
mutant(tiled_batch_step tiled ${file} "z += gridDim.z" "z += gridDim.z + 1" "")

set(file gemm/regtile1d.cu)
mutant(regtile1d_first_barrier regtile1d ${file} "b.next += b.tile_stride;
            tsr_barrier();" "b.next += b.tile_stride;" "shared memory")
mutant(regtile1d_second_barrier regtile1d ${file} "            }
            tsr_barrier();" "            }" "race")
mutant(regtile1d_k_tail regtile1d ${file} "args.k - k0 < BK ? (int)(args.k - k0) : BK" "BK" "")
mutant(regtile1d_no_advance regtile1d ${file} "b.next += b.tile_stride;" "" "")
mutant(loader_row_guard regtile1d tile/load.h "i * loader->row_step < loader->rows && " "" "")
mutant(loader_k_off_by_one regtile1d tile/load.h "< depth - loader->k" "<= depth - loader->k" "")

set(file gemm/regtile2d.cu)
mutant(regtile2d_first_barrier regtile2d ${file} "b.next += b.tile_stride;
            tsr_barrier();" "b.next += b.tile_stride;" "shared memory")
mutant(regtile2d_second_barrier regtile2d ${file} "            }
            tsr_barrier();" "            }" "race")
mutant(regtile2d_fragment regtile2d ${file} "Bs[k * BN + x * TN]" "Bs[k * BN + (x ^ 1) * TN]" "")
mutant(regtile2d_row_off_by_one regtile2d ${file} "y * TM + i, col0" "y * TM + i + 1, col0" "")

mutant(padded_gaps padded gemm/padded.cu "row / 32 * 4" "row / 16 * 4" "")
mutant(padded_pitch padded gemm/padded.cu "PITCH_A = BM + BM / 8 - 4" "PITCH_A = BM" "")
mutant(swizzled_stores swizzled gemm/swizzled.cu "(row >> 5 ^ k) & 7" "(row >> 4 ^ k) & 7" "")
mutant(swizzled_loads swizzled gemm/swizzled.cu "(ya ^ i ^ (k & 7) << 2)" "(ya ^ i ^ (k & 3) << 2)" "")
mutant(vectorized_one_k vectorized gemm/vectorized.cu "padded(row, k + j, pitch)" "padded(row, k, pitch)" "")
mutant(vectorized_barrier vectorized gemm/vectorized.cu "b.next += b.tile_stride;
            tsr_barrier();" "b.next += b.tile_stride;" "shared memory")
mutant(quad_off_by_one vectorized tile/load_quad.h "j < inside ? from[j]" "j <= inside ? from[j]" "")

set(file gemm/double_buffered.cu)
mutant(buffered_wait_late buffered ${file} "tsr_copy_wait(STAGES - 2)" "tsr_copy_wait(STAGES - 1)" "")
mutant(buffered_barrier buffered ${file} "tsr_barrier();             /* for" "/* for" "")
mutant(buffered_wrong_stage buffered ${file} "(stage == 0 ? LAST_STAGE : stage - STAGE)" "stage" "")
mutant(buffered_stage_wraps_early buffered ${file} "stage == LAST_STAGE ? 0" "stage == LAST_STAGE - STAGE ? 0" "")
mutant(buffered_k_tail buffered ${file} "(int)((args.k - 1) % BK) + 1 : BK" "BK : BK" "")
mutant(buffered_commit buffered ${file} "            tsr_copy_commit();

            const elem" "            const elem" "")
mutant(buffered_lost_tile buffered ${file} "t + STAGES - 1 < tiles" "t + STAGES < tiles" "")
mutant(buffered_batch_barrier buffered ${file} "tsr_barrier(); /* the next" "/* the next" "")
mutant(copy_row_guard buffered tile/async_tile.h "row < s->rows && k < depth" "k < depth" "")
mutant(copy_advance buffered tile/async_tile.h "s->next += depth * k_stride" "s->next += bk * k_stride" "")

set(file gemm/warptile.cu)
mutant(warptile_wait warptile ${file} "tsr_copy_wait(STAGES - 2);
                    tsr_barrier();" "tsr_barrier();" "")
mutant(warptile_barrier warptile ${file} "tsr_copy_wait(STAGES - 2);
                    tsr_barrier();" "tsr_copy_wait(STAGES - 2);" "")
mutant(warptile_first_wait warptile ${file} "tsr_copy_wait(STAGES - 2);
        tsr_barrier();" "tsr_barrier();" "")
mutant(warptile_stale_fragment warptile ${file} "fa[k % 2][i]" "fa[(k + 1) % 2][i]" "")
mutant(warptile_wrong_stage warptile ${file} "from_b = shared + stage + BK" "from_b = shared + BK" "")
mutant(warptile_lane warptile ${file} "(lane >> 1 & 1)" "(lane & 1)" "")
mutant(warptile_no_advance warptile tile/async_tile.h "    s->next += bk;" "" "")

set(file gemm/wmma.cu)
mutant(wmma_first_barrier wmma ${file} "tsr_barrier(); /* the tiles" "/* the tiles" "race")
mutant(wmma_second_barrier wmma ${file} "tsr_barrier(); /* nobody" "/* nobody" "race")
mutant(wmma_warp_sync wmma ${file} "SCRATCH_PITCH);
                tsr_warp_sync(TSR_ALL_LANES);" "SCRATCH_PITCH);" "race")
mutant(wmma_pitch wmma ${file} "(a_k ? BK : BM) + 8" "(a_k ? BK : BM) + 16" "")
mutant(wmma_layout wmma ${file} "(unsigned)pitch_b, b_k)" "(unsigned)pitch_b, !b_k)" "")
mutant(wmma_lines_guard wmma tile/tensor_line.h "first_line + line < lines ?" "first_line + line <= lines ?" "")

set(file gemm/mma.cu)
mutant(mma_wait mma ${file} "tsr_copy_wait(STAGES - 2);
                tsr_barrier();" "tsr_barrier();" "")
mutant(mma_barrier mma ${file} "tsr_copy_wait(STAGES - 2);
                tsr_barrier();" "tsr_copy_wait(STAGES - 2);" "")
mutant(mma_first_wait mma ${file} "tsr_copy_wait(STAGES - 2);
    tsr_barrier();" "tsr_barrier();" "")
mutant(mma_k_tail mma ${file} "t + STAGES - 1 < full ? BK : rest" "BK" "")
mutant(mma_commit mma ${file} "b_k, ALIGNED);
                }
                tsr_copy_commit();" "b_k, ALIGNED);
                }" "")
mutant(mma_wrong_stage mma ${file} "(stage == 0 ? LAST_STAGE : stage - STAGE)" "stage" "")
mutant(mma_stale_step mma ${file} "(step + 1) % STEPS, a_k" "step % STEPS, a_k" "")
mutant(mma_swizzle_added mma tile/tensor_fragment.h "(offset ^ (unsigned)(step * 32))" "(offset + (unsigned)(step * 32))" "")
mutant(mma_lane_offset mma tile/tensor_fragment.h "along = is_b ? lane / 8 % 2 : lane / 16" "along = is_b ? lane / 16 : lane / 8 % 2" "")
mutant(mma_no_swizzle mma tile/tensor_tile.h "const int swap = sizeof(elem) == 2 ? k % 8 : 2 * (k % 4);" "const int swap = 0;" "equivalent")
mutant(mma_chunk_off_by_one mma tile/tensor_tile.h "inside < CHUNK ? inside : CHUNK" "inside < CHUNK ? inside + 1 : CHUNK" "")
mutant(mma_tile_missed mma tile/raster.h "place.m = first + inside % rows" "place.m = first" "")

# Compiles each base as it is (mutant_none_BASE) and its mutants for `target`, which gets a table of them.
function(tessera_mutants target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/mutants)
  set(table)
  foreach(base IN LISTS ARGN)
    set(defines ${base_${base}_defines} -I${PROJECT_BINARY_DIR}/generated)
    tessera_emu_test_kernel(${target} mutant_none_${base} ${PROJECT_SOURCE_DIR}/kernels/${base_${base}_file} ${defines})
    string(APPEND table "${mutant_table_${base}}")
  endforeach()
  foreach(name IN LISTS mutants)
    set(base ${mutant_${name}_base})
    if(NOT base IN_LIST ARGN)
      continue()
    endif()
    set(defines ${base_${base}_defines} -I${PROJECT_BINARY_DIR}/generated)
    file(READ ${PROJECT_SOURCE_DIR}/kernels/${mutant_${name}_file} source)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/${mutant_${name}_file})
    string(REPLACE "${mutant_${name}_text}" "${mutant_${name}_replacement}" changed "${source}")
    if(changed STREQUAL source)
      message(FATAL_ERROR "mutant ${name}: ${mutant_${name}_file} has no \"${mutant_${name}_text}\"")
    endif()
    file(CONFIGURE OUTPUT ${folder}/${name}/${mutant_${name}_file} CONTENT "@changed@" @ONLY)
    set(main ${PROJECT_SOURCE_DIR}/kernels/${base_${base}_file})
    if(mutant_${name}_file STREQUAL base_${base}_file)
      set(main ${folder}/${name}/${base_${base}_file})
    endif()
    tessera_emu_test_kernel(${target} mutant_${name} ${main} -I${folder}/${name} ${defines})
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/${target}/mutants.def CONTENT "@table@" @ONLY)
  target_include_directories(${target} PRIVATE ${folder}/${target} ${PROJECT_SOURCE_DIR}/kernels)
endfunction()
