# The programs of benchmark/, which are targets of another folder.
if(NOT COLIMIT_BUILD_BENCHMARKS OR COLIMIT_SANITIZE)
    return()
endif()
add_labelled_test(benchmark benchmark_smoke
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/benchmark/smoke $<TARGET_FILE:colimit_benchmark>)
add_labelled_test(benchmark benchmark_overload
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/benchmark/overload $<TARGET_FILE:colimit_overload>)
