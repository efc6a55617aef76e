# Writes the header OUTPUT, which names the sources that programs are made of: cmake -D SOURCE=... -D OUTPUT=...
# -D SETTINGS=... -P identity.cmake. It stays untouched where the name stays.
cmake_minimum_required(VERSION 3.20)
file(GLOB_RECURSE files LIST_DIRECTORIES OFF ${SOURCE}/core/* ${SOURCE}/backends/* ${SOURCE}/layers/*)
list(SORT files)
set(digests "${SETTINGS}")
foreach(file ${files})
  file(SHA256 ${file} digest)
  file(RELATIVE_PATH name ${SOURCE} ${file})
  string(APPEND digests "${name} ${digest}\n")
endforeach()
string(SHA256 identity "${digests}")
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"#pragma once
#define CORTADO_PROGRAMS_IDENTITY \"@identity@\"
")
