# cortado_flags: an interface library that all of Cortado's own targets link.
add_library(cortado_flags INTERFACE)
target_include_directories(cortado_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_features(cortado_flags INTERFACE cxx_std_17)

set(cxx_only "$<COMPILE_LANGUAGE:CXX>")
target_compile_options(cortado_flags INTERFACE $<${cxx_only}:-Wall -Wextra -Wnon-virtual-dtor>)
# Locals may shadow members: programs copy members into locals of the same name, so that lane loops do not read them
# through a pointer.
target_compile_options(cortado_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wshadow=local>)
if(CORTADO_WERROR)
  target_compile_options(cortado_flags INTERFACE $<${cxx_only}:-Werror>)
endif()
if(CORTADO_ARCH)
  target_compile_options(cortado_flags INTERFACE $<${cxx_only}:-march=${CORTADO_ARCH}>)
endif()
# For all that sees backends/kokkos/host_vector.h, whose vectors have a width that the compiler must know. Elsewhere its
# own vectors have the width of the processor that runs them.
set(CORTADO_VECTOR_FLAGS "")
if(CORTADO_SVE_BITS)
  if(NOT CORTADO_SVE_BITS MATCHES "^(256|512)$")
    message(FATAL_ERROR "CORTADO_SVE_BITS is '${CORTADO_SVE_BITS}': choose 256 or 512, or leave it empty for NEON")
  endif()
  set(CORTADO_VECTOR_FLAGS -msve-vector-bits=${CORTADO_SVE_BITS})
endif()
# Selects and square roots vectorise only if they need not set errno or raise flags; results stay IEEE.
target_compile_options(cortado_flags INTERFACE $<${cxx_only}:-fno-math-errno -fno-trapping-math>)
if(CORTADO_SANITIZE)
  # Four checks of every pointer double the code, and hardly find what the address sanitizer does not.
  target_compile_options(cortado_flags INTERFACE $<${cxx_only}:-fsanitize=address,undefined -fno-sanitize-recover=undefined
                         -fno-sanitize=null,object-size,pointer-overflow,vptr -fno-omit-frame-pointer>)
  target_link_options(cortado_flags INTERFACE -fsanitize=address,undefined)
  # GCC's flow analysis sees the sanitizers' own branches and warns of the standard library's headers.
  target_compile_options(cortado_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
endif()
if(CORTADO_FUZZ)
  # What the fuzzers reach counts as new where it takes new branches.
  target_compile_options(cortado_flags INTERFACE $<${cxx_only}:-fsanitize=fuzzer-no-link>)
endif()

# cortado_precompile(TARGET HEADER...)  reads headers once that most sources of a target include. Half of what a small
# source takes to compile is reading them.
set(CORTADO_PRECOMPILES OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CORTADO_CUDA AND NOT CMAKE_CROSSCOMPILING)
  set(CORTADO_PRECOMPILES ON)
endif()
function(cortado_precompile target)
  if(CORTADO_PRECOMPILES)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# cortado_light(TARGET)  for code in which no time is spent but the compiler's.
function(cortado_light target)
  target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
endfunction()
