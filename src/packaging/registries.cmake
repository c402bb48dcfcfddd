# Writes the vcpkg port and the Conan recipe of a source archive, as their registries have them:
#
#     cmake -D archive=FILE -D url=URL -D homepage=PAGE -D version=VERSION -D description=TEXT
#           -D to=FOLDER -P registries.cmake
#
# writes FOLDER/vcpkg/ports/colimit and FOLDER/conan/recipes/colimit. URL is where the archive will
# be downloaded, PAGE the page of the project. The target `registries` makes the archive and calls
# this.
file(SHA256 ${archive} sha256)
file(SHA512 ${archive} sha512)
set(port ${to}/vcpkg/ports/colimit)
set(recipe ${to}/conan/recipes/colimit)

set(from ${CMAKE_CURRENT_LIST_DIR})
configure_file(${from}/vcpkg/portfile.cmake.in ${port}/portfile.cmake @ONLY)
configure_file(${from}/vcpkg/vcpkg.json.in ${port}/vcpkg.json @ONLY)
configure_file(${from}/vcpkg/usage ${port}/usage COPYONLY)
configure_file(${from}/conan/config.yml.in ${recipe}/config.yml @ONLY)
configure_file(${from}/conan/conandata.yml.in ${recipe}/all/conandata.yml @ONLY)
configure_file(${from}/conan/conanfile.py ${recipe}/all/conanfile.py @ONLY)
file(COPY ${from}/conan/test_package DESTINATION ${recipe}/all)
