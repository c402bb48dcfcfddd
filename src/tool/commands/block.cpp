// SPDX-License-Identifier: BSL-1.0
//
// colimit block: denies all calls for a key for a time.

#include <colimit/detail/access.hpp>
#include <rule_text/times.hpp>
#include <tool/commands/table.hpp>
#include <tool/frame/key_call.hpp>

#include <stdexcept>

namespace tool {
namespace {

struct block_options : key_call {
    void declare(CLI::App& app) {
        key_call::declare(app);
        app.add_option("--for", length, "For how long, up to 100 years: 90s, 15m, 24h")
            ->type_name("DURATION")
            ->required();
    }
    int run(output& out) {
        const auto time = std::chrono::microseconds{colimit::text::parse_duration(length)};
        if (time.count() == 0)
            throw std::runtime_error{"--for: nothing would be blocked (got " + length +
                                     ", expected 1us to 100 years); colimit reset lifts a block"};
        return change(out, "blocked for " + length,
                      [&](colimit::limiter& l,
                          const limited_key& k) -> boost::asio::awaitable<colimit::decision> {
                          if (colimit::detail::access::options(k.limit).shadow)
                              throw std::runtime_error{
                                  "policy '" + std::string{k.limit.name()} +
                                  "' is in shadow mode, so no call would be denied (expected a "
                                  "policy that denies)"};
                          co_return co_await l.block(k.key, k.limit, time);
                      });
    }

    std::string length;
};

} // namespace

command block_command() {
    return {
        .name = "block",
        .summary = "Deny all calls for a key for a time",
        .text = {"Denies every call for the key under the policy, whatever its rules say. A block "
                 "that lasts longer stays; colimit reset lifts it. Not with packed storage."},
        .examples = {{"block ip=2001:db8::7 --policies policies.json --policy api --for 1h",
                      "denies a client for an hour: the network that the document counts by"},
                     {"block ip=192.0.2.7 --rule 100/m --for 1h",
                      "under a rule, with the key that the application has"}},
        .declare = declaration_of<block_options>()};
}

} // namespace tool
