# A shared library exports what exported_symbols.map lists. Its version changes with each minor
# version of the project until 1.0, as its ABI may.
set(symbols ${CMAKE_CURRENT_LIST_DIR}/exported_symbols.map)
set_target_properties(colimit PROPERTIES VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${symbols})
target_link_options(colimit PRIVATE LINKER:--version-script=${symbols})
# No other library replaces a function of this one: so calls within it may be inlined.
target_compile_options(colimit PRIVATE -fno-semantic-interposition)

# The same objects with everything that they define.
add_library(colimit_internal STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:colimit>)
target_compile_features(colimit_internal PUBLIC cxx_std_20)
target_include_directories(colimit_internal PUBLIC ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(colimit_internal PUBLIC Boost::headers Threads::Threads
    PRIVATE ${colimit_boost_json} OpenSSL::SSL OpenSSL::Crypto)
