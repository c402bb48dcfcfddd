// SPDX-License-Identifier: BSL-1.0
//
// colimit inspect: everything that is known of a key, without a change.

#include <colimit/detail/access.hpp>
#include <policy/policy_data.hpp>
#include <tool/commands/key_call.hpp>
#include <tool/commands/table.hpp>
#include <tool/frame/decision_text.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/policy_options.hpp>
#include <tool/frame/server_options.hpp>
#include <tool/frame/service_key.hpp>
#include <tool/frame/time_text.hpp>
#include <tool/frame/with_limiter.hpp>
#include <tool/server/servers.hpp>
#include <tool/stored/lookup.hpp>
#include <tool/stored/other_storage.hpp>
#include <tool/stored/recovery.hpp>

#include <boost/json/array.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tool {
namespace {

constexpr std::size_t holders_in_text = 20;

[[nodiscard]] std::string place_text(const found_place& f, std::int64_t now) {
    auto text = "  " + std::string{to_string(f.where.holds)} + " in " + shown(f.where.redis_key);
    text += f.ttl_ms < 0 ? ", does not expire"
                         : ", expires in " + time_text(std::chrono::milliseconds{f.ttl_ms});
    if (f.bytes && f.where.holds != holding::shard)
        text += ", " + counted(static_cast<std::size_t>(*f.bytes), "byte");
    if (f.count)
        text += ", " + std::to_string(*f.count) + " counted";
    text += f.is_foreign ? ", not a value that colimit wrote\n" : "\n";
    const auto shown = std::min(f.holders.size(), holders_in_text);
    for (const auto& h : std::span{f.holders}.first(shown))
        text += "    holder " + h.id + ": its lease ends in " +
                time_text(std::chrono::microseconds{h.left}) + '\n';
    if (f.count && shown > 0 && static_cast<std::size_t>(*f.count) > shown)
        text +=
            "    and others, " + std::to_string(static_cast<std::size_t>(*f.count) - shown) + '\n';
    if (now == 0)
        return text;
    for (const auto& s : f.slots)
        text += "    " + slot_text(s, now) + '\n';
    return text;
}

[[nodiscard]] boost::json::array places_value(const std::vector<found_place>& all) {
    auto places = boost::json::array{};
    for (const auto& f : all) {
        auto slots = boost::json::array{};
        for (const auto& s : f.slots)
            slots.push_back(boost::json::object{{"tag", s.tag},
                                                {"rule", name_of_tag(s.tag)},
                                                {"num", s.num},
                                                {"capacity", s.capacity},
                                                {"t", s.t},
                                                {"debt", s.debt}});
        auto holders = boost::json::array{};
        for (const auto& h : f.holders)
            holders.push_back(boost::json::object{{"id", h.id}, {"lease_ends_us", h.end}});
        auto one = boost::json::object{{"policy", json_text(f.policy)},
                                       {"holds", to_string(f.where.holds)},
                                       {"redis_key", json_text(f.where.redis_key)},
                                       {"expires_after_ms", nullptr},
                                       {"bytes", nullptr},
                                       {"count", nullptr},
                                       {"is_foreign", f.is_foreign},
                                       {"slots", std::move(slots)},
                                       {"holders", std::move(holders)}};
        if (f.ttl_ms >= 0)
            one["expires_after_ms"] = f.ttl_ms;
        if (f.bytes && f.where.holds != holding::shard)
            one["bytes"] = *f.bytes;
        if (f.count)
            one["count"] = *f.count;
        places.push_back(std::move(one));
    }
    return places;
}

struct inspect_options {
    std::string key;
    server_options server;
    policy_options what;
    std::uint64_t budget = 1'000'000;
    const CLI::Option* scan = nullptr;

    void declare(CLI::App& app) {
        app.add_option("KEY", key, key_meaning)->required();
        what.declare(app);
        what.declare_packed(app);
        server.declare(app);
        server.declare_tags(app);
        server.declare_calls(app);
        scan = app.add_option("--scan", budget,
                              "Without a policy: the number of keys of each server to examine")
                   ->type_name("N")
                   ->check(whole_number(1, 1'000'000'000'000))
                   ->capture_default_str();
    }

    int run(output& out) const {
        if (!what.is_given())
            return inspect_all(out);
        refuse_given(scan, "only without a policy, which says where its states are");
        return inspect_policies(out);
    }

    [[nodiscard]] colimit::redis::key_tags tags() const {
        return colimit::redis::key_tags{server.hash_tags};
    }

    int inspect_policies(output& out) const {
        const auto [limited, others] = what.all_limited(key);
        require_use_of_prefix(server.prefix_option, limited);
        servers at{server.config()};
        for (const auto& each : limited) {
            if (!what.rules.empty() && server.mode != "multi")
                require_no_other_storage(at, each, server.prefix, tags());
            require_no_other_mode(at, each, server.prefix, tags(), server.mode == "multi");
        }
        const auto recoveries = recoveries_of(server.config(), limited);
        auto code = exit_allowed;
        for (std::size_t i = 0; i < limited.size(); ++i) {
            const auto& [p, own] = limited[i];
            const auto found =
                look_up(at, std::string{p.name()},
                        places_of(p, own, server.prefix, tags(), server.mode == "multi"));
            if (!recoveries[i].now.allowed())
                code = exit_denied;
            print(out, limited[i], recoveries[i], found);
        }
        print(out, others);
        return code;
    }

