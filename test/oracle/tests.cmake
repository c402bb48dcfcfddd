# Many processes on one server, and a checker that shares no code with the limiter.
set(checks 300000)
set(checks_with_faults 100000)
if(COLIMIT_SANITIZE)
    set(checks 100000)
    set(checks_with_faults 50000)
elseif(COLIMIT_LARGE_TESTS)
    set(checks 1000000)
    set(checks_with_faults 200000)
endif()
file(GLOB sources CONFIGURE_DEPENDS oracle/*.cpp)
add_program(oracle ${sources})
target_link_libraries(oracle PRIVATE CLI11::CLI11)
add_labelled_test(oracle oracle COMMAND oracle --checks ${checks} --processes 4)
add_labelled_test(oracle oracle_faults
    COMMAND oracle --checks ${checks_with_faults} --processes 4 --faults)
# The checker must notice limiters that are wrong, and only those.
add_labelled_test(oracle oracle_by_hand COMMAND oracle --checks 20000 --processes 4 --break nothing)
foreach(flaw IN ITEMS check_then_record off_by_one client_clock)
    add_labelled_test(oracle oracle_notices_${flaw}
        COMMAND oracle --checks 20000 --processes 4 --break ${flaw})
    set_tests_properties(oracle_notices_${flaw} PROPERTIES
        PASS_REGULAR_EXPRESSION "checks 20000, over-admitted [1-9]")
endforeach()
add_labelled_test(oracle oracle_notices_resend
    COMMAND oracle --checks 20000 --processes 4 --break resend)
set_tests_properties(oracle_notices_resend PROPERTIES
    PASS_REGULAR_EXPRESSION "checks 20000, over-admitted [0-9]+, double-counted [1-9]")
# The same for request ids, of which each is one call.
math(EXPR ids "${checks} / 10")
math(EXPR ids_with_faults "${checks_with_faults} / 10")
add_labelled_test(oracle oracle_requests COMMAND oracle --requests --checks ${ids} --processes 4)
add_labelled_test(oracle oracle_requests_faults
    COMMAND oracle --requests --checks ${ids_with_faults} --processes 4 --faults)
add_labelled_test(oracle oracle_notices_forget_records
    COMMAND oracle --requests --checks 20000 --processes 4 --break forget_records)
set_tests_properties(oracle_notices_forget_records PROPERTIES
    PASS_REGULAR_EXPRESSION "ids 20000, with different answers [1-9].* double-counted [1-9]")
# The same for leases: each of their rules is left out once, until that shows.
math(EXPR leased_checks "${checks} / 10")
math(EXPR leased_with_faults "${checks_with_faults} / 10")
add_labelled_test(oracle oracle_leases COMMAND oracle --leases --checks ${leased_checks})
add_labelled_test(oracle oracle_leases_faults
    COMMAND oracle --leases --checks ${leased_with_faults} --faults)
add_labelled_test(oracle oracle_leases_by_hand
    COMMAND oracle --leases --checks 20000 --break nothing)
foreach(rule IN ITEMS no_reserve direct_full ignores_grant from_arrival returns_lapsed past_end)
    add_labelled_test(oracle oracle_notices_${rule}
        COMMAND oracle --leases --checks 1000000 --break ${rule})
    set_tests_properties(oracle_notices_${rule} PROPERTIES
        PASS_REGULAR_EXPRESSION "checks [0-9]+, over-admitted [1-9]")
endforeach()
# The same for slots.
math(EXPR acquires "${checks} / 250")
math(EXPR acquires_with_faults "${checks_with_faults} / 100")
add_labelled_test(oracle oracle_slots COMMAND oracle --slots --checks ${acquires})
add_labelled_test(oracle oracle_slots_faults
    COMMAND oracle --slots --checks ${acquires_with_faults} --faults)
add_labelled_test(oracle oracle_slots_by_hand COMMAND oracle --slots --checks 2000 --break nothing)
foreach(rule IN ITEMS check_then_add ignores_loss revives from_arrival)
    add_labelled_test(oracle oracle_notices_slots_${rule}
        COMMAND oracle --slots --checks 1000000 --break ${rule})
    set_tests_properties(oracle_notices_slots_${rule} PROPERTIES
        PASS_REGULAR_EXPRESSION "crowded (grants|sets) [1-9]")
endforeach()
add_labelled_test(oracle oracle_notices_slots_forgets_token
    COMMAND oracle --slots --checks 1000000 --break forgets_token)
set_tests_properties(oracle_notices_slots_forgets_token PROPERTIES
    PASS_REGULAR_EXPRESSION "wrong tokens [1-9]")
foreach(rule IN ITEMS never_expires keeps_renewing)
    add_labelled_test(oracle oracle_notices_slots_${rule}
        COMMAND oracle --slots --checks 3000 --break ${rule})
    set_tests_properties(oracle_notices_slots_${rule} PROPERTIES
        PASS_REGULAR_EXPRESSION "slots lost [1-9]")
endforeach()
# Failovers, which take a while and little work: so they start early, beside other tests. A busy
# machine makes first decisions late.
foreach(deployment IN ITEMS sentinel cluster)
    add_labelled_test(oracle oracle_${deployment} COMMAND oracle --${deployment} --within 4000)
    # A limiter that stays with its server must be noticed.
    add_labelled_test(oracle oracle_notices_no_follow_${deployment}
        COMMAND oracle --${deployment} --failovers 1 --kind "kill -9" --break no_follow)
    set_tests_properties(oracle_notices_no_follow_${deployment} PROPERTIES
        PASS_REGULAR_EXPRESSION "missing [1-9].*over-admitted 0, double-counted 0, unfinished 0")
    set_tests_properties(oracle_${deployment} oracle_notices_no_follow_${deployment} PROPERTIES
        COST 900)
endforeach()

# With the server module.
add_module_test(oracle oracle_module COMMAND oracle --checks ${leased_checks} --processes 4)
foreach(deployment IN ITEMS sentinel cluster)
    add_module_test(oracle oracle_module_${deployment}
        COMMAND oracle --${deployment} --within 4000 --failovers 1 --kind "kill -9")
    set_tests_properties(oracle_module_${deployment} PROPERTIES COST 900)
endforeach()
add_module_test(oracle oracle_requests_module
    COMMAND oracle --requests --checks ${ids_with_faults} --processes 4 --faults)
add_module_test(oracle oracle_leases_module
    COMMAND oracle --leases --checks ${leased_with_faults})
add_module_test(oracle oracle_slots_module
    COMMAND oracle --slots --checks ${acquires_with_faults})
