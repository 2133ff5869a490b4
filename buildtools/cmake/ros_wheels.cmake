# SPDX-License-Identifier: Apache-2.0
#
# Given to CMake as CMAKE_PROJECT_INCLUDE when building against ROS wheels. Their exported
# targets name include directories of the machine that built the wheels; CMake refuses to
# generate while such a directory does not exist. They are dropped after everything has been
# found and before anything is generated.
function(_drop_missing_include_directories)
  get_directory_property(targets IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT directories)
      continue()
    endif()
    set(present)
    foreach(directory IN LISTS directories)
      if(NOT IS_ABSOLUTE "${directory}" OR EXISTS "${directory}")
        list(APPEND present "${directory}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${present}")
  endforeach()
endfunction()

if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  cmake_language(DEFER CALL _drop_missing_include_directories)
endif()
