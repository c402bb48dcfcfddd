// SPDX-License-Identifier: BSL-1.0
//
// The sketch in process counts what a server counts: every PFCOUNT, and every answer of PFADD, from
// the first member to 200,000.

#include "stores.hpp"

#include <core/hyperloglog.hpp>
#include <redis/resp.hpp>

#include <boost/test/unit_test.hpp>

#include <random>
#include <string>
#include <vector>

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
        const auto mark = hyperloglog::mark_of(member);
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

} // namespace
