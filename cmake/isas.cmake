# Instruction sets beyond CORTADO_ARCH for which a build on x86-64 has the OpenMP backend too. Each becomes a module,
# lib/cortado/ISA.so, that the executable loads where the processor has it (app/modules). core/machine/isa.h names them.
set(CORTADO_ISAS "" CACHE STRING "Instruction sets beyond CORTADO_ARCH to build for: avx512;avx512_bf16 (preset portable)")
set(CORTADO_FLAGS_OF_avx512 -mavx512f -mavx512cd -mavx512bw -mavx512dq -mavx512vl)
set(CORTADO_FLAGS_OF_avx512_bf16 ${CORTADO_FLAGS_OF_avx512} -mavx512bf16)
foreach(isa ${CORTADO_ISAS})
  if(NOT DEFINED CORTADO_FLAGS_OF_${isa})
    message(FATAL_ERROR "CORTADO_ISAS names '${isa}': avx512 and avx512_bf16 are known")
  endif()
endforeach()
if(CORTADO_ISAS AND (NOT CORTADO_BACKEND STREQUAL "kokkos" OR CORTADO_CUDA OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$"))
  message(FATAL_ERROR "CORTADO_ISAS is for the OpenMP backend on x86-64 (preset portable)")
endif()
