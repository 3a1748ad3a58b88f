# find_package(buoy) gives the target buoy::buoy.
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(nlohmann_json)
include(${CMAKE_CURRENT_LIST_DIR}/buoy-targets.cmake)
