# The programs of example/, which are targets of another folder.
if(NOT COLIMIT_BUILD_EXAMPLES)
    return()
endif()
add_labelled_test(example example_smoke QUICK NEEDS first quickstart
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/example/smoke ${PROJECT_BINARY_DIR}/example)
add_labelled_test(example example_programs NEEDS all_examples
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/example/programs ${PROJECT_BINARY_DIR}/example)
