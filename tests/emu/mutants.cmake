# Mutants of a kernel: NAME, file, text, what takes its place, and what the emulator must say of it ("" for any fault).
# A unit test runs each of them; the list is also written as a C table for it.
macro(mutant name file text replacement says)
  list(APPEND mutants ${name})
  set(mutant_${name}_file "${file}")
  set(mutant_${name}_text "${text}")
  set(mutant_${name}_replacement "${replacement}")
  string(APPEND mutant_table "MUTANT(${name}, \"${says}\")\n")
endmacro()

# Writes the changed file of a mutant into `folder`; *main is then the file to compile for `kernel`, with that folder
# before the others. A text that its file does not have stops the build.
function(tessera_mutate name folder kernel main)
  set(file ${mutant_${name}_file})
  file(READ ${PROJECT_SOURCE_DIR}/kernels/${file} source)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/${file})
  string(REPLACE "${mutant_${name}_text}" "${mutant_${name}_replacement}" changed "${source}")
  if(changed STREQUAL source)
    message(FATAL_ERROR "mutant ${name}: ${file} has no \"${mutant_${name}_text}\"")
  endif()
  file(CONFIGURE OUTPUT ${folder}/${file} CONTENT "@changed@" @ONLY)
  set(${main} ${PROJECT_SOURCE_DIR}/kernels/${kernel} PARENT_SCOPE)
  if(file STREQUAL kernel)
    set(${main} ${folder}/${kernel} PARENT_SCOPE)
  endif()
endfunction()

# Compiles `kernel` as it is (mutant_none) and each mutant of it for `target`; further arguments are its constants. Starts
# a new list.
function(tessera_mutants target kernel)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/mutants/${target})
  set(defines ${ARGN} -I${PROJECT_BINARY_DIR}/generated)
  tessera_emu_test_kernel(${target} ${target}_mutant_none ${PROJECT_SOURCE_DIR}/kernels/${kernel} ${defines})
  foreach(name IN LISTS mutants)
    tessera_mutate(${name} ${folder}/${name} ${kernel} main)
    # A mutant may leave a name unused.
    tessera_emu_test_kernel(${target} ${target}_mutant_${name} ${main} -I${folder}/${name} ${defines} -Wno-unused)
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/mutants.def CONTENT "@mutant_table@" @ONLY)
  target_include_directories(${target} PRIVATE ${folder} ${PROJECT_SOURCE_DIR}/kernels)
  set(mutants PARENT_SCOPE)
  set(mutant_table PARENT_SCOPE)
endfunction()

