// SPDX-License-Identifier: BSL-1.0
//
// A command that makes one call for one key: its common options, and what it prints.

#pragma once

#include <tool/frame/command.hpp>
#include <tool/frame/policy_options.hpp>
#include <tool/frame/server_options.hpp>
#include <tool/stored/other_storage.hpp>

#include <colimit/limiter.hpp>
#include <colimit/options.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tool {

/// The help of KEY.
inline constexpr auto key_meaning =
    "The key, as the application passes it to the limiter: user=42, ip=192.0.2.7. With --policies "
    "the address of a client becomes that of its key: ip=2001:db8::7 of the network "
    "ip=2001:db8::/64. Without, an IPv6 address needs the length of its prefix";

/// Returns an example of what `--json` prints, with the name of the command.
[[nodiscard]] std::string decision_json(const std::string& command);

struct key_call {
    std::string key;
    server_options server;
    policy_options what;
    std::optional<std::string> request;             ///< of the commands that declare it
    const CLI::Option* request_option = nullptr;    ///< null: of the others
    std::string_view instead_of_packed = or_packed; ///< what a message expects

    /// Declares KEY and the options of a policy and a server.
    void declare(CLI::App& app);
    /// Declares `--request`.
    void declare_request(CLI::App& app);

    using verb = std::function<boost::asio::awaitable<colimit::decision>(colimit::limiter&,
                                                                         const limited_key&)>;
    /// Makes the call, prints the decision, and returns whether it is allowed as an exit code. If
    /// the service has the key in another form than it was given in, that is printed, too.
    /// @param cost of a call that accepts a part of it: how much is granted is printed, too
    int ask(output& out, const verb& make, std::optional<std::int64_t> cost) const;
    /// Returns why a call that succeeded has changed nothing, from a peek before it and its
    /// decision; empty if it has changed something.
    using reason = std::function<std::string(const limited_key&, const colimit::decision& before,
                                             const colimit::decision& after)>;
    /// Makes the call and prints what is left. Returns 0.
    /// @param done what the call has done: `charged`
    /// @param cost how many tokens, of which the rules may have counted fewer
    int change(output& out, const std::string& done, const verb& make, const reason& why_not,
               std::optional<std::int64_t> cost = std::nullopt) const;
    /// The reason of calls that give back what was used: if nothing was, as of a key that no
    /// service has, all that decides where a state is.
    [[nodiscard]] std::string nothing_used(const limited_key& limited,
                                           const colimit::decision& before,
                                           const colimit::decision& after) const;

  private:
    /// Returns whether a call with this id was made before: its decision is that of then, which is
    /// older than a peek.
    [[nodiscard]] bool is_repeated(const colimit::decision& before,
                                   const colimit::decision& d) const noexcept;
    /// Returns the beginning of the text: the key, if it is another one than was given.
    [[nodiscard]] std::string key_text(const limited_key& limited) const;
    /// Checks that the state is where the call looks for it.
    void check_place(servers& at, const limited_key& limited) const;
    /// Returns the strings of other programs that a call replaces or deletes, as text; empty if
    /// there are none.
    [[nodiscard]] std::string replaced_by_call(servers& at, const limited_key& limited) const;
    [[nodiscard]] colimit::redis::key_tags tags() const {
        return colimit::redis::key_tags{server.hash_tags};
    }
};

/// The options of `check` and `peek`.
struct check_call : key_call {
    void declare(CLI::App& app);
    /// Returns the options with those that are given.
    [[nodiscard]] colimit::check_options options(const colimit::policy& p) const;
    int ask(output& out, const verb& make) const {
        return key_call::ask(out, make, at_least_ ? std::optional{cost_} : std::nullopt);
    }

  private:
    std::int64_t cost_ = 1;
    std::optional<std::int64_t> at_least_;
    std::optional<std::string> member_;
};

/// Declares `--cost`.
/// @param least of which a call has an effect
void declare_cost(CLI::App& app, std::int64_t& cost, const std::string& meaning,
                  std::int64_t least);
/// Declares `--member`.
void declare_member(CLI::App& app, std::optional<std::string>& member);
/// @throws std::runtime_error if a member is given, and no rule counts members
void require_use_of(const std::optional<std::string>& member, const colimit::policy& p);
/// @throws std::runtime_error if `--prefix` is given, and every policy has a prefix of its own
void require_use_of_prefix(const CLI::Option* prefix, std::span<const limited_key> limited);

} // namespace tool
