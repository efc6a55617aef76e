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
