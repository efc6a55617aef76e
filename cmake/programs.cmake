# Program units: each backend compiles the cluster programs in generated units, so that a backend's headers stay out
# of layer files and each backend uses its own compiler and language standard.
#
#   cortado_programs(FOLDER PROGRAM...)   lists the programs that FOLDER/programs.h defines
#   cortado_programs_of_both(FOLDER PROGRAM...)  lists programs with a type T, for float on every backend and for bf16
#                                 where the backend knows it (CORTADO_BF16_BACKENDS)
#   cortado_bf16_programs(FOLDER PROGRAM...)     lists programs for those backends alone
#       CACHES_ONLY before the programs of any of these: they run only where MachineSpec::works_from_caches() holds, and
#       are compiled for CORTADO_CACHE_BACKENDS alone. Launching one elsewhere throws BugError.
#   The launch of a program that no folder lists does not link: program_key<...> is undefined.
#   cortado_program_library(TARGET BACKEND NAME FOLDER... [KINDS PROGRAMS|BF16_PROGRAMS...] [ISA isa] [KEYLESS])
#       makes library TARGET with one unit per folder and kind for BACKEND (reference, kokkos), and the generated header
#       "programs/BACKEND_NAME.h", which declares  cortado::BACKEND::Programs cortado::BACKEND::NAME();
#       KINDS: all that BACKEND knows. The library with PROGRAMS defines the keys of all kinds, unless it is KEYLESS, as
#       in a module: keys are the executable's. ISA: by the flags of that instruction set (cmake/isas.cmake).
#   cortado_program_identity()    makes the generated header "programs/identity.h", whose CORTADO_PROGRAMS_IDENTITY is
#                                 another after every change of what programs are made of
#   cortado_program_module(LIBRARY BACKEND NAME FILE)
#       makes module LIBRARY_module, lib/cortado/FILE.so, of such a library, for app/modules/loaded.cpp. The executable,
#       or libcortado.so, gives it all but the programs.
#   cortado_isa_module(LIBRARY NAME ISA)
#       makes module LIBRARY_module, lib/cortado/ISA.so, of such a library and of the backend kokkos for that ISA, for
#       app/modules/isas.cpp. What has the backend's namespace in its name is the module's own: the executable has the
#       same names, compiled for other vectors.

set_property(GLOBAL PROPERTY CORTADO_PROGRAM_FOLDERS "")

# CUDA's plans multiply lines of a warp, not pairs.
if(CORTADO_CUDA)
  set(CORTADO_BF16_BACKENDS "")
  set(CORTADO_CACHE_BACKENDS reference)
else()
  set(CORTADO_BF16_BACKENDS kokkos)
  set(CORTADO_CACHE_BACKENDS reference kokkos)
endif()

# Lists programs as of a kind: PROGRAMS or BF16_PROGRAMS.
function(cortado_list_programs kind folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "CACHES_ONLY" "" "")
  get_property(folders GLOBAL PROPERTY CORTADO_PROGRAM_FOLDERS)
  if(NOT folder IN_LIST folders)
    set_property(GLOBAL APPEND PROPERTY CORTADO_PROGRAM_FOLDERS ${folder})
  endif()
  set_property(GLOBAL APPEND PROPERTY CORTADO_${kind}_OF_${folder} ${arg_UNPARSED_ARGUMENTS})
  if(arg_CACHES_ONLY)
    set_property(GLOBAL APPEND PROPERTY CORTADO_CACHES_ONLY_OF_${folder} ${arg_UNPARSED_ARGUMENTS})
  endif()
endfunction()

function(cortado_programs folder)
  cortado_list_programs(PROGRAMS ${folder} ${ARGN})
endfunction()

function(cortado_bf16_programs folder)
  cortado_list_programs(BF16_PROGRAMS ${folder} ${ARGN})
endfunction()

function(cortado_programs_of_both folder)
  foreach(kind_and_type "PROGRAMS float" "BF16_PROGRAMS bf16")
    separate_arguments(kind_and_type)
    list(GET kind_and_type 0 kind)
    list(GET kind_and_type 1 type)
    string(REGEX REPLACE "([<, ])T([,>])" "\\1${type}\\2" programs "${ARGN}")
    cortado_list_programs(${kind} ${folder} ${programs})
  endforeach()
endfunction()

# Sets `variable` to the programs of a kind in the folder that `backend` compiles.
function(cortado_programs_for variable backend kind folder)
  get_property(programs GLOBAL PROPERTY CORTADO_${kind}_OF_${folder})
  get_property(caches_only GLOBAL PROPERTY CORTADO_CACHES_ONLY_OF_${folder})
  if(caches_only AND NOT backend IN_LIST CORTADO_CACHE_BACKENDS)
    list(REMOVE_ITEM programs ${caches_only})
  endif()
  set(${variable} ${programs} PARENT_SCOPE)
endfunction()

# Sets `variable` to definitions of the keys of all programs in the folder, whichever backend compiles them: layers launch
# by keys, and planners keep them from launching what a backend has not.
function(cortado_program_keys variable folder)
  set(keys "")
  foreach(kind PROGRAMS BF16_PROGRAMS)
    get_property(programs GLOBAL PROPERTY CORTADO_${kind}_OF_${folder})
    foreach(program ${programs})
      string(APPEND keys "template ProgramKey program_key<${program}>();\n")
    endforeach()
  endforeach()
  set(${variable} "${keys}" PARENT_SCOPE)
endfunction()

