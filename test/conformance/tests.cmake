# Published cases of other limiters, for the arithmetic and for each store.
file(GLOB sources CONFIGURE_DEPENDS conformance/*.cpp)
add_program(conformance ${sources})
target_link_libraries(conformance PRIVATE CLI11::CLI11)
set(cases ${CMAKE_CURRENT_SOURCE_DIR}/conformance)
foreach(store IN ITEMS core memory redis)
    add_labelled_test(conformance conformance_${store} QUICK
        COMMAND conformance --cases ${cases}/cases.json --store ${store})
    # The rest of the format; one suite is wrong, to show that the program notices.
    add_labelled_test(conformance conformance_format_${store} QUICK
        COMMAND conformance --cases ${cases}/format.json --store ${store})
    set_tests_properties(conformance_format_${store} PROPERTIES
        PASS_REGULAR_EXPRESSION "11 passed, 1 failed, 6 left out")
endforeach()
add_module_test(conformance conformance_redis_module
    COMMAND conformance --cases ${cases}/cases.json --store redis)
