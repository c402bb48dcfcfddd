# The build's library, installed into an empty prefix and used with find_package and pkg-config.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
set(prefix ${work}/prefix)

# What an earlier version installed must not hide that a file is missing now.
file(REMOVE_RECURSE ${prefix})
run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
require_files(${prefix}/share/colimit/colimit.lua ${prefix}/share/colimit/policies.schema.json)
test_consumer(find_package -D CMAKE_PREFIX_PATH=${prefix})
test_pkg_config(${prefix})
