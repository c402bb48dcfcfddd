# Scripted scenarios in the world of the simulation.
if(NOT TARGET colimit_test_world)
    return()
endif()
file(GLOB sources CONFIGURE_DEPENDS scenario/*.cpp)
add_program(scenarios ${sources})
target_link_libraries(scenarios PRIVATE colimit_test_world colimit_test_main)
add_labelled_test(scenario scenarios QUICK COMMAND scenarios)
