# Random histories, C++ against Lua. Sanitizers find other errors, and are several times slower.
set(operations 300000)
if(COLIMIT_SANITIZE)
    set(operations 100000)
elseif(COLIMIT_LARGE_TESTS)
    set(operations 1000000)
endif()
math(EXPR tenth "${operations} / 10")
file(GLOB sources CONFIGURE_DEPENDS differential/*.cpp)
add_program(differential ${sources})
target_link_libraries(differential PRIVATE CLI11::CLI11)
add_labelled_test(differential differential QUICK
    COMMAND differential --operations ${operations} --seed 1)
add_labelled_test(differential differential_functions QUICK
    COMMAND differential --operations ${tenth} --seed 2 --functions)
add_labelled_test(differential differential_module QUICK
    COMMAND differential --operations ${tenth} --seed 3
        --module $<TARGET_FILE:colimit_server_module>)