function(cortado_program_library target backend name)
  cmake_parse_arguments(PARSE_ARGV 3 arg "KEYLESS" "ISA" "KINDS")
  set(made ${CMAKE_BINARY_DIR}/generated/programs)
  set(units "")
  set(declarations "")
  set(calls "")
  set(prefix ${backend})
  if(arg_KEYLESS)
    set(prefix keyless_${backend})
  endif()
  if(NOT arg_KINDS)
    set(arg_KINDS PROGRAMS)
    if(backend IN_LIST CORTADO_BF16_BACKENDS)
      list(APPEND arg_KINDS BF16_PROGRAMS)
    endif()
  endif()
  foreach(folder ${arg_UNPARSED_ARGUMENTS})
    set(keys "")
    set(key_header "")
    if("PROGRAMS" IN_LIST arg_KINDS AND NOT arg_KEYLESS)
      cortado_program_keys(keys ${folder})
      set(key_header "#include \"core/machine/program_key.h\"\n")
    endif()
    foreach(kind ${arg_KINDS})  # units of their own, so that one kind's size does not keep the other from being inlined
      cortado_programs_for(programs ${backend} ${kind} ${folder})
      if(NOT programs AND NOT keys)
        continue()
      endif()
      string(MAKE_C_IDENTIFIER ${folder}_${kind} id)
      set(adds "")
      foreach(program ${programs})
        string(APPEND adds "  add_program<${program}>(table);\n")
      endforeach()
      file(CONFIGURE OUTPUT ${made}/${prefix}_${id}.cpp @ONLY CONTENT
"#include \"backends/${backend}/launch.h\"
${key_header}#include \"${folder}/programs.h\"

namespace cortado {
${keys}}  // namespace cortado
namespace cortado::${backend} {
void add_${id}(Programs& table);
void add_${id}([[maybe_unused]] Programs& table) {
${adds}}
}  // namespace cortado::${backend}
")
      set(keys "")  # once a folder
      list(APPEND units ${made}/${prefix}_${id}.cpp)
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
  target_link_libraries(${target} PUBLIC cortado_${backend}$<$<BOOL:${arg_ISA}>:_${arg_ISA}>)
  target_compile_options(${target} PRIVATE ${CORTADO_FLAGS_OF_${arg_ISA}})
  if(backend STREQUAL "reference")
    cortado_light(${target})  # its checks take longer than what they check
  endif()
  cortado_precompile(${target} <backends/${backend}/launch.h>)
  if(COMMAND cortado_${backend}_program_units)
    cmake_language(CALL cortado_${backend}_program_units ${target})
  endif()
endfunction()

function(cortado_program_identity)
  set(header ${CMAKE_BINARY_DIR}/generated/programs/identity.h)
  set(settings "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS}")
  foreach(setting BACKEND CUDA ARCH SVE_BITS SANITIZE)
    string(APPEND settings " ${CORTADO_${setting}}")
  endforeach()
  file(GLOB_RECURSE files CONFIGURE_DEPENDS LIST_DIRECTORIES OFF
       ${CMAKE_SOURCE_DIR}/core/* ${CMAKE_SOURCE_DIR}/backends/* ${CMAKE_SOURCE_DIR}/layers/*)
  set(script ${CMAKE_SOURCE_DIR}/cmake/identity.cmake)
  set(make_header ${CMAKE_COMMAND} -D SOURCE=${CMAKE_SOURCE_DIR} -D OUTPUT=${header} -D SETTINGS=${settings} -P ${script})
  execute_process(COMMAND ${make_header})  # tools that read sources may build nothing
  add_custom_command(OUTPUT ${header} VERBATIM DEPENDS ${files} ${script} COMMAND ${make_header})
  add_custom_target(cortado_identity DEPENDS ${header})
endfunction()

# Makes a module of objects and of a unit that answers for its identity and exports what `exports` says.
function(cortado_module target file headers exports)
  set(unit ${CMAKE_BINARY_DIR}/generated/programs/${file}_module.cpp)
  file(CONFIGURE OUTPUT ${unit} @ONLY CONTENT
"${headers}#include \"programs/identity.h\"
extern \"C\" const char* cortado_identity();
extern \"C\" const char* cortado_identity() { return CORTADO_PROGRAMS_IDENTITY; }
${exports}")
  add_library(${target} MODULE ${unit})
  foreach(library ${ARGN})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${library}>)
    target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  target_link_libraries(${target} PRIVATE cortado_flags)
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${file}
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}/cortado)
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cortado)
  add_dependencies(${target} cortado_identity)
  add_dependencies(cortado_modules ${target})
endfunction()

function(cortado_program_module library backend name file)
  cortado_module(${library}_module ${file} "#include \"programs/${backend}_${name}.h\"\n"
"extern \"C\" void cortado_programs(cortado::${backend}::Programs& programs);
extern \"C\" void cortado_programs(cortado::${backend}::Programs& programs) {
  programs = cortado::${backend}::${name}();
}
" ${library})
endfunction()

function(cortado_isa_module library name isa)
  cortado_module(${library}_module ${isa} "#include \"backends/kokkos/processor.h\"\n#include \"programs/kokkos_${name}.h\"\n"
"extern \"C\" void cortado_processor(const cortado::kokkos::Options& options, std::unique_ptr<cortado::Processor>& made);
extern \"C\" void cortado_processor(const cortado::kokkos::Options& options, std::unique_ptr<cortado::Processor>& made) {
  made = cortado::kokkos::make_processor(options, cortado::kokkos::${name}());
}
" ${library} cortado_kokkos_${isa})
  set(own ${CMAKE_SOURCE_DIR}/cmake/isa_module.map)
  target_link_options(${library}_module PRIVATE -Wl,--version-script=${own})
  set_target_properties(${library}_module PROPERTIES LINK_DEPENDS ${own})
endfunction()
