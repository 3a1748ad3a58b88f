# Version, commit and compiler, known to base/version.cc alone, so that a new commit compiles one file.
set(commit "")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --abbrev=12 --dirty=+ --exclude=*
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --git-path logs/HEAD
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(log "${log}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  if(EXISTS ${log})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
  endif()
endif()
get_filename_component(compiler ${CMAKE_CXX_COMPILER} NAME)
set_source_files_properties(${PROJECT_SOURCE_DIR}/buoy/base/version.cc PROPERTIES COMPILE_DEFINITIONS
  "BUOY_VERSION=\"${PROJECT_VERSION}\";BUOY_COMMIT=\"${commit}\";BUOY_COMPILER=\"${compiler} ${CMAKE_CXX_COMPILER_VERSION}\"")
