# The program of benchmark/, which is a target of another folder.
if(NOT COLIMIT_BUILD_BENCHMARKS OR COLIMIT_SANITIZE)
    return()
endif()
add_labelled_test(benchmark benchmark_smoke
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/benchmark/smoke $<TARGET_FILE:colimit_benchmark>)
