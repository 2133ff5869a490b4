# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
#
# Given to CMake as CMAKE_PROJECT_INCLUDE when building against ROS wheels. After everything
# has been found and before anything is generated, it puts right two things about include
# directories of Python and numpy, which the message generators export along with their targets:
#
# - The targets in the wheels name those of the machine that built the wheels. CMake refuses to
#   generate while such a directory does not exist: they are dropped.
# - Our own targets name those of the environment that builds. CMake refuses to export a
#   directory inside the source tree, where .venv is: they are kept for the build alone.
function(_repair_include_directories)
  get_directory_property(imported IMPORTED_TARGETS)
  get_directory_property(own BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS imported own)
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT directories)
      continue()
    endif()
    set(repaired)
    foreach(directory IN LISTS directories)
      if(NOT IS_ABSOLUTE "${directory}")
        list(APPEND repaired "${directory}")
      elseif(target IN_LIST own)
        list(APPEND repaired "$<BUILD_INTERFACE:${directory}>")
      elseif(EXISTS "${directory}")
        list(APPEND repaired "${directory}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${repaired}")
  endforeach()
endfunction()

# The type supports in C++ are many small files that all read the same large headers. Compiled as a
# few files they take a fifth of the time, and export the same symbols. Not so introspection_cpp,
# whose specialisations need their order, nor generated C files, which define the same static names:
# the former read those headers in the compiler's own form.
function(_compile_together)
  get_directory_property(own BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS own)
    if(target MATCHES "__rosidl_typesupport_(cpp|fastrtps_c|fastrtps_cpp)$")
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    elseif(target MATCHES "__rosidl_typesupport_introspection_cpp$")
      target_precompile_headers(${target} PRIVATE
        <algorithm> <array> <cstddef> <memory> <string> <vector>
        <rosidl_runtime_c/message_type_support_struct.h>
        <rosidl_runtime_cpp/bounded_vector.hpp>
        <rosidl_runtime_cpp/message_initialization.hpp>
        <rosidl_typesupport_cpp/message_type_support.hpp>
        <rosidl_typesupport_cpp/service_type_support.hpp>
        <rosidl_typesupport_interface/macros.h>
        <rosidl_typesupport_introspection_cpp/field_types.hpp>
        <rosidl_typesupport_introspection_cpp/identifier.hpp>
        <rosidl_typesupport_introspection_cpp/message_introspection.hpp>
        <rosidl_typesupport_introspection_cpp/message_type_support_decl.hpp>
        <rosidl_typesupport_introspection_cpp/visibility_control.h>)
    endif()
  endforeach()
endfunction()

if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  cmake_language(DEFER CALL _repair_include_directories)
  cmake_language(DEFER CALL _compile_together)
endif()
