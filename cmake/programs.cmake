# Program units: each backend compiles the cluster programs in generated units, so that a backend's headers stay out
# of layer files and each backend uses its own compiler and language standard.
#
#   cortado_programs(FOLDER PROGRAM...)   lists the programs that FOLDER/programs.h defines
#   cortado_programs_of_both(FOLDER PROGRAM...)  lists programs with a type T, for float on every backend and for bf16
#                                 where the backend knows it (CORTADO_BF16_BACKENDS)
#   cortado_bf16_programs(FOLDER PROGRAM...)     lists programs for those backends alone
#   cortado_program_library(TARGET BACKEND NAME FOLDER...)
#       makes library TARGET with one unit per folder for BACKEND (reference, kokkos), and the generated header
#       "programs/BACKEND_NAME.h", which declares  cortado::BACKEND::Programs cortado::BACKEND::NAME();

set_property(GLOBAL PROPERTY CORTADO_PROGRAM_FOLDERS "")

# CUDA's plans multiply lines of a warp, not pairs.
if(CORTADO_CUDA)
  set(CORTADO_BF16_BACKENDS "")
else()
  set(CORTADO_BF16_BACKENDS kokkos)
endif()

function(cortado_programs folder)
  get_property(folders GLOBAL PROPERTY CORTADO_PROGRAM_FOLDERS)
  if(NOT folder IN_LIST folders)
    set_property(GLOBAL APPEND PROPERTY CORTADO_PROGRAM_FOLDERS ${folder})
  endif()
  set_property(GLOBAL APPEND PROPERTY CORTADO_PROGRAMS_OF_${folder} ${ARGN})
endfunction()

function(cortado_bf16_programs folder)
  cortado_programs(${folder})
  set_property(GLOBAL APPEND PROPERTY CORTADO_BF16_PROGRAMS_OF_${folder} ${ARGN})
endfunction()

function(cortado_programs_of_both folder)
  foreach(program ${ARGN})
    string(REGEX REPLACE "([<, ])T([,>])" "\\1float\\2" single "${program}")
    string(REGEX REPLACE "([<, ])T([,>])" "\\1bf16\\2" half "${program}")
    cortado_programs(${folder} "${single}")
    cortado_bf16_programs(${folder} "${half}")
  endforeach()
endfunction()

function(cortado_program_library target backend name)
  set(made ${CMAKE_BINARY_DIR}/generated/programs)
  set(units "")
  set(declarations "")
  set(calls "")
  set(kinds PROGRAMS)
  if(backend IN_LIST CORTADO_BF16_BACKENDS)
    list(APPEND kinds BF16_PROGRAMS)  # units of their own, so that one kind's size does not keep the other from being inlined
  endif()
  foreach(folder ${ARGN})
    foreach(kind ${kinds})
      get_property(programs GLOBAL PROPERTY CORTADO_${kind}_OF_${folder})
      if(NOT programs)
        continue()
      endif()
      string(MAKE_C_IDENTIFIER ${folder}_${kind} id)
      set(adds "")
      foreach(program ${programs})
        string(APPEND adds "  add_program<${program}>(table);\n")
      endforeach()
      file(CONFIGURE OUTPUT ${made}/${backend}_${id}.cpp @ONLY CONTENT
"#include \"backends/${backend}/launch.h\"
#include \"${folder}/programs.h\"

namespace cortado::${backend} {
void add_${id}(Programs& table);
void add_${id}(Programs& table) {
${adds}}
}  // namespace cortado::${backend}
")
      list(APPEND units ${made}/${backend}_${id}.cpp)
      string(APPEND declarations "void add_${id}(Programs& table);\n")
      string(APPEND calls "  add_${id}(table);\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${made}/${backend}_${name}.h @ONLY CONTENT
"#pragma once
#include \"backends/${backend}/programs.h\"
namespace cortado::${backend} {
Programs ${name}();
}
")
  file(CONFIGURE OUTPUT ${made}/${backend}_${name}.cpp @ONLY CONTENT
"#include \"programs/${backend}_${name}.h\"
namespace cortado::${backend} {
${declarations}
Programs ${name}() {
  Programs table;
${calls}  return table;
}
}  // namespace cortado::${backend}
")
  add_library(${target} STATIC ${units} ${made}/${backend}_${name}.cpp)
  target_link_libraries(${target} PUBLIC cortado_${backend})
  cortado_precompile(${target} <backends/${backend}/launch.h>)
  if(COMMAND cortado_${backend}_program_units)
    cmake_language(CALL cortado_${backend}_program_units ${target} ${units})
  endif()
endfunction()
