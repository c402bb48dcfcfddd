// SPDX-License-Identifier: BSL-1.0
//
// The facts in the reply of CLUSTER INFO.

#include <redis/cluster/cluster_info.hpp>
#include <support/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(cluster_infos)

namespace {

using colimit::redis::cluster_info;
using colimit::redis::read_cluster_info;

} // namespace

BOOST_AUTO_TEST_CASE(the_state_and_the_epoch_are_read) {
    const auto text = std::string{"cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
                                  "cluster_current_epoch:18446744073709551615\r\n"
                                  "cluster_my_epoch:1\r\ncluster_stats_messages_sent:1\r\n"};
    BOOST_TEST((read_cluster_info(text) ==
                cluster_info{.is_ok = true, .epoch = 18'446'744'073'709'551'615U}));
    BOOST_TEST((read_cluster_info("cluster_current_epoch:0\r\ncluster_state:fail\r\n") ==
                cluster_info{.is_ok = false, .epoch = 0}));
    // The last line may lack its end.
    BOOST_TEST((read_cluster_info("cluster_state:ok\ncluster_current_epoch:7") ==
                cluster_info{.is_ok = true, .epoch = 7}));
}

BOOST_AUTO_TEST_CASE(a_text_without_them_has_no_facts) {
    for (const auto* text : {"", "\r\n", "cluster_state:ok\r\n", "cluster_current_epoch:7\r\n",
                             "cluster_state:ok\r\ncluster_current_epoch:\r\n",
                             "cluster_state:ok\r\ncluster_current_epoch:x\r\n",
                             "cluster_state:ok\r\ncluster_current_epoch:-1\r\n",
                             "cluster_state:ok\r\ncluster_current_epoch:18446744073709551616\r\n",
                             "cluster_state\r\ncluster_current_epoch:7\r\n",
                             "a_cluster_state:ok\r\ncluster_current_epoch:7\r\n",
                             "cluster_state:ok\r\ncluster_current_epochs7\r\n"})
        BOOST_TEST(!read_cluster_info(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
