// SPDX-License-Identifier: BSL-1.0
//
// A server on which scripts cannot run, and calls to it with MULTI.

#pragma once

#include "stores.hpp"

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::test {

struct scriptless {
    redis_server server{{.arguments = {"--rename-command", "EVAL", "", "--rename-command",
                                       "EVALSHA", "", "--rename-command", "SCRIPT", ""}}};
    raw_client look = server.connect();

    [[nodiscard]] live open(int resp = 3) const {
        return live{server.address(), [resp](config& c) {
                        c.advanced.mode = execution_mode::multi;
                        c.timeout = std::chrono::seconds{10}; // deadlines are the subject of others
                        c.advanced.min_key_ttl = for_supplied_clocks;
                        c.advanced.resp_version = resp;
                    }};
    }

    /// Where the state of a key in a family is; its events by default.
    [[nodiscard]] static std::string name_of(const policy& p, std::string_view key,
                                             std::string_view family = "t") {
        auto name = test::name_of(p, key);
        return name.insert(name.rfind("k:" + std::string{key}), family);
    }
    [[nodiscard]] std::int64_t events(const policy& p, std::string_view key) {
        return look.must({"ZCARD", name_of(p, key)}).integer;
    }
};

/// A call's answer; an error is a failure of the test.
template<class Call>
decision must(live& l, Call call) {
    auto answer = std::optional<decision>{};
    call([&answer](error_code ec, const decision& d) {
        BOOST_TEST_REQUIRE(!ec, ec.message());
        answer = d;
    });
    run_until(l.context, [&] { return answer.has_value(); });
    return *answer;
}

template<class Call>
error_code code_of(live& l, Call call) {
    auto code = std::optional<error_code>{};
    call([&code](error_code ec, const decision&) { code = ec; });
    run_until(l.context, [&] { return code.has_value(); });
    return *code;
}

inline decision allow(live& l, std::string_view key, const policy& p, const check_options& o = {}) {
    return must(l, [&](auto h) { l.limiter.allow(key, p, o, h); });
}

} // namespace colimit::test
