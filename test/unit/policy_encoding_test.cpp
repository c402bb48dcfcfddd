// SPDX-License-Identifier: BSL-1.0
//
// Policies and filters are read from bytes as they were written, and bytes that no policy has are
// refused with a reason.

#include <colimit/error.hpp>
#include <colimit/policy.hpp>
#include <core/policy_encoding.hpp>
#include <core/state_encoding.hpp>
#include <policy/policy_data.hpp>
#include <support/random_rule.hpp>
#include <support/rng.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(policy_encoding)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

[[nodiscard]] const detail::policy_data& data_of(const policy& p) {
    return *detail::access::data(p);
}

[[nodiscard]] core::compiled_policy decode(std::string_view bytes) {
    return core::decode_policy(bytes);
}

[[nodiscard]] std::string reason_against(const std::string& bytes) {
    try {
        (void)decode(bytes);
    } catch (const error& e) {
        BOOST_TEST((e.code() == errc::invalid_policy));
        return e.reason();
    }
    return "accepted";
}

void check_comes_back(const policy& p) {
    const auto& data = data_of(p);
    auto bytes = std::string_view{data.wire};
    BOOST_TEST((core::decode_policy(bytes) == data.compiled));
    BOOST_TEST(bytes.empty());
}

/// Every kind of rule, alone.
[[nodiscard]] std::vector<policy> policies_of_every_kind() {
    auto all = std::vector<policy>{};
    for (const auto& r : test::rules_of_every_kind(12, 7s)) {
        all.emplace_back("p", r);
        all.push_back(all.back().with_storage(storage::shared_hash));
    }
    all.emplace_back("p", sliding_log(12, 7s));
    all.emplace_back("p", sliding_log(12, 7s).count_denied());
    all.emplace_back("p", distinct(12, 7s));
    return all;
}

/// Returns the bytes with another number in the first rule.
[[nodiscard]] std::string with_number(std::string bytes, std::size_t index, double number) {
    std::memcpy(bytes.data() + 3 + 6 + index * 8, &number, sizeof number);
    return bytes;
}

const auto plain = data_of(policy{"p", gcra(3, 7s)}).wire;

BOOST_AUTO_TEST_CASE(policies_of_every_kind_come_back) {
    for (const auto& p : policies_of_every_kind()) {
        check_comes_back(p);
        check_comes_back(p.shadow());
        check_comes_back(p.prevent_duplicate(5s));
        check_comes_back(p.prevent_duplicate(5s).shadow());
    }
    check_comes_back(policy{"p", gcra(3, 1s).named("a"), sliding_log(3, 1s), distinct(5, 1min),
                            fixed_window(5, 7s).shadow()});
}

