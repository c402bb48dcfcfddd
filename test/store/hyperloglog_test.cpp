// SPDX-License-Identifier: BSL-1.0
//
// The sketch in process counts what a server counts: every PFCOUNT, and every reply of PFADD, from
// the first member to 200,000.

#include "stores.hpp"

#include <core/hyperloglog.hpp>
#include <redis/protocol/resp.hpp>
#include <support/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(hyperloglog_counts)

namespace {

using namespace colimit;
using namespace colimit::test;
using core::hyperloglog;

/// Bytes of any value and of any length, now and then one that was there before.
class members {
  public:
    explicit members(unsigned seed) : random_(seed) {}

    [[nodiscard]] std::string next() {
        if (!past_.empty() && random_() % 8 == 0)
            return past_[random_() % past_.size()];
        auto bytes = std::string(random_() % 40, '\0');
        for (auto& b : bytes)
            b = static_cast<char>(random_());
        past_.push_back(bytes);
        return bytes;
    }

  private:
    std::mt19937 random_;
    std::vector<std::string> past_;
};

void append(std::string& out, std::initializer_list<std::string_view> words) {
    out += "*" + std::to_string(words.size()) + "\r\n";
    for (const auto word : words)
        (out += "$" + std::to_string(word.size()) + "\r\n").append(word) += "\r\n";
}

/// Adds `count` members at both places; how often the two differed.
[[nodiscard]] int differences(hyperloglog& sketch, members& from, int count) {
    auto commands = std::string{};
    auto expected = std::vector<std::int64_t>{};
    for (int i = 0; i < count; ++i) {
        const auto member = from.next();
        const auto mark = hyperloglog::update_of(member);
        append(commands, {"PFADD", "sketch", member});
        append(commands, {"PFCOUNT", "sketch"});
        const auto foretold = sketch.count_with(mark);
        expected.push_back(sketch.add(mark) ? 1 : 0);
        expected.push_back(foretold);
    }
    look().send(commands);
    auto wrong = 0;
    for (const auto number : expected)
        wrong += look().receive().integer != number;
    return wrong;
}

/// A sketch whose registers have been written by hand, as the server keeps it and in process.
struct registers {
    explicit registers(std::size_t count) : bytes(count * 6 / 8, '\0') {}

    void set(std::uint32_t place, std::uint32_t value) {
        (void)sketch.add({place, value});
        for (std::uint32_t bit = 0; bit < 6; ++bit)
            if ((value >> bit & 1U) != 0)
                bytes[(place * 6 + bit) / 8] |= static_cast<char>(1U << (place * 6 + bit) % 8);
    }
    [[nodiscard]] std::int64_t count_of_the_server() const {
        const auto no_count_yet = std::string("\0\0\0\0\0\0\0\x80", 8);
        look().must({"SET", "sketch", "HYLL" + std::string(4, '\0') + no_count_yet + bytes});
        return look().must({"PFCOUNT", "sketch"}).integer;
    }

    std::string bytes;
    hyperloglog sketch;
};

BOOST_AUTO_TEST_CASE(the_sketch_in_process_counts_as_the_server_does) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        look().must({"DEL", "sketch"});
        auto sketch = hyperloglog{};
        auto from = members{seed};
        const auto size = seed == 1 ? 200'000 : 6'000;
        auto wrong = 0;
        for (int done = 0; done < size; done += 500)
            wrong += differences(sketch, from, 500);
        BOOST_TEST(wrong == 0, "seed " << seed);
        BOOST_TEST(sketch.count() > size / 2);
    }
}

// No member that could be tried asks for the largest values: they are set by hand.
BOOST_AUTO_TEST_CASE(registers_of_any_value_count_as_on_the_server) {
    constexpr auto all = std::uint32_t{16'384};
    constexpr std::pair<std::uint32_t, std::uint32_t> ranges[] = {
        {1, 1}, {1, 20}, {1, 51}, {47, 51}};
    auto random = std::mt19937{9};
    for (const auto used : {1U, 10U, 1'600U, all / 2, all - 1, all})
        for (const auto& [least, largest] : ranges) {
            auto r = registers{all};
            for (std::uint32_t i = 0; i < used; ++i)
                r.set(i * 5'003 % all, std::uniform_int_distribution{least, largest}(random));
            BOOST_TEST(r.sketch.count() == r.count_of_the_server(),
                       used << ", " << least << " to " << largest);
        }
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()
