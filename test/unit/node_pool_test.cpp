// SPDX-License-Identifier: BSL-1.0
//
// The memory of calls: distinct blocks, aligned, and used again.

#include <async/node_pool.hpp>
#include <support/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

BOOST_AUTO_TEST_SUITE(node_pools)

BOOST_AUTO_TEST_CASE(blocks_of_every_size_are_aligned_and_do_not_overlap) {
    auto pool = colimit::detail::node_pool{};
    struct block {
        unsigned char* memory;
        std::size_t size;
    };
    auto blocks = std::vector<block>{};
    for (std::size_t size = 1; size < 2'500; size += 37)
        for (int i = 0; i < 40; ++i) {
            auto* memory = static_cast<unsigned char*>(pool.allocate(size));
            BOOST_TEST(reinterpret_cast<std::uintptr_t>(memory) % pool.alignment == 0U);
            std::memset(memory, static_cast<int>(blocks.size() % 251), size);
            blocks.push_back({memory, size});
        }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        BOOST_TEST(blocks[i].memory[0] == i % 251);
        BOOST_TEST(blocks[i].memory[blocks[i].size - 1] == i % 251);
        pool.deallocate(blocks[i].memory, blocks[i].size);
    }
}

BOOST_AUTO_TEST_CASE(a_block_that_was_given_back_is_used_again) {
    auto pool = colimit::detail::node_pool{};
    auto used = std::set<void*>{};
    for (int i = 0; i < 1'000; ++i) {
        auto* memory = pool.allocate(500);
        used.insert(memory);
        pool.deallocate(memory, 500);
    }
    BOOST_TEST(used.size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_was_needed_at_once_is_never_asked_for_again) {
    auto pool = colimit::detail::node_pool{};
    auto used = std::set<void*>{};
    for (int round = 0; round < 10; ++round) {
        auto taken = std::vector<void*>{};
        for (int i = 0; i < 160; ++i)
            taken.push_back(pool.allocate(500));
        used.insert(taken.begin(), taken.end());
        for (auto* memory : taken)
            pool.deallocate(memory, 500);
    }
    BOOST_TEST(used.size() == 160U);
}

BOOST_AUTO_TEST_SUITE_END()
