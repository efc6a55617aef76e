# Cross-compiles for a Sunway machine: swgcc's MPE side for everything, its CPE side for the programs' units, all static.
#   cmake --preset sunway -DCORTADO_SUNWAY_FLAVOUR=sw26010pro -DProtobuf_PROTOC_EXECUTABLE=/path/to/the/host's/protoc
# Compilers and flags differ from site to site: override the variables below on the command line.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR sw_64)
set(CMAKE_C_COMPILER mpicc CACHE STRING "The site's MPI compiler around swgcc")
set(CMAKE_CXX_COMPILER mpicxx CACHE STRING "The site's MPI compiler around swg++")
set(CORTADO_SUNWAY_HOST_FLAGS -mhost CACHE STRING "Flags for the MPE")
set(CORTADO_SUNWAY_SLAVE_FLAGS -mslave -msimd CACHE STRING "Flags for the CPEs")
set(CORTADO_SUNWAY_LINK_FLAGS -mhybrid CACHE STRING "Flags that link both")
set(CORTADO_SUNWAY_STATIC ON CACHE BOOL "Link everything statically, as compute nodes without shared libraries want")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CORTADO_SUNWAY_STATIC)
if(CORTADO_SUNWAY_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
endif()
# Libraries and headers are the machine's, tools (protoc) the host's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