    /// Says that the key is not all that limits this client.
    static void print(output& out, const std::vector<limited_keys::other>& others) {
        for (const auto& o : others)
            if (out.is_json())
                out.object({{"policy", o.policy}, {"keys_of_form", o.form}});
            else
                out.text("not examined: policy " + o.policy + ", whose keys are " + shown(o.form) +
                         '\n');
    }

    static void print(output& out, const limited_key& limited, const recovery& r,
                      const std::vector<found_place>& found) {
        const auto& [p, key] = limited;
        if (out.is_json()) {
            auto object = decision_object(key, p, r.now);
            add_returns(object, r);
            object.emplace("stored", places_value(found));
            return out.object(object);
        }
        auto text =
            shown(key) + " under policy " + std::string{p.name()} + ": " + recovery_text(p, r);
        for (const auto& f : found)
            text += place_text(f, 0);
        out.text(found.empty() ? text + "  nothing is stored, so all of the limit is left\n"
                               : text);
    }

    int inspect_all(output& out) const {
        for (const auto* const option : server.of_calls)
            refuse_given(option, "only with a policy, as the search makes no calls and finds the "
                                 "states of all modes");
        const auto own = service_key(key);
        servers at{server.config()};
        const auto result = search(at, own, server.prefix, tags(), budget);
        at.require_all_keys();
        if (out.is_json()) {
            out.object({{"key", json_text(own)},
                        {"is_complete", result.is_complete},
                        {"stored", places_value(result.found)}});
            return exit_allowed;
        }
        std::string text;
        for (const auto& f : result.found)
            text += "policy " + shown(f.policy) + ":\n" +
                    place_text(f, at.time(at.of(f.where.redis_key)));
        if (result.found.empty())
            text = (result.is_complete ? "nothing is stored for " : "nothing was found for ") +
                   shown(own) + " with " + server.place_text(server.prefix) +
                   ", under any policy; keys with more parts, such as " + shown(own) +
                   ";route=PATH, are others and were not searched\n";
        if (!result.is_complete)
            text += "not all keys were examined: a larger --scan, or --policies, finds more\n";
        out.text(text);
        return exit_allowed;
    }
};

} // namespace

command inspect_command() {
    return {
        .name = "inspect",
        .summary = "Show the state of a key: what is left, when tokens come back, what is stored",
        .text =
            {"With a policy, or all policies of a file: the decision that a check of cost 1 "
             "would get, and for each rule how much is left and when tokens come back. The "
             "exit code is 1 if a policy would deny the check. Policies of the file that have keys "
             "of another form, such as user=42;route=/login, are named: they may deny the client, "
             "too.",
             "Without a policy: everything that is stored for the key under any policy, with this "
             "--prefix and --hash-tags and in the database of the address, is searched by SCAN, "
             "which examines all keys of a server in pages of 1,000 and "
             "delays no call for longer than a page. A key with more parts is another key. What is "
             "stored does not say how fast a "
             "rule recovers, nor the names of rules except those of rules without a name.",
             "Charges and writes nothing."},
        .examples = {{"inspect user=42 --policies policies.json", "under every policy of a file"},
                     {"inspect user=42 --rule '5/m; 100/h' --json",
                      "under two rules, for a script"},
                     {"inspect user=42", "which limits does this key have at all?"}},
        .json = R"({"command": "inspect", "key": "user=42", "policy": "5-m",
 "outcome": "denied", "reason": "rule", "limiting_rule": "gcra",
 "granted": 0, "limit": 5, "remaining": 0, "retry_after_us": 11990568,
 "reset_after_us": 59990568, "server_time_us": 1795771558730690,
 "rules": [{"name": "gcra", "rule": "5/m", "limit": 5, "balance": 0,
            "retry_after_us": 11990568, "reset_after_us": 59990568,
            "returns": [{"tokens": 1, "after_us": 11990568}]}],
 "stored": [{"policy": "5-m", "holds": "state",
             "redis_key": "colimit:{2i}:5-m:k:user=42",
             "expires_after_ms": 82590, "bytes": 120, "count": null,
             "is_foreign": false,
             "slots": [{"tag": 1527487298, "rule": "gcra", "num": 12000000,
                        "capacity": 5, "t": 1795771558721258,
                        "debt": 60000000}], "holders": []}]}
{"command": "inspect", "policy": "login",
 "keys_of_form": "user=VALUE|ip=ADDRESS;route=/login"}
{"command": "inspect", "key": "job", "is_complete": true,
 "stored": [{"policy": "jobs", "holds": "holders",
             "redis_key": "colimit:{1p}:jobs:sk:job",
             "expires_after_ms": 3600000, "bytes": 144, "count": 1,
             "is_foreign": false, "slots": [],
             "holders": [{"id": "666972737401ff",
                          "lease_ends_us": 1795775106442690}]}]})",
        .declare = declaration_of<inspect_options>()};
}

} // namespace tool
