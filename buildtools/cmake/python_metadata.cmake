# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
#
# Adds the entry points of pyproject.toml to the Python metadata of the generated package, so
# that importlib.metadata finds them in a ROS 2 workspace as it does in a virtual environment.
# The metadata directory itself is installed by rosidl_generate_interfaces(), under a name made
# from the versions of the package and of Python.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(entry_points "${CMAKE_CURRENT_BINARY_DIR}/python_metadata/entry_points.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_SOURCE_DIR}/pyproject.toml")
execute_process(
  COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/../entry_points.py"
    "${CMAKE_CURRENT_SOURCE_DIR}/pyproject.toml" "${entry_points}"
  COMMAND_ERROR_IS_FATAL ANY)
set(metadata_name "${PROJECT_NAME}-${${PROJECT_NAME}_VERSION}")
string(APPEND metadata_name "-py${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}.egg-info")
install(FILES "${entry_points}" DESTINATION "${python_install_dir}/${metadata_name}")
