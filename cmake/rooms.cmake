# Builds the rooms' own tests and nothing else.
add_custom_target(unit_tests)

# What tests of every room share; the only code that knows where the source tree lies.
if(BUOY_TESTS OR BUOY_BENCH)
  add_library(buoy_testing STATIC ${PROJECT_SOURCE_DIR}/buoy/base/testing.cc)
  target_include_directories(buoy_testing PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_definitions(buoy_testing PRIVATE BUOY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()

# buoy_room(name USES libs… TESTS_USE libs… WITHOUT patterns…): a static library from buoy/name/**.cc, and name_test from
# buoy/name/**_test.cc; paths that match one of the patterns are left out.
function(buoy_room name)
  cmake_parse_arguments(ROOM "" "" "USES;TESTS_USE;WITHOUT" ${ARGN})
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
  if(BUOY_SANITIZE)
    # Without any inlining whole models and the long tests take minutes; the tests themselves stay quick to compile.
    target_compile_options(buoy_${name} PRIVATE -O1)
  endif()
  if(BUOY_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE buoy_${name} ${ROOM_TESTS_USE} buoy_testing GTest::gtest_main)
    # Tests are compiled more often than they are waited for.
    target_compile_options(${name}_test PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
    add_dependencies(unit_tests ${name}_test)
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
