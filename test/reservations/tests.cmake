# A model of reservations, compared with as-if histories: for each kind of rule alone, and for
# policies of several.
set(model ${python} ${CMAKE_CURRENT_SOURCE_DIR}/reservations/model.py)
set(histories 400)
add_labelled_test(reservations reservations COMMAND ${model} --histories ${histories})
foreach(kind IN ITEMS bucket stepwise aligned window from_first calendar counter log)
    add_labelled_test(reservations reservations_${kind}
        COMMAND ${model} --kind ${kind} --histories ${histories})
endforeach()
# Each rule of the arithmetic is left out once, until that shows.
foreach(rule IN ITEMS plain_refund settles_one_rule nothing_expires settles_twice drops_late
        drops_excess reset_keeps_holds)
    add_labelled_test(reservations reservations_notice_${rule} COMMAND ${model} --break ${rule})
endforeach()
foreach(rule IN ITEMS later_holds_stay older_holds_stay lowest_is_forgotten wait_is_ignored
        cut_is_ignored other_numbers_are_ignored)
    add_labelled_test(reservations reservations_notice_${rule}
        COMMAND ${model} --kind bucket --break ${rule})
endforeach()
add_labelled_test(reservations reservations_notice_wrong_window_of_window
    COMMAND ${model} --kind window --break wrong_window)
foreach(rule IN ITEMS wrong_window clock_moves_no_window excess_in_this_window)
    add_labelled_test(reservations reservations_notice_${rule}
        COMMAND ${model} --kind counter --break ${rule})
endforeach()
foreach(rule IN ITEMS wrong_event removes_event_twice refunds_keep_weights expired_events_stay
        clock_moves_no_hold)
    add_labelled_test(reservations reservations_notice_${rule}
        COMMAND ${model} --kind log --break ${rule})
endforeach()