if(TARGET unit_emu_hopper)
  set(kernel gemm/wgmma.cu)
  set(output collective/wgmma_output.h)
  mutant(full_wait_missing ${kernel} "tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);" "" "")
  mutant(empty_wait_missing ${kernel}
         "tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);" "" "")
  mutant(too_few_arrivals ${kernel} "RELEASES * CLUSTER)" "RELEASES * CLUSTER / 2)" "")
  mutant(too_many_arrivals ${kernel} "RELEASES * CLUSTER)" "RELEASES * CLUSTER + 1)" "deadlock")
  mutant(stale_phase collective/ring.h "at->parity ^= 1" "at->parity ^= 0" "")
  mutant(stale_phase_of_skip collective/ring.h "at->parity ^= stage / stages & 1" "at->parity ^= 0" "")
  mutant(wgmma_wait_late ${kernel} "tsr_wgmma_wait(1)" "tsr_wgmma_wait(2)" "race")
  mutant(wgmma_wait_missing ${kernel} "tsr_wgmma_wait(0)" "(void)0" "")
  mutant(wgmma_fence_missing ${kernel} "tsr_wgmma_fence()" "(void)0" "with no wgmma.fence before")
  mutant(descriptor_misaligned ${kernel} "tsr_wgmma_descriptor(stage + A_BYTES, SLAB_BYTES)"
         "tsr_wgmma_descriptor(stage + A_BYTES + 128, SLAB_BYTES)" "misaligned wgmma descriptor")
  mutant(expects_too_much ${kernel} "(full, bytes)" "(full, bytes + 16)" "deadlock")
  mutant(expects_too_little ${kernel} "(full, bytes)" "(full, bytes - A_BYTES)" "")
  mutant(init_fence_missing ${kernel} "tsr_mbarrier_fence_init()" "(void)0" "fence.mbarrier_init")
  mutant(start_barrier_missing collective/ring_begin.h "tsr_cluster_wait();\n    } else" "    } else" "")
  mutant(multicast_to_one ${kernel} "mask_b |= 1u << (m * CLUSTER_N + w->rank_n)" "mask_b |= 1u << w->rank_n" "deadlock")
  mutant(proxy_fence_missing ${output} "tsr_fence_async_shared()" "(void)0" "with no fence.proxy.async")
  mutant(store_barrier_missing ${output} "tsr_fence_async_shared();\n        tsr_named_barrier(1 + (unsigned)boxes->group, 128)"
         "tsr_fence_async_shared()" "race")
  mutant(store_wait_missing ${output} "tsr_tma_wait_read(EPILOGUE_BOXES - 1)" "(void)0" "race")
  mutant(last_store_wait_missing ${kernel} "tsr_tma_wait_read(0)" "(void)0" "ends before its bulk stores")
  mutant(bias_of_the_next_column ${output} "column + 2 * lane, last" "column + 2 * lane + 1, last" "wrong result")
  mutant(bias_of_another_lane ${output} "4 * q + lane % 4" "4 * q + lane % 8" "wrong result")
  set(fixup collective/wgmma_fixup.h)
  mutant(counter_not_awaited ${fixup} "tsr_add_acquire_release(fixup->counter, 1)" "tsr_add_relaxed(fixup->counter, 1)" "race")
  mutant(others_not_awaited ${fixup} "tsr_load_acquire(fixup->counter)" "tsr_add_relaxed(fixup->counter, 0)" "race")
  mutant(sums_not_gathered ${fixup}
         "tsr_named_barrier(fixup->barrier, 128); /* the word of the time before has been read, sums have been written */" ""
         "race")
  mutant(last_not_told ${fixup} "    }
    tsr_named_barrier(fixup->barrier, 128);" "    }" "")
  mutant(beginning_not_left ${fixup} "fixup->part != 0 || !tile_fixup_is_last(fixup, 0)" "fixup->part != 0" "")
  tessera_mutants(
    unit_emu_hopper ${kernel} -DELEM_bf16 -DOUT_bf16 -DPINGPONG=1 -DBM=64 -DBN=64 -DSTAGES=4 -DCLUSTER_M=2 -DCLUSTER_N=1
    -DCONSUMERS=2 -DEPILOGUE_BOXES=1 -DRASTER=4 -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
endif()

# Clusters along both sides, cooperative groups, columns beyond whole boxes.
if(TARGET unit_emu_wgmma_columns)
  set(kernel gemm/wgmma.cu)
  set(output collective/wgmma_output.h)
  mutant(a_to_one_column ${kernel} "mask_a |= 1u << (w->rank_m * CLUSTER_N + n)" "mask_a |= 1u << (w->rank_m * CLUSTER_N)" "deadlock")
  mutant(b_to_one_row ${kernel} "mask_b |= 1u << (m * CLUSTER_N + w->rank_n)" "mask_b |= 1u << w->rank_n" "deadlock")
  mutant(chunks_below_d ${output} "m + row < args->m && n + chunk" "n + chunk" "")
  mutant(chunks_beside_d ${output} " && n + chunk * OF_CHUNK < args->n" "" "")
  mutant(chunks_without_swizzle ${output} "(chunk ^ row % 8) * 16), word" "chunk * 16), word" "")
  mutant(chunks_of_the_first_warp ${output} "boxes->thread / 32 * 16 + i / CHUNKS" "i / CHUNKS" "")
  mutant(chunks_before_their_values ${output} "tsr_warp_sync(TSR_ALL_LANES);\n    TSR_UNROLL\n    for (int i = lane" "TSR_UNROLL\n    for (int i = lane" "race")
  mutant(chunks_while_a_box_leaves ${output} "tsr_tma_wait_read(EPILOGUE_BOXES - 1);\n    tsr_named_barrier(1 + (unsigned)boxes->group, 128);\n    tile_write_columns" "(void)0;\n    tsr_named_barrier(1 + (unsigned)boxes->group, 128);\n    tile_write_columns" "race")
  mutant(chunks_not_gathered ${output} "tsr_named_barrier(1 + (unsigned)boxes->group, 128);\n    tile_write_columns" "tile_write_columns" "race")
  mutant(chunks_of_the_first_box ${output} "sum + first / 2" "sum" "")
  mutant(chunks_with_c ${output} "args->beta == 0 && args->epilogue == TSR_EPILOGUE_NONE" "args->epilogue == TSR_EPILOGUE_NONE" "")
  mutant(half_of_the_columns ${output} "tile_write_columns(&e, END_PLAIN, COLUMNS, box" "tile_write_columns(&e, END_PLAIN, 16, box" "")
  tessera_mutants(
    unit_emu_wgmma_columns ${kernel} -DELEM_bf16 -DOUT_bf16 -DPINGPONG=0 -DBM=128 -DBN=96 -DSTAGES=3 -DCLUSTER_M=2
    -DCLUSTER_N=2 -DCONSUMERS=2 -DEPILOGUE_BOXES=1 -DRASTER=2 -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
endif()

if(TARGET unit_emu_wgmma_sparse)
  set(kernel gemm/wgmma_sparse24.cu)
  set(columns collective/wgmma_transposed.h)
  mutant(full_wait_missing ${kernel} "tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at.stage, at.parity);" "" "")
  mutant(empty_wait_missing ${kernel}
         "tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);" "" "")
  mutant(wait_late ${kernel} "tsr_wgmma_wait(1)" "tsr_wgmma_wait(2)" "race")
  mutant(wait_missing ${kernel} "tsr_wgmma_wait(0)" "(void)0" "")
  mutant(fence_missing ${kernel} "tsr_wgmma_fence()" "(void)0" "with no wgmma.fence before")
  mutant(last_release_missing ${kernel} "if (w->k_blocks > 0)
        release(w, previous);" "" "deadlock")
  mutant(too_few_releases ${kernel} "4 * GROUPS * CLUSTER_M" "4 * GROUPS" "")
  mutant(expects_too_much ${kernel} "(full, LOADED_BYTES)" "(full, LOADED_BYTES + 16)" "deadlock")
  mutant(expects_no_metadata ${kernel} "(full, LOADED_BYTES)" "(full, METADATA_AT)" "")
  mutant(sent_to_itself_alone ${kernel} "(1u << CLUSTER_M) - 1" "1u << w->rank" "deadlock")
  mutant(no_lines_there ${kernel} "asked < last_line ? asked : last_line" "asked" "do not ascend")
  mutant(whole_k_of_values ${kernel} "block * KEPT" "block * BK" "")
  mutant(metadata_of_the_first_lines ${kernel} "line / 16, zs" "0, zs" "")
  mutant(metadata_of_the_first_step ${kernel} "block * WORDS * WORD_BLOCK, line" "0, line" "")
  mutant(metadata_of_the_first_warp ${kernel} "(group * SLABS + warp)" "(group * SLABS)" "")
  mutant(metadata_of_the_first_group ${kernel} "(group * SLABS + warp)" "(warp)" "")
  mutant(metadata_of_the_first_lane ${kernel} "LANE_WORDS + lane) * 4" "LANE_WORDS) * 4" "")
  mutant(one_selector ${kernel} "k % 2, accumulate" "0, accumulate" "")
  mutant(values_of_the_first_product ${kernel} "2 * (unsigned)k" "0 * (unsigned)k" "")
  mutant(values_of_the_first_group ${kernel} "(unsigned)group * (WM * ROW_BYTES)" "0 * (WM * ROW_BYTES)" "")
  mutant(half_a_step ${kernel} "64 / 16" "32 / 16" "")
  mutant(half_a_step_along_n ${kernel} "32 * 128 / 16" "16 * 128 / 16" "")
  mutant(adds_to_the_tile_before ${kernel} "two + turn > 0, words" "1, words" "equivalent")
  mutant(forgets_the_step_before ${kernel} "two + turn > 0, words" "turn > 0, words" "")
  mutant(lines_of_the_first_rank ${kernel} "(place.m * CLUSTER_M + w->rank) * BM + group" "(place.m * CLUSTER_M) * BM + group"
         "")
  mutant(rows_of_the_wrong_operand collective/order.h "lines = args->schedule.swap_ab ? n : m, rows" "lines = m, rows" "")
  mutant(piece_not_awaited ${columns} "tsr_warp_sync(TSR_ALL_LANES); /* the piece" "/* the piece" "race")
  mutant(columns_of_pairs ${columns} "8 * j + e % 2" "8 * j" "")
  mutant(beyond_the_last_row ${columns} "first + i * 8 < left" "first + i * 8 <= left + 64" "out of bounds")
  mutant(beyond_the_last_column ${columns} "is_inside && first" "first" "")
  mutant(another_row_of_the_piece ${columns} "first / 8 + i" "first / 8" "")
  mutant(element_columns_above ${columns} "lane / 16 * 4;" "0;" "")
  mutant(element_rows_in_order ${columns} "offset[i] = i / 4 * 8 + i % 4;" "offset[i] = i;" "")
  mutant(elements_of_the_first_piece ${columns} "m + first + row + below" "m + row + below" "")
  mutant(element_columns_of_a_lane ${columns} "any_column_of(e, n + lane % 16)" "any_column_of(e, n + lane)" "")
  mutant(elements_beyond_the_last_row tile/any_column.h "if (offset[i] >= left)
            continue;" "" "out of bounds")
  tessera_mutants(unit_emu_wgmma_sparse ${kernel} -DELEM_bf16 -DPROMOTE=0 -DMMAS=1 -DBM=128 -DBN=64 -DDEPTH=1 -DSTAGES=3
                  -DCLUSTER_M=2 -DPIECE=32 -DRASTER=4 -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
endif()

if(TARGET unit_emu_kmajor)
  set(kernel gemm/wgmma_kmajor.cu)
  set(product collective/kmajor_product.h)
  set(promoted collective/promoted.h)
  set(lean collective/wgmma_lean.h)
  mutant(full_wait_missing ${product} "tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at.stage, at.parity);" "" "")
  mutant(empty_wait_missing ${kernel}
         "tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);" "" "")
  mutant(wait_missing ${promoted} "tsr_wgmma_wait(0)" "(void)0" "")
  mutant(waits_for_none ${promoted} "tsr_wgmma_wait(1)" "(void)0" "")
  mutant(gives_back_what_is_read ${promoted} "promote(w, *previous, group, kind, 1, &of_part" "promote(w, at->stage, group, kind, 1, &of_part"
         "")
  mutant(fence_missing ${product} "tsr_wgmma_fence()" "(void)0" "with no wgmma.fence before")
  mutant(too_few_releases ${kernel} "4 * TILE_GROUPS * CLUSTER_M" "4 * TILE_GROUPS" "")
  mutant(too_many_releases ${kernel} "4 * TILE_GROUPS * CLUSTER_M" "4 * TILE_GROUPS * CLUSTER_M + 1" "deadlock")
  mutant(sent_to_itself_alone ${kernel} "(1u << CLUSTER_M) - 1" "1u << w->rank" "deadlock")
  mutant(expects_too_much ${kernel} "(full, STAGE_BYTES)" "(full, STAGE_BYTES + 16)" "deadlock")
  mutant(rows_of_the_first_rank ${kernel} "(place.m * CLUSTER_M + w->rank) * BM + (first_slab" "(place.m * CLUSTER_M) * BM + (first_slab"
         "")
  mutant(rows_of_the_first_group ${product} "(unsigned)group * SLAB_BYTES" "0 * SLAB_BYTES" "")
  mutant(adds_to_the_step_before ${promoted} "group, 0, second_a" "group, 1, second_a" "")
  mutant(forgets_the_step_before ${promoted} "sum[i] += part[i]" "sum[i] = part[i]" "")
  mutant(first_products_again ${product} "a + 2 * k, b" "a, b" "")
  mutant(piece_not_there ${lean} "    tsr_warp_sync(TSR_ALL_LANES);
    TSR_UNROLL" "    TSR_UNROLL" "")
  mutant(piece_not_taken ${lean} "    tsr_warp_sync(TSR_ALL_LANES); /* the next" "    /* the next" "race")
  mutant(beyond_the_last_row ${lean} "4 * i < at->rows &&" "" "out of bounds")
  mutant(beyond_the_last_column ${lean} "&& first < at->columns" "" "")
  mutant(one_row_of_the_piece ${lean} "4 * i * ldd" "0 * ldd" "")
  mutant(rows_in_place_of_each_other ${lean} "factor[i % 2]" "factor[0]" "")
  mutant(scales_of_the_first_columns ${lean} "columns, n + first + 64" "columns, n" "")
  mutant(scale_of_one_of_two ${lean} "of.scale[q][c]" "of.scale[q][0]" "")
  mutant(columns_of_the_first_chunk ${lean} "(unsigned)(column % 64 * 2)" "0u" "")
  mutant(sums_of_the_first_piece ${lean} "sum[first / 2 + 8" "sum[8" "")
  mutant(positive_zeros ${lean} "0x80008000u" "0" "")
  mutant(fits_everything ${lean} "all % 16 == 0 && !out" "!out" "")
  set(blocks collective/block_scales.h)
  mutant(scale_of_the_first_64 ${blocks} "(unsigned)(SCALED_ROWS + i) * 4" "SCALED_ROWS * 4" "")
  mutant(scales_beyond_the_last ${blocks} "asked < left ? asked : left" "asked" "")
  mutant(scales_of_one_stage ${promoted} "SCALES_AT + stage * SCALES_BYTES" "SCALES_AT" "")
  mutant(factor_of_the_row_before ${blocks} "(unsigned)(row + 8 * h) * 4" "(unsigned)row * 4" "")
  mutant(scales_given_back_by_one_lane ${promoted} "tsr_warp_sync(TSR_ALL_LANES); /* all" "/* all" "race")
  mutant(scales_of_the_next_stage ${promoted} "&of_part, part" "few, part" "")
  mutant(scales_of_the_first_stage ${blocks} "line->from += line->step;" "" "")
  mutant(scales_into_a_stage_in_use ${promoted} "tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);
            scale_copies_start" "scale_copies_start" "")
  mutant(scales_of_the_first_part ${promoted} "m, n, u.first, 1)" "m, n, 0, 1)" "")
  mutant(steps_of_the_first_part ${kernel} "block = u.first; block < u.first + u.count" "block = 0; block < u.count" "")
  mutant(parts_not_added ${kernel} "!fixup(args, w, of_slab.tile, group, first_slab(group) + slab, sum[0])" "0" "")
  mutant(parts_of_both_groups_in_one_place ${kernel} "(unsigned)(w->rank * (BM / 64) + rows)" "(unsigned)(w->rank * (BM / 64))" "")
  mutant(parts_of_both_ctas_in_one_place ${kernel} "(unsigned)(w->rank * (BM / 64) + rows)" "(unsigned)rows" "")
  mutant(scales_not_counted ${kernel} "block_scales_arrivals(args)" "1" "")
  set(pieces collective/wgmma_pieces.h)
  set(column tile/any_column.h)
  mutant(elements_of_the_first_piece ${pieces} "n + first + lane);" "n + lane);" "")
  mutant(elements_of_the_first_rows ${pieces} "(row * PITCH + first % PIECE + lane)" "(first % PIECE + lane)" "")
  mutant(elements_beyond_the_last_row ${column} "if (offset[i] >= left)
            continue;" "" "out of bounds")
  mutant(elements_by_the_first_scale ${column} "any_row_factor(e, row + offset[i])" "any_row_factor(e, row)" "")
  mutant(elements_without_column_scales ${column} "of.scale = e->columns[at];" "" "")
  mutant(elements_without_c ${column} "epilogue_add_c(&out->form, count, old, value);" "" "")
  tessera_mutants(unit_emu_kmajor ${kernel} -DELEM_fp8 -DSTREAM_K=1 -DPROMOTE=1 -DPINGPONG=0 -DBM=128 -DBN=128 -DSLABS=1 -DSTAGES=3 -DCLUSTER_M=2 -DPIECE=32
                  -DRASTER=4 -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
endif()

if(TARGET unit_emu_kmajor_160)
  set(promoted collective/promoted.h)
  mutant(columns_of_another_tile collective/wgmma_lean.h "BN % 64 != 0 && of.columns" "0 && of.columns" "")
  mutant(wait_missing ${promoted} "tsr_wgmma_wait(0)" "(void)0" "")
  mutant(scales_of_the_next_stage ${promoted} "&few, part, sum);
    }" "&next, part, sum);
    }" "")
  mutant(gives_back_the_next_stage ${promoted} "promote(w, stage, group" "promote(w, at->stage, group" "")
  mutant(scales_of_the_first_32 collective/block_scales.h "(unsigned)(SCALED_ROWS + i) * 4" "SCALED_ROWS * 4" "")
  tessera_mutants(unit_emu_kmajor_160 gemm/wgmma_kmajor.cu -DELEM_fp8 -DSTREAM_K=1 -DPROMOTE=1 -DPINGPONG=0 -DBM=128 -DBN=160 -DSLABS=1 -DSTAGES=3
                  -DCLUSTER_M=2 -DPIECE=32 -DRASTER=4 -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
endif()

if(TARGET unit_emu_kmajor_turns)
  set(kernel gemm/wgmma_kmajor.cu)
  set(product collective/kmajor_product.h)
  mutant(stages_of_the_other_group ${kernel} "        if (PINGPONG)
            ring_skip(&at, unit_of(w, index + 1).count, STAGES);
" "" "")
  mutant(first_stages_of_the_other_group ${kernel} "    if (PINGPONG && group == 1)
        ring_skip(&at, unit_of(w, 0).count, STAGES);
" "" "")
  mutant(stages_of_the_same_group ${kernel} "ring_skip(&at, unit_of(w, index + 1).count" "ring_skip(&at, u.count" "")
  mutant(parts_of_both_slabs_in_one_place ${kernel} "first_slab(group) + slab, sum[0])" "first_slab(group), sum[0])" "")
  mutant(releases_of_both_groups ${kernel} "4 * TILE_GROUPS * CLUSTER_M" "4 * GROUPS * CLUSTER_M" "deadlock")
  mutant(each_tile_twice ${kernel} "index += PINGPONG ? 2 : 1" "index++" "")
  mutant(rows_of_a_shared_tile ${product} "PINGPONG ? 0 : group * SLABS" "group * SLABS" "")
  mutant(first_slab_twice ${product} "a + slab * SLAB_BYTES / 16 + 2 * k" "a + 2 * k" "")
  mutant(turn_never_passed ${product} "if (PINGPONG && has_unit(w, index + 1))" "if (0)" "deadlock")
  mutant(all_products_await_too_late ${product} "    hold_all_sums(sum);
    tsr_wgmma_wait(0);" "    hold_all_sums(sum);" "")
  mutant(stage_given_back_early ${product} "tsr_wgmma_wait(1);
        if (block > 0)
            release(w, previous);" "tsr_wgmma_wait(1);
        release(w, at->stage);" "")
  mutant(columns_of_the_eight_before collective/wgmma_lean.h "columns, n + first + 16 * j" "columns, n + first" "")
  tessera_mutants(unit_emu_kmajor_turns ${kernel} -DELEM_fp8 -DSTREAM_K=1 -DPROMOTE=0 -DPINGPONG=1 -DBM=128 -DBN=64 -DSLABS=2 -DSTAGES=3
                  -DCLUSTER_M=2 -DPIECE=32 -DRASTER=4 -DPRODUCER_REGISTERS=24 -DCONSUMER_REGISTERS=240)
endif()

if(TARGET unit_emu_kmajor_slabs)
  set(kernel gemm/wgmma_kmajor.cu)
  set(promoted collective/promoted.h)
  mutant(wait_missing ${promoted} "part_await(0, part);
            promote" "promote" "")
  mutant(given_back_by_the_first_slab ${promoted} "kind, slab == SLABS - 1, &few" "kind, 1, &few" "")
  mutant(never_given_back ${promoted} "kind, slab == SLABS - 1, &few" "kind, 0, &few" "deadlock")
  mutant(stage_of_the_next_step ${promoted} "multiply_stage(w, stage, group * SLABS" "multiply_stage(w, at->stage, group * SLABS" "")
  mutant(next_stage_not_awaited ${promoted} "slab == SLABS - 1 && block + 1 < count" "0" "")
  mutant(rows_of_the_first_slab ${promoted} "multiply_stage(w, stage, group * SLABS + slab" "multiply_stage(w, stage, group * SLABS" "")
  mutant(scales_of_the_first_slab ${promoted} "few_scales_of_stage(w, stage, group * SLABS + slab)"
         "few_scales_of_stage(w, stage, group * SLABS)" "")
  mutant(column_scales_of_the_first_slab ${promoted} "promote(w, stage, group * SLABS + slab" "promote(w, stage, group * SLABS" "")
  mutant(sums_of_the_first_slab ${promoted} "part, sum[slab]" "part, sum[0]" "")
  mutant(first_slab_stored_twice ${kernel} "sum[0][i] = sum[SLABS - 1][i]" "sum[0][i] = sum[0][i]" "")
  mutant(stored_as_the_first_slab ${kernel} "(first_slab(group) + slab) * 64 + warp" "(group * SLABS) * 64 + warp" "")
  tessera_mutants(unit_emu_kmajor_slabs ${kernel} -DELEM_fp8 -DSTREAM_K=1 -DPROMOTE=1 -DPINGPONG=0 -DBM=128 -DBN=128 -DSLABS=2 -DSTAGES=3
                  -DCLUSTER_M=2 -DPIECE=32 -DRASTER=4 -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
endif()

if(TARGET unit_emu_kmajor_boxed)
  set(kernel gemm/wgmma_kmajor.cu)
  set(ends collective/kmajor_ends.h)
  set(lean collective/wgmma_lean.h)
  mutant(laid_over_boxes_that_leave ${lean} "    tsr_tma_wait_read(LEAN_AREAS - 1);
" "" "race")
  mutant(not_shown_to_the_copy_engine ${lean} "    tsr_fence_async_shared();
" "" "asynchronous read of shared memory")
  mutant(left_before_all_is_laid ${lean} "first + 64 < BN)
        return" "first + 128 < BN)
        return" "")
  mutant(one_swizzle ${lean} "row % 8 : row / 2 % 4" "0 : 0" "")
  mutant(first_box_only ${lean} "(unsigned)(column / LEAN_COLUMNS_OF_BOX * LEAN_BOX_BYTES)" "0u" "")
  mutant(columns_of_the_first_box ${lean} "column = n + lane * LEAN_COLUMNS_OF_BOX;
    (void)at" "column = n;
    (void)at" "")
  mutant(all_boxes_by_one_lane ${lean} "if (lane < LEAN_BOXES && m" "if (lane < 1 && m" "")
  mutant(c_over_boxes_that_leave ${ends} "    tsr_tma_wait_read(0); /* D's" "    /* D's" "race")
  mutant(c_not_awaited ${ends} "    tsr_mbarrier_wait(bar, parity);
" "" "read of shared memory")
  mutant(c_of_the_first_phase ${ends} "tsr_shared_store_u32(bar + 8, parity ^ 1)" "tsr_shared_store_u32(bar + 8, parity)" "")
  mutant(c_of_one_slab ${ends} "bar, m + slab * 64, place.n" "bar, m, place.n" "")
  mutant(c_for_one_slab ${ends} "tsr_mbarrier_arrive_expect(bar, SLABS * LEAN_BYTES)" "tsr_mbarrier_arrive_expect(bar, LEAN_BYTES)" "")
  mutant(boxes_of_one_slab ${kernel} "slab * LEAN_BYTES), row" "0 * slab), row" "")
  mutant(boxed_whatever_lies_how ${ends} "all % 16 == 0 && columns" "columns" "")
  mutant(relu_forgotten ${lean} "has_form = end == LEAN_RELU ||" "has_form =" "")
  mutant(c_twice ${lean} "epilogue_add_c(&out->form, 2, two, value);" "epilogue_add_c(&out->form, 2, two, value), epilogue_add_c(&out->form, 2, two, value);" "")
  mutant(scale_of_the_row_before ${lean} "is_scaled ? tsr_mul_f32(factor[i % 2], of" "is_scaled ? tsr_mul_f32(factor[0], of" "")
  tessera_mutants(unit_emu_kmajor_boxed ${kernel} -DELEM_fp8 -DSTREAM_K=1 -DPROMOTE=1 -DPINGPONG=0 -DBOXED_D=1 -DBM=128 -DBN=128 -DSLABS=2 -DSTAGES=3
                  -DCLUSTER_M=2 -DPIECE=32 -DRASTER=4 -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
endif()

if(TARGET unit_emu_rs)
  set(kernel gemm/wgmma_rs.cu)
  set(ends collective/rs_ends.h)
  mutant(full_wait_missing ${kernel} "tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at.stage, at.parity);" "" "")
  mutant(empty_wait_missing ${kernel} "tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);" "" "")
  mutant(wait_missing ${kernel} "tsr_wgmma_wait(0)" "(void)0" "")
  mutant(waits_for_none ${kernel} "tsr_wgmma_wait(1)" "(void)0" "")
  mutant(fence_missing ${kernel} "tsr_wgmma_fence()" "(void)0" "with no wgmma.fence before")
  mutant(too_few_releases ${kernel} "4 * GROUPS * CLUSTER_M" "4 * GROUPS" "")
  mutant(too_many_releases ${kernel} "4 * GROUPS * CLUSTER_M" "4 * GROUPS * CLUSTER_M + 1" "deadlock")
  mutant(sent_to_itself_alone ${kernel} "(1u << CLUSTER_M) - 1" "1u << w->rank" "deadlock")
  mutant(expects_too_much ${kernel} "(full, STAGE_BYTES)" "(full, STAGE_BYTES + 16)" "deadlock")
  mutant(lines_of_the_first_rank ${kernel} "(place.m * CLUSTER_M + w->rank) * BM + group" "place.m * CLUSTER_M * BM + group" "")
  mutant(lines_of_the_first_group ${kernel} "(unsigned)group * (2 * BOX_BYTES)" "0u" "")
  mutant(lines_of_the_first_box ${kernel} "(unsigned)(line / BOX_LINES * BOX_BYTES)" "0u" "")
  mutant(not_swizzled ${kernel} "(chunk ^ row) << 4" "chunk << 4" "")
  mutant(half_of_k_twice ${kernel} "k + 4 * half" "k" "")
  mutant(first_products_again ${kernel} "other + 2 * i" "other" "")
  mutant(forgets_the_step_before ${kernel} "accumulate || i > 0" "i > 0" "")
  mutant(operands_in_place_of_each_other ${kernel} "w->swap_ab ? &maps->b : &maps->a" "&maps->a" "")
  mutant(piece_not_there ${ends} "own[0], own[2]);
        }
        tsr_named_barrier(PIECES + (unsigned)group, 128);" "own[0], own[2]);
        }" "")
  mutant(piece_not_taken ${ends} "tsr_named_barrier(PIECES + (unsigned)group, 128); /* the" "/* the" "")
  mutant(piece_of_a_warp_not_there ${ends} "tsr_warp_sync(TSR_ALL_LANES);
    }" "}" "")
  mutant(piece_of_a_warp_not_taken ${ends} "tsr_warp_sync(TSR_ALL_LANES); /* the" "/* the" "")
  mutant(pieces_in_one_place ${kernel} "(unsigned)group * PIECE_BYTES" "0u" "")
  mutant(pairs_in_place_of_each_other ${ends} "(lines_of_lane() ^ (2 * t & 4))" "lines_of_lane()" "")
  mutant(lines_in_the_order_of_rows ${ends} "i % 2 * 4 + i / 2" "4 * i" "")
  mutant(lines_of_the_first_rows ${ends} "eighth / 2 * 16 + " "" "")
  mutant(sums_of_the_first_piece ${ends} "sum[first / 2 + 4 * j + 2 * h]" "sum[4 * j + 2 * h]" "")
  mutant(beyond_the_last_row ${ends} "if (row + quad_row(q, i) < out->m)
                any_store_quad" "any_store_quad" "out of bounds")
  mutant(beyond_the_last_column ${ends} "column >= out->n" "0" "")
  mutant(c_of_the_first_quad ${ends} "c + quad_row(q, i) * out->ldc" "c" "")
  mutant(bias_of_the_first_piece ${ends} "TSR_TYPE_F32, column, bias" "TSR_TYPE_F32, q->column, bias" "")
  set(column tile/any_column.h)
  mutant(elements_beyond_the_last_row ${column} "if (offset[i] >= left)
            continue;" "" "out of bounds")
  mutant(elements_beyond_the_last_column ${column} "column->at < out->n ? (int)out->m - row : 0" "(int)out->m - row" "")
  mutant(elements_of_the_first_row ${column} "d += (offset[i] - (i > 0 ? offset[i - 1] : 0)) * ldd" "d += 0 * ldd" "")
  mutant(c_of_the_first_row ${column} "c += (offset[i] - (i > 0 ? offset[i - 1] : 0)) * ldc" "c += 0 * ldc" "")
  mutant(bias_beyond_the_last_column ${column} "if (at >= out->n)
        return of;" "" "out of bounds")
  mutant(elements_not_swizzled ${ends} "(lane ^ 4 * (i % 2))" "lane" "")
  mutant(elements_of_the_first_half ${ends} "line + 32 * half + lane" "line + lane" "")
  mutant(elements_in_the_order_of_rows ${ends} "i / 4 * 4 + half * 2 + i / 2 % 2" "half * 4 + i / 2" "")
  mutant(elements_of_the_first_warps ${ends} "line + warp / 2 * 32 + half" "line + half" "")
  set(fixup collective/wgmma_fixup.h)
  mutant(steps_of_the_first_part ${kernel} "block = u.first; block < u.first + u.count" "block = 0; block < u.count" "")
  mutant(parts_not_added ${kernel} "!fixup(args, w, u.tile, group, sum)" "0" "")
  mutant(parts_of_both_groups_in_one_place ${kernel} "(unsigned)(w->rank * GROUPS + group)" "(unsigned)(w->rank * GROUPS)" "")
  mutant(parts_of_both_ctas_in_one_place ${kernel} "(unsigned)(w->rank * GROUPS + group)" "(unsigned)group" "")
  mutant(parts_of_all_tiles_in_one_place ${fixup} "parts.cluster * (2 * places) + place" "place" "")
  mutant(parts_come_one_too_few ${fixup} "come + 1 == (unsigned)fixup->parts" "come + 2 == (unsigned)fixup->parts" "")
  tessera_mutants(unit_emu_rs ${kernel} -DELEM_tf32 -DSTREAM_K=1 -DBM=128 -DBN=64 -DSTAGES=3 -DCLUSTER_M=2 -DRASTER=4
                  -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
endif()

if(TARGET unit_emu_skinny_zeros)
  set(kernel gemm/wgmma_skinny.cu)
  set(eight collective/skinny_eight.h)
  set(zeros collective/zero_points.h)
  mutant(no_room_for_sums ${eight} "p->stages = MOST_STAGES - 1;" "" "")
  mutant(steps_beyond_k ${eight} "(left < BK ? left : BK)" "BK" "")
  mutant(steps_of_the_whole ${eight} "p->z, steps_of(args, p), area" "p->z, (unsigned)args->k, area" "")
  mutant(not_released ${eight} "        tsr_warp_sync(TSR_ALL_LANES);
        release(p, at.stage);" "" "deadlock")
  mutant(sums_of_both_groups_in_one_place ${eight} "STAGE_BYTES + (unsigned)group * ZERO_AREA;" "STAGE_BYTES;" "")
  mutant(rows_of_the_first_group ${eight} "zero_sums_add(area, stage + (unsigned)group * BOX_BYTES" "zero_sums_add(area, stage" "")
  mutant(points_of_the_wrong_operand ${eight} "        rows = zero_side_of_b(args, s, second_long);
        columns = zero_side_of_a(args, s, second_short);" "" "")
  mutant(points_of_the_first_group ${eight} "p->long_at + 64 * group, p->short_at, TSR" "p->long_at, p->short_at, TSR" "")
  mutant(sums_not_cleared ${zeros} "if (thread + 128 * i < 128 + BN)" "if (0)" "")
  mutant(half_of_a_row ${zeros} "tsr_shared_load_u32(at) + tsr_shared_load_u32(at + 4)" "tsr_shared_load_u32(at)" "")
  mutant(types_of_bytes_alike ${zeros} "is_unsigned ? tsr_sum4_u8(four[k], sum) : tsr_sum4_s8(four[k], sum)"
         "tsr_sum4_s8(four[k], sum)" "")
  mutant(types_of_points_alike ${zeros} "is_unsigned ? ((const unsigned char *)points)[index] : ((const signed char *)points)[index]"
         "((const signed char *)points)[index]" "")
  mutant(points_beyond_the_last ${zeros} "!points || at >= extent" "!points" "")
  mutant(one_point_of_all ${zeros} "z * batch + first + at : 0" "z * batch + first : 0" "")
  tessera_mutants(unit_emu_skinny_zeros ${kernel} -DELEM_int8 -DOUT_any -DPROMOTE=0 -DBN=64 -DGROUPS=2 -DRING_BYTES=73728
                  -DCTAS=1 -DSHARE=1 -DPARTS=4 -DDEEP=1 -DAT_ONCE=0 -DWIDE=0)
endif()

if(TARGET unit_emu_skinny_eight)
  set(kernel gemm/wgmma_skinny.cu)
  set(eight collective/skinny_eight.h)
  set(blocks collective/block_scales.h)
  set(reduce collective/wgmma_reduce.h)
  mutant(full_wait_missing ${eight} "tsr_mbarrier_wait(p->shared + FULL_AT + 8 * at.stage, at.parity);" "" "")
  mutant(empty_wait_missing ${kernel} "tsr_mbarrier_wait(p->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);" "" "")
  mutant(fence_missing ${eight} "tsr_wgmma_fence()" "(void)0" "with no wgmma.fence before")
  mutant(wait_missing ${eight} "tsr_wgmma_wait(0)" "(void)0" "")
  mutant(no_release ${eight} "release(p, at.stage);" "" "deadlock")
  mutant(adds_to_the_step_before ${eight} "at, group, 0, second_long" "at, group, 1, second_long" "")
  mutant(forgets_the_step_before ${eight} "sum[i] += product[i]" "sum[i] = product[i]" "")
  mutant(first_products_again ${eight} "a + 2 * k, b" "a, b" "")
  mutant(rows_of_the_first_group ${eight} "(unsigned)group * BOX_BYTES" "0 * BOX_BYTES" "")
  mutant(types_in_place_of_each_other ${eight} "(p->swap_ab ? args->type_b : args->type_a)"
         "(p->swap_ab ? args->type_a : args->type_b)" "")
  mutant(the_second_type_forgotten ${eight} "(p->swap_ab ? args->type_a : args->type_b)" "args->type_b" "")
  mutant(scales_of_the_first_blocks ${eight} "p->short_at, p->first, p->step);" "p->short_at, 0, p->step);" "")
  mutant(scales_of_the_blocks_between ${eight} "p->short_at, p->first, p->step);" "p->short_at, p->first, 1);" "")
  mutant(scales_not_counted ${eight} "p->arrivals = (int)SCALES_ARRIVALS" "p->arrivals = 1" "")
  mutant(scales_of_the_wrong_operand ${blocks} "c.rows = swap_ab ?" "c.rows = 0 ?" "")
  mutant(scales_of_the_first_rows ${eight} "const int row = group * 64 +" "const int row = 0 * group +" "")
  mutant(scales_of_the_first_columns ${blocks} "columns + (unsigned)(8 * i)" "columns" "")
  mutant(scale_of_the_row_before ${blocks} "rows + 32)" "rows)" "")
  mutant(scales_beyond_the_last ${blocks} "asked < left ? asked : left" "asked" "")
  mutant(scales_of_the_first_square ${blocks} "(at + inner) >> SHIFT" "(at + inner) >> 30" "")
  mutant(lines_of_the_wrong_side ${eight} "p->swap_ab ? p->short_at : p->long_at" "p->long_at" "")
  mutant(columns_beyond_the_tile ${reduce} "else if (mine->left > 0)
                any_scaled_output" "else
                any_scaled_output" "")
  mutant(one_line_of_all ${reduce} "total[j][k] = total[j + 1][k]" "total[j][k] = total[j][k]" "")
  mutant(lines_beyond_the_rank ${reduce} "return line + i * mine->step < mine->end;"
         "return line + i * mine->step < mine->end + mine->step;" "")
  mutant(quads_beyond_the_tile ${reduce} "if (mine->left <= 0)
        return;
    TSR_ROLLED" "TSR_ROLLED" "")
  mutant(one_line_of_sums ${reduce} "const unsigned on = (unsigned)(line - mine->first)" "const unsigned on = 0 * (unsigned)(line)" "")
  mutant(one_of_lines_together ${reduce} "(unsigned)i * pitch, total[i]" "0 * pitch, total[i]" "")
  mutant(one_of_others_lines_together ${reduce} "(unsigned)i * pitch, more[i]" "0 * pitch, more[i]" "")
  mutant(scale_of_the_first_line ${reduce} "any_row_factor(e, row + line + i * mine->step)" "any_row_factor(e, row + line)"
         "")
  mutant(c_of_the_first_line ${reduce} "c += mine->ldc) {" "c += 0) {" "")
  mutant(c_forgotten tile/any_scaled.h "if (c && form.reads_c)
        epilogue_add_c(&form, 4, c, value);" "" "")
  mutant(c_by_quads_everywhere ${reduce} "any_quads_of_c(&e->out, args)" "e->out.form.reads_c" "")
  mutant(columns_not_cleared ${kernel} "if (!p->short_is_mn && p->rows_short < BN)" "if (0)" "")
  tessera_mutants(unit_emu_skinny_eight ${kernel} -DELEM_fp8 -DOUT_any -DPROMOTE=1 -DBN=64 -DGROUPS=2 -DRING_BYTES=49152
                  -DCTAS=1 -DSHARE=1 -DPARTS=4 -DDEEP=1 -DAT_ONCE=0 -DWIDE=0)
endif()

if(TARGET unit_emu_unaligned)
  set(kernel gemm/wgmma.cu)
  set(shifted collective/wgmma_shifted.h)
  set(rows collective/wgmma_unaligned.h)
  mutant(rows_not_awaited ${shifted} "tsr_mbarrier_wait(w->shared + RAW_FULL_AT + 8 * raw.stage, raw.parity);" "" "")
  mutant(stage_not_awaited ${shifted} "tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * at.stage, at.parity ^ 1);" "" "")
  mutant(shift_not_awaited ${shifted} "tsr_mbarrier_wait(w->shared + RAW_EMPTY_AT + 8 * next->at.stage, next->at.parity ^ 1);" ""
         "")
  mutant(proxy_fence_missing ${shifted} "tsr_fence_async_shared();
            tsr_warp_sync" "tsr_warp_sync" "with no fence.proxy.async")
  mutant(lanes_not_awaited ${shifted} "            tsr_warp_sync(TSR_ALL_LANES);
            if (thread % 32 == 0) {" "            if (thread % 32 == 0) {" "")
  mutant(a_warp_not_awaited ${kernel} "1 + 4);" "1 + 3);" "")
  mutant(too_many_warps_awaited ${kernel} "1 + 4);" "1 + 5);" "deadlock")
  mutant(rows_given_back_early ${kernel} "RAW_STAGES, 1, 4);" "RAW_STAGES, 1, 3);" "")
  mutant(expects_too_much ${rows} "(RAW_ROWS * box_bytes));" "(RAW_ROWS * box_bytes + 16));" "deadlock")
  mutant(rows_of_the_first_line ${rows} "row / RAW_ROWS, z" "0, z" "")
  mutant(box_begins_at_its_rows ${rows} "raw_begin(x, r) / RAW_ELEMS * RAW_ELEMS + column" "raw_begin(x, r) + column"
         "multiple of 16 bytes along x")
  mutant(box_begins_late ${rows} "RAW_ELEMS * RAW_ELEMS + column" "RAW_ELEMS * RAW_ELEMS + RAW_ELEMS + column" "")
  mutant(one_skew_for_both ${rows} "raw_begin(x, place + 4)" "raw_begin(x, place)" "")
  mutant(chunk_in_place_of_the_next ${rows} "(at + 16, word[1])" "(at, word[1])" "")
  mutant(no_swizzle ${rows} "(chunk % 8 ^ place)" "(chunk % 8)" "")
  mutant(swizzle_of_the_other_half ${rows} "(l->target ^ 4 * 16)" "l->target" "")
  mutant(beyond_k_not_cleared ${rows} "(along_m || column + l->columns <= x->columns)" "1" "")
  mutant(whole_chunks_beyond_k ${rows} "x->columns - first_column - l->column)" "RAW_ELEMS)" "")
  mutant(last_line_not_whole ${rows} "is_fetched ? fetched" "0 ? fetched" "")
  mutant(last_line_of_the_other_half ${rows} "fetched[half][w]" "fetched[0][w]" "")
  mutant(rows_beyond_the_last ${rows} "is_mine && row < x->rows" "is_mine" "out of bounds")
  mutant(columns_beyond_the_last ${rows} "if (column + i < x->columns)" "" "out of bounds")
  tessera_mutants(unit_emu_unaligned ${kernel} -DELEM_bf16 -DOUT_bf16 -DUNALIGNED_A=1 -DPINGPONG=0 -DBM=128 -DBN=64 -DSTAGES=3
                  -DRAW_STAGES=3 -DCLUSTER_M=1 -DCLUSTER_N=1 -DCONSUMERS=2 -DEPILOGUE_BOXES=1 -DRASTER=4
                  -DPRODUCER_REGISTERS=104 -DCONSUMER_REGISTERS=200)
endif()

if(TARGET unit_emu_wgmma_any)
  set(kernel gemm/wgmma.cu)
  set(any collective/wgmma_any.h)
  set(scaled collective/wgmma_scaled.h)
  mutant(sums_of_the_first_64_rows ${any} "sum[0][j] = sum[MMAS - 1][j]" "sum[0][j] = sum[0][j]" "")
  mutant(rows_of_the_first_64 ${any} "m + 64 * i + 16 * warp" "m + 16 * warp" "")
  mutant(rows_of_the_first_warp ${any} "m + 64 * i + 16 * warp" "m + 64 * i" "")
  mutant(one_piece_for_all_warps ${any} "(unsigned)(warp * PIECE_BYTES)" "0u" "race")
  mutant(one_piece_for_both_groups ${any} "(unsigned)group * (EPILOGUE_BOXES * BOX_BYTES);"
         "0 * (unsigned)group;" "race")
  mutant(type_of_the_operands ${any} "OTHER_TYPE = TSR_TYPE_F16" "OTHER_TYPE = TSR_TYPE_BF16" "")
  mutant(lean_everywhere ${any} "lean_fits(out) && out->form" "out->form" "")
  mutant(quads_everywhere ${any} "out->quads || any_quads_of_c(out, args)" "1" "")
  mutant(columns_of_the_first_piece ${scaled} "n + first + lane % LANES" "n + lane % LANES" "")
  mutant(one_row_of_the_piece ${scaled} "(unsigned)(row * PITCH)" "(unsigned)(0 * PITCH)" "")
  mutant(no_greatest_magnitude ${scaled} "any_scaled_close(e->scaling, amax);" "" "")
  tessera_mutants(unit_emu_wgmma_any ${kernel} -DELEM_bf16 -DOUT_any -DPINGPONG=1 -DBM=128 -DBN=128 -DSTAGES=3 -DCLUSTER_M=2
                  -DCLUSTER_N=1 -DCONSUMERS=2 -DEPILOGUE_BOXES=2 -DRASTER=4 -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
endif()

if(TARGET unit_emu_skinny)
  set(kernel gemm/wgmma_skinny.cu)
  # What CTAs of a cluster send each other.
  mutant(first_cluster_barrier_missing collective/skinny_part.h "    if (p->size * SHARE > 1) {" "    if (p->size * SHARE > 1000) {" "")
  mutant(sharers_not_awaited collective/skinny_part.h "!is_producer || SHARE > 1" "!is_producer" "")
  mutant(last_cluster_barrier_missing ${kernel} "    if (p.size * SHARE > 1)
        tsr_cluster_wait();
}" "}" "")
  mutant(staging_not_awaited ${kernel} "tsr_mbarrier_wait(p->shared + STAGING_FULL_AT, 0);" "" "")
  mutant(staging_expects_more collective/skinny_part.h "(p->size - 1) * (unsigned)tile_lines_of" "p->size * (unsigned)tile_lines_of" "deadlock")
  mutant(outgoing_fence_missing ${kernel} "if (p->size > 1)
        tsr_fence_async_shared();" "" "with no fence.proxy.async")
  mutant(outgoing_not_whole ${kernel} "        tsr_fence_async_shared();
    tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);" "        tsr_fence_async_shared();" "race")
  # What lies beyond boxes that are lower than the tile.
  mutant(beyond_not_cleared ${kernel} "        clear_beyond(p);" "        (void)clear_beyond;" "never written")
  mutant(one_row_not_cleared collective/skinny_part.h "(unsigned)(BN - p->rows_short) * (128" "(unsigned)(BN - 1 - p->rows_short) * (128" "never written")
  mutant(cleared_too_early collective/skinny_part.h "(unsigned)p->rows_short * 128 * DEEP;
        for" "((unsigned)p->rows_short - 1) * 128 * DEEP;
        for" "race")
  mutant(one_stage_not_cleared collective/skinny_part.h "stage < stages" "stage + 1 < stages" "never written")
  mutant(clearing_not_fenced collective/skinny_part.h "    }
    tsr_fence_async_shared();
    tsr_named_barrier" "    }
    tsr_named_barrier" "with no fence.proxy.async")
  mutant(clearing_not_awaited collective/skinny_part.h "    }
    tsr_fence_async_shared();
    tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);" "    }
    tsr_fence_async_shared();" "race")
  mutant(ring_not_empty ${kernel} "tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);
    if (WIDE" "if (WIDE" "race")
  mutant(sent_to_the_wrong_place collective/wgmma_reduce.h "staging + place * bytes" "staging + (place + 1) * bytes" "")
  mutant(sent_to_the_wrong_rank collective/wgmma_reduce.h "cta + to * step" "cta + to * step + 1" "")
  mutant(own_lines_looked_for_in_staging collective/wgmma_reduce.h "(r == rank ? own : other)" "(other)" "")
  mutant(stage_too_small ${kernel} "(full, box_bytes)" "(full, box_bytes + 16)" "deadlock")
  # Tiles that share what they load.
  mutant(released_to_itself_alone ${kernel} "if (SHARE == 1) {
        if (lane == 0)" "if (SHARE > 0) {
        if (lane == 0)" "deadlock")
  mutant(sent_to_itself_alone collective/wgmma_boxes.h "if (share > 1)
        tsr_tma_load_multicast" "if (share > 2)
        tsr_tma_load_multicast" "deadlock")
  mutant(empty_counts_one_sharer collective/skinny_part.h "4 * GROUPS * SHARE" "4 * GROUPS" "")
  tessera_mutants(unit_emu_skinny ${kernel} -DELEM_bf16 -DOUT_either -DBN=32 -DGROUPS=1 -DRING_BYTES=49152 -DCTAS=1 -DPARTS=4
                  -DSHARE=2 -DDEEP=1 -DAT_ONCE=1 -DWIDE=0)
endif()

if(TARGET unit_emu_skinny_wide)
  set(kernel gemm/wgmma_skinny.cu)
  mutant(empty_rings_not_awaited ${kernel} "tsr_mbarrier_wait(p->shared + STAGING_FREE_AT, 0);" "(void)0;" "race")
  mutant(empty_ring_not_told ${kernel} "tsr_mbarrier_arrive(p->shared + STAGING_FREE_AT" "tsr_mbarrier_arrive(p->shared + EMPTY_AT" "deadlock")
  mutant(told_too_early ${kernel} "    tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);
    if (WIDE" "    if (WIDE" "race")
  tessera_mutants(unit_emu_skinny_wide ${kernel} -DELEM_bf16 -DOUT_either -DBN=32 -DGROUPS=1 -DRING_BYTES=49152 -DCTAS=1
                  -DPARTS=4 -DSHARE=2 -DDEEP=1 -DAT_ONCE=1 -DWIDE=1)
endif()

if(TARGET unit_emu_skinny_whole)
  set(kernel gemm/wgmma_skinny.cu)
  mutant(ring_not_empty collective/wgmma_whole.h "    tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);
    if (has_bias && swap_ab)
        tile_whole_leave" "    if (has_bias && swap_ab)
        tile_whole_leave" "race")
  mutant(lines_not_awaited collective/wgmma_whole.h "    tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);
    if (swap_ab)
        tile_whole_store" "    if (swap_ab)
        tile_whole_store" "race")
  mutant(lines_beyond collective/wgmma_whole.h "all = (unsigned)lines * chunks" "all = (unsigned)(lines + 1) * chunks" "")
  mutant(lines_overlap collective/wgmma_whole.h "WHOLE_CHUNK * ((swap_ab ? LONG : BN) / 8 + 1)" "WHOLE_CHUNK * ((swap_ab ? LONG : BN) / 8 - 1)" "race")
  tessera_mutants(unit_emu_skinny_whole ${kernel} -DELEM_bf16 -DOUT_either -DBN=72 -DGROUPS=1 -DRING_BYTES=49152 -DCTAS=1
                  -DPARTS=4 -DSHARE=1 -DDEEP=1 -DAT_ONCE=1 -DWIDE=0)
endif()

if(TARGET unit_emu_reduce)
  set(kernel prep/reduce.cu)
  mutant(grid_wait_missing ${kernel} "tsr_grid_wait();" "" "griddepcontrol.wait")
  mutant(totals_not_awaited ${kernel} "tsr_barrier();" "" "never written")
  mutant(last_parts_lost ${kernel} "for (; part < count; part++)" "for (; part + 1 < count; part++)" "")
  mutant(batch_too_long ${kernel} "part + BATCH <= count" "part + BATCH <= count + 1" "")
  mutant(way_counts_one_less ${kernel} "(int)ways - 1 - (int)way" "(int)ways - 2 - (int)way" "")
  mutant(way_lost ${kernel} "other < ways" "other + 1 < ways" "")
  mutant(ways_overlap ${kernel} "(warp - way) * VALUES" "warp * VALUES" "")
  mutant(edge_not_seen ${kernel} "n >= args->n ? 0" "n > args->n ? 0" "")
  mutant(rows_beyond ${kernel} "i < b.rows" "i <= b.rows" "")
  mutant(column_of_the_next_lane ${kernel} "2 * (lane % 4)" "2 * ((lane + 1) % 4)" "")
  mutant(bias_of_the_next_column ${kernel} "e.bias + b.column" "e.bias + b.column + 1" "")
  mutant(bias_of_the_block ${kernel} "b.column = (int)n" "b.column = (int)n - at % width" "")
  mutant(relu_dropped epilogue/epilogue.h "e->form == TSR_EPILOGUE_BIAS_RELU" "0" "")
  mutant(relu_always epilogue/epilogue.h "e->form == TSR_EPILOGUE_BIAS_RELU" "1" "")
  mutant(reads_c ${kernel} "if (e.reads_c)" "if (1)" "")
  tessera_mutants(unit_emu_reduce ${kernel} -DOUT_f32)
endif()

if(TARGET unit_emu_specialized)
  set(kernel gemm/warp_specialized.cu)
  set(arrives "tsr_mbarrier_arrive_here(bars + FULL_AT);")
  set(releases "tsr_mbarrier_arrive_here(w->shared + EMPTY_AT + 8 * at->stage);")
  # Barriers and fences.
  mutant(proxy_fence_missing ${kernel} "tsr_fence_async_shared();" "" "with no fence.proxy.async")
  mutant(arrives_before_transposed ${kernel} "            turn_slab(" "            ${arrives}
            turn_slab(" "")
  mutant(raw_wait_missing ${kernel} "tsr_mbarrier_wait(bars + RAW_AT, at->parity);" "" "")
  mutant(raw_parity ${kernel} "tsr_mbarrier_wait(bars + RAW_AT, at->parity)" "tsr_mbarrier_wait(bars + RAW_AT, at->parity ^ 1)" "")
  mutant(first_full_wait_missing ${kernel} "if (w->steps > 0) {
        tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);" "if (w->steps > 0) {" "")
  mutant(full_wait_missing ${kernel} "if (t + 1 < rounds)
                        tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);" "" "")
  mutant(empty_wait_missing ${kernel} "tsr_mbarrier_wait(bars + EMPTY_AT, at->parity ^ 1);" "" "")
  mutant(empty_parity ${kernel} "tsr_mbarrier_wait(bars + EMPTY_AT, at->parity ^ 1)" "tsr_mbarrier_wait(bars + EMPTY_AT, at->parity)"
         "deadlock")
  mutant(parity_stays collective/ring.h "at->parity ^= 1" "at->parity ^= 0" "")
  mutant(releases_halfway ${kernel} "                if (DEPTH == BK || (t + 1) % parts == 0) {
                    /* All of this stage has been read. */
                    tsr_warp_sync(TSR_ALL_LANES);
                    if (lane == 0)
                        ${releases}" "                tsr_warp_sync(TSR_ALL_LANES);
                if (lane == 0 && (t + 1) % parts != 0)
                    ${releases}
                if (DEPTH == BK || (t + 1) % parts == 0) {" "")
  mutant(releases_the_next ${kernel} "${releases}"
         "tsr_mbarrier_arrive_here(w->shared + EMPTY_AT + 8 * ((at->stage + 1) % STAGES));" "equivalent")
  mutant(releases_before_all_read ${kernel} "tsr_warp_sync(TSR_ALL_LANES);
                    if (lane == 0)" "if (lane == 0)" "race")
  mutant(releases_never ${kernel} "if (lane == 0)
                        ${releases}" "" "deadlock")
  mutant(releases_by_all_lanes ${kernel} "if (lane == 0)
                        ${releases}" "${releases}" "")
  mutant(empty_counts_one_less ${kernel} "(w.shared + EMPTY_AT + 8 * i, MULTIPLIERS / 32)"
         "(w.shared + EMPTY_AT + 8 * i, MULTIPLIERS / 32 - 1)" "")
  mutant(full_counts_warps ${kernel} "1 + 32 * slabs" "1 + slabs" "")
  mutant(init_fence_missing ${kernel} "tsr_mbarrier_fence_init();" "" "fence.mbarrier_init")
  mutant(start_barrier_missing ${kernel} "tsr_barrier();
    tsr_grid_wait();" "tsr_grid_wait();" "")
  mutant(grid_wait_missing ${kernel} "tsr_grid_wait();" "" "griddepcontrol.wait")
  # Bytes that are expected.
  mutant(full_expects_raw ${kernel} "STAGE_BYTES - raw_bytes" "STAGE_BYTES" "deadlock")
  mutant(raw_expects_a ${kernel} "(w->turn_b ? B_BYTES : 0u)" "0u" "")
  mutant(raw_a_counts_as_full ${kernel} "&maps->a, bars + (w->turn_a ? RAW_AT : FULL_AT)" "&maps->a, bars + FULL_AT" "")
  mutant(raw_b_counts_as_full ${kernel} "&maps->b, bars + (w->turn_b ? RAW_AT : FULL_AT)" "&maps->b, bars + FULL_AT" "")
  # Slabs.
  mutant(swizzle ${kernel} "(q ^ r / 2)" "(q ^ r % 4)" "wrong result")
  mutant(no_swizzle ${kernel} "(q ^ r / 2)" "q" "wrong result")
  mutant(turn_sync_missing ${kernel} "    tsr_warp_sync(TSR_ALL_LANES);
    TSR_UNROLL
    for (int k = 0; k < 4; k++) {" "    TSR_UNROLL
    for (int k = 0; k < 4; k++) {" "race")
  mutant(transposed_quad ${kernel} "(4 * q + k) * SLAB + 4 * r" "(4 * q + k) * SLAB + 4 * (r ^ 1)" "wrong result")
  mutant(next_slab_transposed ${kernel} "(*next * SLAB_BYTES)" "((*next + 1) * SLAB_BYTES)" "")
  mutant(last_slab_lost ${kernel} "*next < slabs;" "*next < slabs - 1;" "")
  mutant(slab_partitioned_twice ${kernel} "next = producer - 1;" "next = 0;" "")
  mutant(partitioned_anew ${kernel} "*next -= slabs;" "*next = 0;" "")
  mutant(turns_a_for_b ${kernel} "w->turn_a ? 0 : A_BYTES" "0" "")
  mutant(box_off_by_one collective/slab_boxes.h "mn + slab * SLAB, k, z" "mn + slab * SLAB + 4, k, z" "wrong result")
  # Places and lengths.
  mutant(k_tail ${kernel} "(unsigned)((args.k + BK - 1) / BK)" "(unsigned)(args.k / BK)" "wrong result")
  mutant(step_twice ${kernel} "bars + (w->turn_a ? RAW_AT : FULL_AT), w->turn_a, BM, w->m, (int)t * BK"
         "bars + (w->turn_a ? RAW_AT : FULL_AT), w->turn_a, BM, w->m, (int)(t / 2) * BK" "wrong result")
  mutant(stale_fragment ${kernel} "fa[(k + 1) % 2], a +" "fa[k % 2], a +" "wrong result")
  mutant(fragment_of_next_k ${kernel} "b + (k + 1) % DEPTH * SLAB" "b + (k + 2) % DEPTH * SLAB" "")
  mutant(wrong_stage ${kernel} "a = from_a + at->stage * (STAGE_BYTES / 4);" "a = from_a;" "")
  mutant(place_of_quads ${kernel} "at / SLAB * SLAB + at % SLAB / 4 + at % 4 * 8" "at / SLAB * SLAB + at % SLAB / 8 + at % 4 * 8"
         "")
  mutant(place_not_transposed ${kernel} "return transposed ? at /" "return 0 ? at /" "wrong result")
  mutant(batch_step ${kernel} "args.batch_a ? (int)z : 0" "0" "wrong result")
  mutant(batch_of_b_shared ${kernel} "args.batch_b ? (int)z : 0" "(int)z" "")
  # Output.
  mutant(lines_sync_missing ${kernel} "leave_lines(w, lane, lines, sum + i);
        tsr_warp_sync(TSR_ALL_LANES);" "leave_lines(w, lane, lines, sum + i);" "")
  mutant(next_lines_sync_missing ${kernel} "by_quads);
        tsr_warp_sync(TSR_ALL_LANES);" "by_quads);" "race")
  mutant(lines_of_one_warp ${kernel} "(TSR_SHARED + LINES_AT) + warp * LINES * PITCH" "(TSR_SHARED + LINES_AT)" "race")
  mutant(row_guard ${kernel} "d_row >= args->m" "d_row > args->m" "out of bounds")
  mutant(column_guard ${kernel} "+ lane < args->n" "+ lane <= args->n" "out of bounds")
  mutant(alignment_of_rows ${kernel} " | (unsigned long long)args->ldd * 4" "" "align")
  mutant(alignment_of_batch ${kernel} " | (unsigned long long)args->batch_d * 4" "" "align")
  mutant(line_pitch ${kernel} "PITCH = WN + 4" "PITCH = WN" "equivalent")
  tessera_mutants(
    unit_emu_specialized ${kernel} -DELEM_f32 -DBM=128 -DBN=64 -DBK=16 -DDEPTH=8 -DWM=32 -DWN=64 -DTM=8 -DTN=8 -DSTAGES=3
    -DBAND=16 -DCTAS=1 -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
endif()

if(TARGET unit_emu_mma_tma)
  set(kernel gemm/mma_tma.cu)
  set(releases "tsr_mbarrier_arrive_here(w->shared + EMPTY_AT + 8 * at->stage);")
  set(full_wait "tsr_mbarrier_wait(w->shared + FULL_AT + 8 * at->stage, at->parity);")
  # Barriers and fences.
  mutant(first_full_wait_missing ${kernel} "${full_wait}
    read_a(" "read_a(" "")
  mutant(full_wait_missing ${kernel} "if (t + 1 < blocks)
                        ${full_wait}" "" "")
  mutant(empty_wait_missing ${kernel} "tsr_mbarrier_wait(bars + EMPTY_AT, to->parity ^ 1);" "" "")
  mutant(empty_parity ${kernel} "tsr_mbarrier_wait(bars + EMPTY_AT, to->parity ^ 1)" "tsr_mbarrier_wait(bars + EMPTY_AT, to->parity)"
         "deadlock")
  mutant(parity_stays collective/ring.h "at->parity ^= 1" "at->parity ^= 0" "")
  mutant(refill_parity ${kernel} "at->parity ^ (unsigned)!wraps" "at->parity ^ (unsigned)wraps" "")
  mutant(refills_this_stage ${kernel} "wraps ? STAGES - 1 : at->stage - 1" "at->stage" "")
  mutant(refills_too_early ${kernel} "t > 0 && t + STAGES - 1 < blocks" "t + STAGES - 1 < blocks" "")
  mutant(refills_not_the_last ${kernel} "t > 0 && t + STAGES - 1 < blocks" "t > 0 && t + STAGES < blocks" "deadlock")
  mutant(refills_the_wrong_block ${kernel} "place, t + STAGES - 1)" "place, t + STAGES)" "wrong result")
  mutant(fills_too_few ${kernel} "block < STAGES && block < blocks" "block < STAGES - 1 && block < blocks" "deadlock")
  mutant(releases_before_all_read ${kernel} "tsr_warp_sync(TSR_ALL_LANES);
                    if (lane == 0)" "if (lane == 0)" "race")
  mutant(releases_early ${kernel} "j == GROUPS - 2 && step == STEPS - 1" "j == 0 && step == STEPS - 1" "")
  mutant(releases_never ${kernel} "if (lane == 0)
                        ${releases}" "" "deadlock")
  mutant(releases_by_all_lanes ${kernel} "if (lane == 0)
                        ${releases}" "${releases}" "")
  mutant(empty_counts_one_less ${kernel} "STAGES, 1, WARPS);" "STAGES, 1, WARPS - 1);" "")
  mutant(full_counts_two collective/ring_barriers.h "(full + 8 * i, arrivals)" "(full + 8 * i, 2)" "deadlock")
  mutant(init_fence_missing ${kernel} "tsr_mbarrier_fence_init();" "" "fence.mbarrier_init")
  mutant(start_barrier_missing ${kernel} "tsr_barrier();
    tsr_grid_wait();" "tsr_grid_wait();" "")
  mutant(grid_wait_missing ${kernel} "tsr_grid_wait();" "" "griddepcontrol.wait")
  mutant(expects_too_much ${kernel} "(bars + FULL_AT, STAGE_BYTES)" "(bars + FULL_AT, STAGE_BYTES + 16)" "deadlock")
  mutant(expects_a_alone ${kernel} "(bars + FULL_AT, STAGE_BYTES)" "(bars + FULL_AT, A_BYTES)" "")
  # Places.
  mutant(box_of_b_beside ${kernel} "tile_load_slabs(at + A_BYTES," "tile_load_slabs(at + A_BYTES - 1024," "")
  mutant(slab_beside collective/slab_boxes.h "mn + slab * SLAB, k, z" "mn + slab * SLAB + 8, k, z" "wrong result")
  mutant(block_beside ${kernel} "k = block * BK" "k = block * BK + 8" "wrong result")
  mutant(layout_of_a ${kernel} "FULL_AT, !args->trans_a, BM" "FULL_AT, args->trans_a, BM" "")
  mutant(layout_of_b ${kernel} "FULL_AT, args->trans_b, BN" "FULL_AT, !args->trans_b, BN" "")
  mutant(batch_of_b ${kernel} "zb = args->batch_b ? place->z : 0" "zb = place->z" "")
  mutant(step_of_lines ${kernel} "step * STEP_K * LINE_BYTES" "step * 8 * LINE_BYTES" "wrong result")
  mutant(step_of_chunks ${kernel} "step * 32" "step * 16" "")
  mutant(group_of_chunks ${kernel} "group * 32" "group * 16" "wrong result")
  mutant(group_of_lines ${kernel} "group * 16 * LINE_BYTES" "group * 8 * LINE_BYTES" "wrong result")
  mutant(slab_of_a ${kernel} "warp / WARPS_N * SLAB_BYTES" "warp % WARPS_N * SLAB_BYTES" "wrong result")
  mutant(next_a_from_now ${kernel} "read_a(a[(step + 1) % 2]" "read_a(a[step % 2]" "wrong result")
  mutant(next_b_from_now ${kernel} "read_group(b[(j + 1) % 2], from + lane_b, j + 1" "read_group(b[j % 2], from + lane_b, j + 1"
         "wrong result")
  mutant(last_piece_twice ${kernel} "read_group(b[(j + 1) % 2], from + lane_b, 0, (step + 1) % STEPS"
         "read_group(b[(j + 1) % 2], from + lane_b, GROUPS - 1, (step + 1) % STEPS" "wrong result")
  # D.
  mutant(lines_not_awaited ${kernel} "        tsr_warp_sync(TSR_ALL_LANES);
        tensor_lines_store(" "        tensor_lines_store(" "")
  mutant(lines_taken_early ${kernel} "row + i * LINES, col, aligned);
        tsr_warp_sync(TSR_ALL_LANES);" "row + i * LINES, col, aligned);" "race")
  mutant(lines_of_all_warps ${kernel} "+ warp * LINES * PITCH" "" "race")
  mutant(always_aligned collective/tensor_lines.h "(args->beta != 0.0 ? c | d : d) % 16 == 0" "1" "misaligned")
  mutant(batch_aligned collective/tensor_lines.h "(unsigned long long)args->batch_d * size;" "0;" "misaligned")
  mutant(chunk_at_the_edge collective/tensor_lines.h "c + OUT_CHUNK <= out->n" "c < out->n" "")
  mutant(row_at_the_edge collective/tensor_lines.h "r < out->m && c" "c" "")
  tessera_mutants(unit_emu_mma_tma ${kernel} -DELEM_bf16 -DOUT_f32 -DBM=128 -DBN=64 -DSTAGES=3 -DRASTER=8 -DCTAS=2
                  -DPRODUCER=0)
endif()
