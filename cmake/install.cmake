# What an install has beside the binaries, which their own folders install.
set(share ${CMAKE_INSTALL_DATADIR}/cortado)
install(FILES LICENSE CITATION.cff CHANGELOG.md DESTINATION ${share})
install(DIRECTORY models DESTINATION ${share})
install(DIRECTORY scripts/jobs DESTINATION ${share}/scripts USE_SOURCE_PERMISSIONS)
install(PROGRAMS scripts/accuracy scripts/compare scripts/make-family scripts/make-model scripts/plot-breakdown
                 scripts/plot-training scripts/table scripts/torch-time DESTINATION ${share}/scripts)
install(DIRECTORY examples DESTINATION ${share})
install(FILES README.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

file(RELATIVE_PATH prefix_from_modulefile ${CMAKE_INSTALL_FULL_DATADIR}/cortado/modulefiles/cortado ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/modulefile.tcl.in modulefile @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/modulefile DESTINATION ${share}/modulefiles/cortado RENAME ${PROJECT_VERSION})

if(NOT CMAKE_CROSSCOMPILING)
  install(CODE "set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/cortado)
set(version ${PROJECT_VERSION})
set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
include(${CMAKE_SOURCE_DIR}/cmake/install_generated.cmake)")
endif()
