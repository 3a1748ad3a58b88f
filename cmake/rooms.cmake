# Builds the rooms' own tests and nothing else.
add_custom_target(unit_tests)

# buoy_room(name USES libs… WITHOUT patterns…): a static library from src/name/**.cc, and name_test from
# src/name/**_test.cc; paths that match one of the patterns are left out.
function(buoy_room name)
  cmake_parse_arguments(ROOM "" "" "USES;WITHOUT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  foreach(pattern ${ROOM_WITHOUT})
    list(FILTER sources EXCLUDE REGEX "/src/${name}/${pattern}")
  endforeach()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(buoy_${name} STATIC ${sources})
  target_include_directories(buoy_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(buoy_${name} PUBLIC ${ROOM_USES})
  if(BUOY_SANITIZE)
    # Without any inlining whole models and the long tests take minutes; the tests themselves stay quick to compile.
    target_compile_options(buoy_${name} PRIVATE -O1)
  endif()
  if(BUOY_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE buoy_${name} GTest::gtest_main)
    # Tests are compiled more often than they are waited for.
    target_compile_options(${name}_test PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
    target_compile_definitions(${name}_test PRIVATE BUOY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    add_dependencies(unit_tests ${name}_test)
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
