# cmake --install: bin/buoy with its man page and completions, share/buoy, libbuoy with its headers and find_package(buoy);
# cpack: a Debian package.
# Nothing here is an absolute path: an installation that is moved still works.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# All rooms in one shared library, for programs that link against Buoy and for bindings. The command itself is linked from the
# rooms and needs no library of ours.
add_library(libbuoy SHARED EXCLUDE_FROM_ALL)
add_library(buoy::buoy ALIAS libbuoy)
get_property(rooms GLOBAL PROPERTY BUOY_ROOMS)
foreach(room ${rooms})  # the objects, not only what something refers to; the libraries bring what they use
  target_sources(libbuoy PRIVATE $<TARGET_OBJECTS:buoy_${room}>)
  target_link_libraries(libbuoy PRIVATE buoy_${room})
endforeach()
target_link_libraries(libbuoy PUBLIC fmt::fmt nlohmann_json::nlohmann_json)
target_compile_features(libbuoy PUBLIC cxx_std_20)
target_include_directories(libbuoy PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(libbuoy PROPERTIES OUTPUT_NAME buoy EXPORT_NAME buoy VERSION ${PROJECT_VERSION} SOVERSION 0
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

if(PROJECT_IS_TOP_LEVEL)
  set_target_properties(libbuoy PROPERTIES EXCLUDE_FROM_ALL OFF)
endif()

# The man page and the shells' completions: the command prints them from its own tables.
set(printed_dir ${PROJECT_BINARY_DIR}/printed)
set(printed ${printed_dir}/buoy.1 ${printed_dir}/buoy.bash ${printed_dir}/_buoy ${printed_dir}/buoy.fish)
add_custom_command(
  OUTPUT ${printed}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${printed_dir}
  COMMAND buoy manual > ${printed_dir}/buoy.1
  COMMAND buoy completion bash > ${printed_dir}/buoy.bash
  COMMAND buoy completion zsh > ${printed_dir}/_buoy
  COMMAND buoy completion fish > ${printed_dir}/buoy.fish
  DEPENDS buoy
  VERBATIM)
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(buoy_printed ALL DEPENDS ${printed})
else()
  add_custom_target(buoy_printed DEPENDS ${printed})
endif()

install(TARGETS buoy RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
install(TARGETS libbuoy EXPORT buoy LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        NAMELINK_COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/buoy/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/buoy COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "*test*" EXCLUDE PATTERN "count_syncs.h" EXCLUDE PATTERN "compute/cpu" EXCLUDE PATTERN "compute/cuda" EXCLUDE
        PATTERN "compute/reference" EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models ${PROJECT_SOURCE_DIR}/data ${PROJECT_SOURCE_DIR}/recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/buoy COMPONENT command)
install(FILES ${printed_dir}/buoy.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
install(FILES ${printed_dir}/buoy.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME buoy COMPONENT command)
install(FILES ${printed_dir}/_buoy DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT command)
install(FILES ${printed_dir}/buoy.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT command)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/buoy)
install(EXPORT buoy FILE buoy-targets.cmake NAMESPACE buoy:: DESTINATION ${config_dir} COMPONENT development)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/buoy-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/buoy-config.cmake ${PROJECT_BINARY_DIR}/buoy-config-version.cmake DESTINATION ${config_dir}
        COMPONENT development)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The Buoy authors <buoy@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Shows where the attention of language models floats")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-noto-core")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
if(PROJECT_IS_TOP_LEVEL)
  include(CPack)
endif()
