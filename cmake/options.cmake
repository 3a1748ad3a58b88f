# Language level, warnings and sanitizers for every target of the project.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # libbuoy may be loaded by others (a Python module)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Sizes are signed here and indices into std containers are not, hence -Wno-sign-conversion; designated initialisers
# leave defaults out on purpose.
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND warnings -Werror)  # Debian 12's; every other compiler, and the next version of it, warns of something new
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${warnings}>" "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)  # GCC 12 sees overlaps in std::string that are not there (bug 105651)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # GCC takes every reference that a function returns for one into its temporary arguments.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
endif()
# The compiler may not fuse a*b+c on its own: results would then depend on its version. Kernels that want fused
# multiply-adds ask for them by name.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
# Messages of check() name files as the source tree does, and an installation says nothing of where that lay.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
if(BUOY_SANITIZE)
  add_compile_options(-fsanitize=${BUOY_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BUOY_SANITIZE})
  if(BUOY_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
# What a release costs more for it stands in bench/README.md. The sanitizers see more.
option(BUOY_HARDEN "Releases check the bounds of standard containers and guard stacks and buffers" ON)
if(BUOY_HARDEN AND NOT BUOY_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL Release)
  foreach(flag -D_GLIBCXX_ASSERTIONS -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${flag}>)
  endforeach()
  add_link_options(-Wl,-z,relro,-z,now)
endif()
