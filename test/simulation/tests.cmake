# The client in virtual time. It has one thread, so the thread sanitizer would find nothing. With
# the others a quarter of the time of compiling is for this, and `integration` and `faults` run the
# same client.
if(COLIMIT_SANITIZE MATCHES "thread" OR (COLIMIT_SANITIZE AND NOT COLIMIT_LARGE_TESTS))
    return()
endif()
set(seeds 2500)
if(COLIMIT_SANITIZE)
    set(seeds 500)
endif()
# The world: as objects, since an archive would not replace functions of the system.
set(world loopback machine network resolver_threads socket server redis_node script_node
    sentinel_server
    deployment sentinel_deployment cluster_deployment system_calls)
list(TRANSFORM world PREPEND simulation/)
list(TRANSFORM world APPEND .cpp)
add_library(colimit_test_world OBJECT ${world})
target_link_libraries(colimit_test_world PUBLIC colimit_test_fake_server)
target_compile_options(colimit_test_world PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O2>)
colimit_warnings(colimit_test_world)
# It defines functions that headers of the system declare.
set_source_files_properties(
    simulation/system_calls.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} simulation/*.cpp)
list(REMOVE_ITEM sources ${world})
add_program(simulation ${sources})
target_compile_options(simulation PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O2>)
target_link_libraries(simulation PRIVATE colimit_test_world CLI11::CLI11)
add_labelled_test(simulation simulation QUICK COMMAND simulation --seeds ${seeds})
add_labelled_test(simulation simulation_storm QUICK COMMAND simulation --storm)
add_labelled_test(simulation simulation_repeats QUICK
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/simulation/repeats $<TARGET_FILE:simulation>)
# The checks must notice a world that is wrong.
foreach(flaw IN ITEMS executes_twice forgets loses_timers loses_sockets never_elects
        answers_another forgets_records varies)
    add_labelled_test(simulation simulation_notices_${flaw}
        COMMAND simulation --seeds 300 --break ${flaw})
    set_tests_properties(simulation_notices_${flaw} PROPERTIES
        PASS_REGULAR_EXPRESSION "seeds 300, .* failed [1-9]")
endforeach()
add_labelled_test(simulation simulation_notices_equal_jitter
    COMMAND simulation --storm --break equal_jitter)
set_tests_properties(simulation_notices_equal_jitter PROPERTIES
    PASS_REGULAR_EXPRESSION "at most 100 % \\(60 are allowed\\)")