BOOST_AUTO_TEST_CASE(policies_of_any_numbers_come_back) {
    auto random = test::random_rules{1};
    auto made = 0;
    for (auto i = 0; i < 20'000; ++i) {
        const auto r = i % 2 == 0 ? random.any() : random.sensible();
        auto p = std::optional<policy>{};
        try {
            p.emplace("p", r);
        } catch (const error&) {
            continue;
        }
        check_comes_back(*p);
        ++made;
    }
    BOOST_TEST(made > 5'000);
}

BOOST_AUTO_TEST_CASE(rules_counted_in_milliseconds_and_seconds_come_back) {
    const auto in_units = [](const rule& r) {
        const auto p = policy{"p", r};
        check_comes_back(p);
        return data_of(p).compiled.limits[0].unit;
    };
    BOOST_TEST(in_units(gcra(3'000'001, 30 * 24h)) == 1'000);
    BOOST_TEST(in_units(gcra(3'000'000'001, 30 * 24h)) == 1'000'000);
    BOOST_TEST(in_units(sliding_window(3'000'001, 30 * 24h)) == 1'000);
    BOOST_TEST(in_units(sliding_window(3'000'000'001, 30 * 24h)) == 1'000'000);
}

BOOST_AUTO_TEST_CASE(the_policy_of_once_comes_back) {
    BOOST_TEST((decode(detail::once_policy()->wire) == core::compiled_policy{}));
}

BOOST_AUTO_TEST_CASE(the_next_policy_follows) {
    const auto second = data_of(policy{"q", fixed_window(5, 7s)});
    const auto both = plain + second.wire;
    auto bytes = std::string_view{both};
    (void)core::decode_policy(bytes);
    BOOST_TEST((core::decode_policy(bytes) == second.compiled));
    BOOST_TEST(bytes.empty());
}

BOOST_AUTO_TEST_CASE(a_policy_that_ends_early_is_refused) {
    for (std::size_t size = 0; size < plain.size(); ++size)
        BOOST_TEST(reason_against(plain.substr(0, size)).starts_with("policy: it is too short"));
    const auto packed = data_of(policy{"p", gcra(3, 7s)}.with_storage(storage::shared_hash)).wire;
    BOOST_TEST(reason_against(packed.substr(0, packed.size() - 1)) ==
               "policy: it is too short (got 96 bytes, expected 97)");
}

BOOST_AUTO_TEST_CASE(every_number_of_a_rule_must_be_that_of_its_kind) {
    const auto infinity = std::numeric_limits<double>::infinity();
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    for (const auto& p : policies_of_every_kind()) {
        const auto& wire = data_of(p).wire;
        for (std::size_t index = 0; index < 10; ++index) {
            auto own = 0.0;
            std::memcpy(&own, wire.data() + 3 + 6 + index * 8, sizeof own);
            for (const auto bad : {-1.5, 0.5, 9007199254740992.0, 1e300, -1e300, infinity,
                                   -infinity, nan, own + 0.5, -0.0}) {
                const auto changed = with_number(wire, index, bad);
                if (changed != wire)
                    BOOST_TEST(reason_against(changed) != "accepted");
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(numbers_of_other_rules_are_refused) {
    BOOST_TEST(reason_against(with_number(plain, 4, 7'000'001)) ==
               "policy: rule 1: its numbers are not those of a continuous bucket (gcra, cell, "
               "token_bucket or leaky_bucket)"); // most
    BOOST_TEST(reason_against(with_number(plain, 0, 1e15))
                   .starts_with("policy: rule 1: full recovery: too long"));
    BOOST_TEST(reason_against(with_number(plain, 0, 0)) != "accepted");
    BOOST_TEST(reason_against(with_number(plain, 3, 1'000)) != "accepted"); // unit
    BOOST_TEST(reason_against(with_number(plain, 8, 1)) != "accepted");     // initial
    const auto log = data_of(policy{"p", sliding_log(12, 7s)}).wire;
    BOOST_TEST(reason_against(with_number(log, 0, 100'001))
                   .starts_with("policy: rule 1: the limit of a sliding log"));
}

BOOST_AUTO_TEST_CASE(a_head_that_no_policy_has_is_refused) {
    const auto with_head = [](char size, char slots, char flags, const std::string& of = plain) {
        return std::string{size, slots, flags} + of.substr(3) + of.substr(3);
    };
    for (const auto& head : {with_head(0, 1, 0), with_head(1, 0, 0), with_head(9, 9, 0),
                             with_head('\xff', '\xff', 0), with_head(1, 3, 0)})
        BOOST_TEST(reason_against(head).starts_with("policy: the number of rules is not valid"));
    BOOST_TEST(reason_against(with_head(1, 1, 6)) == "policy: the flags are not valid (got 6)");
    BOOST_TEST(reason_against(with_head(1, 1, 8)) == "policy: the flags are not valid (got 8)");
    BOOST_TEST(reason_against(with_head(0, 0, 1)) == "policy: the flags are not valid (got 1)");
    BOOST_TEST(reason_against(with_head(2, 2, 0)) ==
               "policy: rule 2: its tag is reserved or that of another rule");
    BOOST_TEST(reason_against(with_head(1, 1, 1)) ==
               "policy: rule 1: it is not a shadow rule, but the policy is");
    BOOST_TEST(reason_against(with_head(1, 2, 0)) != "accepted"); // a bucket is no lockout
    const auto log = data_of(policy{"p", sliding_log(12, 7s)}).wire;
    BOOST_TEST(reason_against(with_head(1, 1, 2, log)) == "policy: rule 1: it cannot be packed");
}

BOOST_AUTO_TEST_CASE(a_rule_with_a_reserved_tag_is_refused) {
    const auto with_lockout = data_of(policy{"p", gcra(12, 7s)}.prevent_duplicate(7s)).compiled;
    for (const auto tag : {std::uint32_t{0}, core::block_tag, with_lockout.all().back().tag}) {
        auto compiled = data_of(policy{"p", gcra(12, 7s)}).compiled;
        compiled.limits[0].tag = tag;
        BOOST_TEST(reason_against(core::encode_policy(compiled)) ==
                   "policy: rule 1: its tag is reserved or that of another rule");
    }
}

BOOST_AUTO_TEST_CASE(places_are_not_combined_with_places_or_members) {
    const auto wire_of = [](const rule& r) { return data_of(policy{"p", r}).wire; };
    const auto places = wire_of(concurrent(3).lease(7s));
    const auto others = wire_of(concurrent(4).lease(7s).named("others"));
    const auto members = wire_of(distinct(3, 7s));
    const auto both = [](const std::string& first, const std::string& second) {
        return std::string{2, 2, 0} + first.substr(3) + second.substr(3);
    };
    BOOST_TEST(reason_against(both(places, plain)) == "accepted");
    BOOST_TEST(reason_against(both(plain, places)) == "accepted");
    for (const auto& second : {others, members})
        for (const auto& wire : {both(places, second), both(second, places)})
            BOOST_TEST(reason_against(wire) ==
                       "policy: rule 2: it cannot be combined with the rules before it");
}

BOOST_AUTO_TEST_CASE(a_kind_that_does_not_exist_is_refused) {
    const auto with_kind = [](std::string bytes, std::size_t slot, char kind) {
        bytes[3 + 86 * slot + 4] = kind;
        return bytes;
    };
    // A lockout is behind the rules, and only a lockout.
    for (const auto kind : {9, 11, 255})
        BOOST_TEST(reason_against(with_kind(plain, 0, static_cast<char>(kind))) ==
                   "policy: rule 1: the kind does not exist (got " + std::to_string(kind) + ")");
    const auto held = data_of(policy{"p", gcra(3, 7s)}.prevent_duplicate(5s)).wire;
    for (auto kind = 0; kind < 256; ++kind)
        if (kind != 9)
            BOOST_TEST(reason_against(with_kind(held, 1, static_cast<char>(kind))) ==
                       "policy: rule 2: its numbers are not those of prevent_duplicate");
}

BOOST_AUTO_TEST_CASE(a_packed_policy_has_the_generation_of_its_rules) {
    auto bytes = data_of(policy{"p", gcra(3, 7s)}.with_storage(storage::shared_hash)).wire;
    for (const auto other : {0.0, 7'000'001.0, 1e300, std::nan("")}) {
        std::memcpy(bytes.data() + bytes.size() - 8, &other, sizeof other);
        BOOST_TEST(reason_against(bytes) == "policy: its generation is not that of its rules");
    }
}

/// What is accepted has the same bytes.
BOOST_AUTO_TEST_CASE(changed_bytes_are_refused_or_those_of_a_policy) {
    auto random = test::rng{7};
    const auto policies = policies_of_every_kind();
    auto accepted = 0;
    for (auto i = 0; i < 50'000; ++i) {
        auto bytes = data_of(policies[random.below(policies.size())].prevent_duplicate(5s)).wire;
        for (auto changes = 1 + random.below(2); changes > 0; --changes)
            bytes[random.below(bytes.size())] = static_cast<char>(random.bits());
        auto rest = std::string_view{bytes};
        try {
            const auto made = core::decode_policy(rest);
            BOOST_TEST(core::encode_policy(made) + std::string{rest} == bytes);
            ++accepted; // a tag, most often
        } catch (const error& e) {
            BOOST_TEST(!e.reason().empty());
        }
    }
    BOOST_TEST(accepted > 100);
}

BOOST_AUTO_TEST_CASE(filters_come_back) {
    for (const auto capacity : {1, 1'000, 12'345'678})
        for (const auto rate : {0.000001, 0.01, 0.5})
            for (const auto ttl :
                 {std::chrono::microseconds{1ms}, std::chrono::microseconds{366 * 24h}}) {
                auto shape = core::make_bloom(capacity, rate, ttl.count());
                const auto made = core::decode_filter(core::encode_filter(shape));
                shape.blocks = 1;
                shape.capacity = 0;
                BOOST_TEST((made == shape));
            }
}

BOOST_AUTO_TEST_CASE(filters_that_do_not_exist_are_refused) {
    const auto filter = [](int words, double ttl, double block) {
        auto bytes = std::string(17, static_cast<char>(words));
        std::memcpy(bytes.data() + 1, &ttl, sizeof ttl);
        std::memcpy(bytes.data() + 9, &block, sizeof block);
        return bytes;
    };
    const auto reason = [](const std::string& bytes) {
        try {
            (void)core::decode_filter(bytes);
        } catch (const error& e) {
            return e.reason();
        }
        return std::string{"accepted"};
    };
    const auto nan = std::nan("");
    BOOST_TEST(reason(filter(7, 1e6, 8 + 28 * 3)) == "accepted");
    for (const auto& bad :
         {filter(7, 1e6, 8 + 28 * 3 + 4), filter(7, 999, 36), filter(7, 1e300, 36),
          filter(7, nan, 36), filter(7, 1000.5, 36), filter(7, 1e6, 8), filter(7, 1e6, nan),
          filter(7, 1e6, 1'048'516), filter(7, 1e6, -36)})
        BOOST_TEST(reason(bad) == "filter: its numbers are not those of a filter");
    for (const auto words : {0, 25, 255})
        BOOST_TEST(reason(filter(words, 1e6, 8 + 28 * 3))
                       .starts_with("filter: the words of a line are not valid"));
    BOOST_TEST(reason(filter(7, 1e6, 36) + "x").starts_with("filter: the size is not valid"));
    BOOST_TEST(reason("").starts_with("filter: the size is not valid"));
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()
