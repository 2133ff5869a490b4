# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
#
# install_executable_stub(NAME name MODULE python.module DESTINATION directory)
#
# Installs an executable DESTINATION/NAME that calls main() of the module.
function(install_executable_stub)
  cmake_parse_arguments(ARG "" "NAME;MODULE;DESTINATION" "" ${ARGN})
  # The depth of the destination leads from the stub back to the installation prefix.
  string(REGEX REPLACE "[^/]+" ".." to_prefix "${ARG_DESTINATION}")
  set(module "${ARG_MODULE}")
  set(stub "${CMAKE_CURRENT_BINARY_DIR}/executable_stubs/${ARG_DESTINATION}/${ARG_NAME}")
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/executable_stub.py.in" "${stub}" @ONLY)
  # A symlink install links to this file, so it has to be executable here already.
  file(CHMOD "${stub}" PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  install(PROGRAMS "${stub}" DESTINATION "${ARG_DESTINATION}")
endfunction()
