# Builds the rooms' own tests and nothing else.
add_custom_target(unit_tests)

# What tests of every room share; the only code that knows where the source tree lies.
if(BUOY_TESTS OR BUOY_BENCH)
  add_library(buoy_testing STATIC ${PROJECT_SOURCE_DIR}/buoy/base/testing.cc)
  target_include_directories(buoy_testing PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_definitions(buoy_testing PRIVATE BUOY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()

# Compiles a target's files in batches: headers, not code, are what takes long to compile. Sources that match one of the
# patterns stay apart. Names in unnamed namespaces must then differ within a room.
function(buoy_batch target)
  if(NOT BUOY_BATCH)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${BUOY_BATCH})
  # The warning is for headers; in a batch every file looks like one.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  get_target_property(sources ${target} SOURCES)
  foreach(pattern ${ARGN})
    set(apart ${sources})
    list(FILTER apart INCLUDE REGEX "${pattern}")
    set_source_files_properties(${apart} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

# Tests like to call their helpers by the same names. To be compiled in batches all the same they are copied into the build folder,
# where the unnamed namespace of each gets a name; compilers and failures still speak of the file in the source tree.
function(buoy_batch_tests target tests)
  set(copies)
  foreach(test ${tests})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${test})  # a test that was edited is copied again
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${test})
    string(MAKE_C_IDENTIFIER ${path} unique)
    file(READ ${test} text)
    string(REGEX REPLACE "\nnamespace {\n" "\nnamespace ${unique} {\n" text "#line 1 \"${path}\"\n${text}")
    set(copy ${PROJECT_BINARY_DIR}/batched/${path})
    set(written "")
    if(EXISTS ${copy})
      file(READ ${copy} written)
    endif()
    if(NOT written STREQUAL text)  # one that is as it was is not compiled again
      file(WRITE ${copy} "${text}")
    endif()
    list(APPEND copies ${copy})
  endforeach()
  target_sources(${target} PRIVATE ${copies})
  buoy_batch(${target})
endfunction()

# buoy_room(name USES libs… TESTS_USE libs… WITHOUT patterns… APART patterns…): a static library from buoy/name/**.cc, and
# name_test from buoy/name/**_test.cc. Paths that match a pattern of WITHOUT are left out, sources that match one of APART
# are compiled one by one.
function(buoy_room name)
  cmake_parse_arguments(ROOM "" "" "USES;TESTS_USE;WITHOUT;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/buoy/${name}/*.cc)
  foreach(pattern ${ROOM_WITHOUT})
    list(FILTER sources EXCLUDE REGEX "/buoy/${name}/${pattern}")
  endforeach()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/testing)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(buoy_${name} STATIC ${sources})
  set_property(GLOBAL APPEND PROPERTY BUOY_ROOMS ${name})
  target_include_directories(buoy_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(buoy_${name} PUBLIC ${ROOM_USES})
  buoy_batch(buoy_${name} ${ROOM_APART})
  # Compiling takes longer than what it makes is run for, so the optimiser works where the loops are. Under the sanitizers they are in
  # compute and the arithmetic of base: -O1 there, nothing elsewhere (it would double what clang takes). In a release the rooms above
  # decode string things together, but for those that go through arrays, texts or pixels themselves. No bit of a result depends on it.
  if(BUOY_SANITIZE AND name MATCHES "^(base|compute)$")
    target_compile_options(buoy_${name} PRIVATE -O1)
  elseif(name MATCHES "^(world|prompt|intervene|run|stress|claims|engine|report|serve)$")
    target_compile_options(buoy_${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  endif()
  if(BUOY_TESTS AND tests)
    add_executable(${name}_test)
    if(BUOY_BATCH)
      buoy_batch_tests(${name}_test "${tests}")
    else()
      target_sources(${name}_test PRIVATE ${tests})
    endif()
    target_link_libraries(${name}_test PRIVATE buoy_${name} ${ROOM_TESTS_USE} buoy_testing GTest::gtest_main)
    # Tests are compiled more often than they are waited for.
    target_compile_options(${name}_test PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
    add_dependencies(unit_tests ${name}_test)
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
