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
    tessera_emu_test_kernel(${target} ${target}_mutant_${name} ${main} -I${folder}/${name} ${defines})
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/mutants.def CONTENT "@mutant_table@" @ONLY)
  target_include_directories(${target} PRIVATE ${folder} ${PROJECT_SOURCE_DIR}/kernels)
  set(mutants PARENT_SCOPE)
  set(mutant_table PARENT_SCOPE)
endfunction()

if(TARGET unit_emu_hopper)
  set(kernel gemm/wgmma.cu)
  set(output tile/wgmma_output.h)
  mutant(full_wait_missing ${kernel} "tsr_mbarrier_wait(w->shared + FULL_AT + 8 * (unsigned)at->stage, at->parity);" "" "")
  mutant(empty_wait_missing ${kernel}
         "tsr_mbarrier_wait(w->shared + EMPTY_AT + 8 * (unsigned)at.stage, at.parity ^ 1);" "" "")
  mutant(too_few_arrivals ${kernel} "RELEASES * CLUSTER)" "RELEASES * CLUSTER / 2)" "")
  mutant(too_many_arrivals ${kernel} "RELEASES * CLUSTER)" "RELEASES * CLUSTER + 1)" "deadlock")
  mutant(stale_phase ${kernel} "at->parity ^= 1" "at->parity ^= 0" "")
  mutant(stale_phase_of_skip ${kernel} "at->parity ^= (unsigned)(stage / STAGES) & 1" "at->parity ^= 0" "")
  mutant(wgmma_wait_late ${kernel} "tsr_wgmma_wait(1)" "tsr_wgmma_wait(2)" "race")
  mutant(wgmma_wait_missing ${kernel} "tsr_wgmma_wait(0)" "(void)0" "")
  mutant(wgmma_fence_missing ${kernel} "tsr_wgmma_fence()" "(void)0" "with no wgmma.fence before")
  mutant(descriptor_misaligned ${kernel} "tsr_wgmma_descriptor(stage + A_BYTES, SLAB_BYTES)"
         "tsr_wgmma_descriptor(stage + A_BYTES + 128, SLAB_BYTES)" "misaligned wgmma descriptor")
  mutant(expects_too_much ${kernel} "(full, (unsigned)stage_bytes)" "(full, (unsigned)stage_bytes + 16)" "deadlock")
  mutant(expects_too_little ${kernel} "(full, (unsigned)stage_bytes)" "(full, (unsigned)stage_bytes - A_BYTES)" "")
  mutant(init_fence_missing ${kernel} "tsr_mbarrier_fence_init()" "(void)0" "fence.mbarrier_init")
  mutant(start_barrier_missing ${kernel} "tsr_cluster_wait();\n    } else" "    } else" "")
  mutant(multicast_to_one ${kernel} "mask_b |= 1u << (m * CLUSTER_N + w->rank_n)" "mask_b |= 1u << w->rank_n" "deadlock")
  mutant(proxy_fence_missing ${output} "tsr_fence_async_shared()" "(void)0" "with no fence.proxy.async")
  mutant(store_barrier_missing ${output} "tsr_fence_async_shared();\n        tsr_named_barrier(1 + (unsigned)boxes->group, 128)"
         "tsr_fence_async_shared()" "race")
  mutant(store_wait_missing ${output} "tsr_tma_wait_read(EPILOGUE_BOXES - 1)" "(void)0" "race")
  mutant(last_store_wait_missing ${kernel} "tsr_tma_wait_read(0)" "(void)0" "ends before its bulk stores")
  set(join tile/wgmma_join.h)
  mutant(counter_not_awaited ${join} "tsr_add_acquire_release(join->counter, 1)" "tsr_add_relaxed(join->counter, 1)" "race")
  mutant(sums_not_gathered ${join} "}
    tsr_named_barrier(join->barrier, 128);" "}" "race")
  mutant(last_not_told ${join} "== (unsigned)join->parts);
    tsr_named_barrier(join->barrier, 128);" "== (unsigned)join->parts);" "")
  tessera_mutants(
    unit_emu_hopper ${kernel} -DELEM_bf16 -DOUT_bf16 -DPINGPONG=1 -DBM=64 -DBN=64 -DSTAGES=4 -DCLUSTER_M=2 -DCLUSTER_N=1
    -DCONSUMERS=2 -DEPILOGUE_BOXES=1 -DRASTER=4 -DPRODUCER_REGISTERS=40 -DCONSUMER_REGISTERS=232)
endif()

if(TARGET unit_emu_skinny)
  set(kernel gemm/wgmma_skinny.cu)
  mutant(cluster_barrier_missing ${kernel} "if (p.size > 1) {
        tsr_cluster_arrive();
        tsr_cluster_wait();
    } else" "if (p.size > 1) {
    } else" "cluster has met")
  mutant(last_cluster_barrier_missing ${kernel} "finish(&args, &p);
    if (p.size > 1) {" "finish(&args, &p);
    if (0) {" "")
  mutant(ring_not_empty ${kernel} "tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);
    tile_share_leave" "tile_share_leave" "race")
  mutant(counter_not_awaited ${kernel} "tsr_add_acquire_release(counter, 1)" "tsr_add_relaxed(counter, 1)" "race")
  mutant(sums_not_gathered ${kernel} "unsigned *const counter = (unsigned *)args->workspace + index;
    tsr_named_barrier(ALL_CONSUMERS, CONSUMERS);" "unsigned *const counter = (unsigned *)args->workspace + index;" "race")
  mutant(last_is_first ${kernel} "+ 1 == p->outers" "+ 2 == p->outers" "")
  mutant(wrong_rank tile/wgmma_share.h "tsr_cluster_map(address, (unsigned)rank)" "tsr_cluster_map(address, (unsigned)rank + 1)"
         "")
  mutant(stage_too_small ${kernel} "(full, (unsigned)p->stage_bytes)" "(full, (unsigned)p->stage_bytes + 16)" "deadlock")
  tessera_mutants(unit_emu_skinny ${kernel} -DELEM_bf16 -DOUT_bf16 -DBN=16 -DGROUPS=1 -DRING_BYTES=40960 -DCTAS=1)
endif()
