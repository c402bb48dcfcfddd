// SPDX-License-Identifier: BSL-1.0
//
// The commands of the simulated Redis server.

#include <scenario/fake_redis.hpp>

#include <redis/protocol/hash_slot.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace colimit::scenario {

namespace fake = test::fake;
namespace resp = redis::resp;
using simulation::words;

namespace {

constexpr std::int64_t per_command = 5; ///< microseconds
constexpr std::int64_t per_script = 40;

[[nodiscard]] std::string lower(std::string_view text) {
    auto made = std::string{text};
    std::ranges::transform(made, made.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return made;
}

template<std::size_t N>
[[nodiscard]] bool is_one_of(std::string_view name,
                             const std::array<std::string_view, N>& of) noexcept {
    return std::ranges::find(of, name) != of.end();
}

void append_reply(std::string& out, const fake::reply& r) {
    switch (r.kind) {
    case fake::reply_kind::nil:
        out.append("$-1\r\n");
        return;
    case fake::reply_kind::text:
        return resp::append_bulk(out, r.text);
    case fake::reply_kind::status:
        out.append("+").append(r.text).append("\r\n");
        return;
    case fake::reply_kind::error:
        return simulation::append_error(out, r.text);
    case fake::reply_kind::integer:
        return simulation::append_integer(out, r.number);
    case fake::reply_kind::array:
        resp::append_array(out, r.elements.size());
        for (const auto& e : r.elements)
            append_reply(out, e);
    }
}

/// The rules of a cluster of one node.
class whole_cluster final : public simulation::slot_rules {
    std::string refusal(const simulation::redis_node&, words keys, bool) override {
        const auto slot = redis::hash_slot(keys.front());
        const auto is_one =
            std::ranges::all_of(keys, [slot](auto key) { return redis::hash_slot(key) == slot; });
        return is_one ? "" : "CROSSSLOT Keys in request don't hash to the same slot";
    }
    std::string info(const simulation::redis_node&) override {
        return "cluster_state:ok\r\ncluster_current_epoch:1\r\n";
    }
    std::string slots(const simulation::redis_node& at) override {
        auto out = std::string{"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n"};
        resp::append_bulk(out, at.address().host);
        simulation::append_integer(out, at.address().port);
        return out;
    }
};

constexpr std::string_view read_only = "READONLY You can't write against a read only replica.";

} // namespace

fake_redis::fake_redis(simulation::network& of, simulation::place where,
                       simulation::slot_rules* rules)
    : script_node(of, where, rules) {}

std::string fake_redis::url(std::string_view credentials, std::string_view scheme) const {
    return std::string{scheme}.append(credentials) + address().host + ':' +
           std::to_string(address().port);
}

void fake_redis::serve_all_slots() {
    own_rules_ = std::make_unique<whole_cluster>();
    rules_ = own_rules_.get();
}

void fake_redis::clear() {
    if (!keeps_data)
        script_node::clear();
}

void fake_redis::lose_connections() {
    for (const auto& c : net().connections_of(*this))
        c->fall_silent();
}

void fake_redis::fall_silent() {
    lose_connections();
    cut_until = simulation::never / 4;
}

std::string fake_redis::run(std::initializer_list<std::string_view> command) {
    auto own = simulation::session{};
    auto out = std::string{};
    (void)perform(own, lower(*command.begin()), words{command.begin(), command.size()}, out);
    return out;
}

std::int64_t fake_redis::calls_of(std::string_view command) const {
    const auto found = calls_.find(command);
    return found == calls_.end() ? 0 : found->second;
}

void fake_redis::on_connect() {
    connections_ += is_up ? 1 : 0;
    attempts.emplace_back(os().now());
}

/// As Redis 7 does: some commands are executed whatever its condition.
std::string fake_redis::refusal(const simulation::session& of, const std::string& name,
                                words command) const {
    constexpr auto always =
        std::array<std::string_view, 5>{"hello", "auth", "multi", "exec", "discard"};
    constexpr auto unless_busy =
        std::array<std::string_view, 6>{"info", "role", "client", "select", "time", "echo"};
    if (!password.empty() && !of.is_authenticated && name != "hello" && name != "auth")
        return "NOAUTH Authentication required.";
    if (denied.contains(name))
        return "NOPERM User default has no permissions to run the '" + name + "' command";
    if (refuses)
        if (auto error = refuses(command); !error.empty())
            return error;
    const auto is_busy = condition.starts_with("BUSY");
    if (condition.empty() || is_one_of(name, always) || (!is_busy && is_one_of(name, unless_busy)))
        return {};
    return condition;
}

std::int64_t fake_redis::execute(simulation::session& of, words command, std::string& out) {
    const auto name = lower(command[0]);
    log.push_back(name);
    if (const auto error = refusal(of, name, command); !error.empty()) {
        ++refusals_;
        of.is_aborted = of.is_aborted || of.is_in_transaction;
        simulation::append_error(out, error);
        return per_command;
    }
    ++calls_[name];
    return perform(of, name, command, out);
}

std::int64_t fake_redis::perform(simulation::session& of, const std::string& name, words command,
                                 std::string& out) {
    server_.is_full = is_full;
    server_.denied = denied;
    if (of.is_in_transaction || name == "multi" || name == "exec") {
        run_transaction(of, name, command, out);
        return per_command;
    }
    if (greet_client(of, name, command, out))
        return per_command;
    if (run_script(of, command, out))
        return per_script;
    run_data(name, command, out);
    return per_command;
}

void fake_redis::authenticate(simulation::session& of, std::string_view given, std::string& out) {
    of.is_authenticated = given == password;
    if (!of.is_authenticated)
        simulation::append_error(out,
                                 "WRONGPASS invalid username-password pair or user is disabled.");
}

bool fake_redis::greet_client(simulation::session& of, const std::string& name, words command,
                              std::string& out) {
    if (name == "hello") {
        if (command.size() > 4)
            authenticate(of, command[4], out);
        else if (!password.empty())
            simulation::append_error(out, "NOAUTH HELLO must be called with the client already "
                                          "authenticated, otherwise the HELLO <proto> AUTH "
                                          "<user> <pass> option can be used");
        if (out.empty())
            simulation::append_hello(out, mode());
    } else if (name == "auth") {
        authenticate(of, command.back(), out);
        if (of.is_authenticated)
            out.append("+OK\r\n");
    } else if (name == "role" && is_read_only) {
        simulation::append_texts(out, {"slave", "10.0.9.9", "6379", "connect", "0"});
    } else if (name == "echo") {
        resp::append_bulk(out, command[1]);
    } else if (name == "client") {
        simulation::append_integer(out, connections_);
    } else if (name == "time") {
        const auto now = clock();
        simulation::append_texts(out, {std::to_string(now / simulation::second),
                                       std::to_string(now % simulation::second)});
    } else {
        return greet(of, command, out);
    }
    return true;
}

void fake_redis::run_transaction(simulation::session& of, const std::string& name, words command,
                                 std::string& out) {
    if (name == "multi") {
        of.is_in_transaction = true;
        of.is_aborted = false;
        of.queued.clear();
        out.append("+OK\r\n");
        return;
    }
    if (name != "exec") {
        auto error = refusal_of_data(name);
        if (command.size() < 2)
            error = "ERR wrong number of arguments for '" + name + "' command";
        if (!error.empty()) {
            of.is_aborted = true;
            return simulation::append_error(out, error);
        }
        of.queued.emplace_back(command.begin(), command.end());
        out.append("+QUEUED\r\n");
        return;
    }
    of.is_in_transaction = false;
    const auto all = std::exchange(of.queued, {});
    if (of.is_aborted)
        return simulation::append_error(
            out, "EXECABORT Transaction discarded because of previous errors.");
    resp::append_array(out, all.size());
    for (const auto& one : all) {
        const auto views = std::vector<std::string_view>{one.begin(), one.end()};
        run_data(lower(one[0]), views, out);
    }
}

std::string fake_redis::refusal_of_data(const std::string& name) const {
    using enum fake::command_effect;
    const auto effect = fake::effect_of(name).value_or(reads);
    if (refuses_writes() && effect >= writes)
        return std::string{read_only};
    if (is_full && effect == grows)
        return "OOM command not allowed when used memory > 'maxmemory'.";
    return {};
}

void fake_redis::run_data(const std::string& name, words command, std::string& out) {
    if (const auto error = refusal_of_data(name); !error.empty())
        return simulation::append_error(out, error);
    const auto words = simulation::owned(command);
    apply_writes(os().now());
    if (const auto done = keys().execute(words)) {
        if (done->kind != fake::reply_kind::error)
            send_to_replicas(words);
        return append_reply(out, *done);
    }
    simulation::append_error(out, "ERR unknown command '" + std::string{command[0]} +
                                      "', with args beginning with: ");
}

} // namespace colimit::scenario
