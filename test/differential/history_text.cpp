// SPDX-License-Identifier: BSL-1.0
//
// A history as people read it.

#include "history.hpp"
#include "sent_batch.hpp"

#include <ostream>
#include <string_view>

namespace colimit::differential {
namespace {

using core::verb;

[[nodiscard]] std::string_view name(verb v) {
    constexpr std::string_view names[] = {"allow", "peek",    "charge",  "refund",
                                          "reset", "block",   "reserve", "unreserve",
                                          "once",  "acquire", "renew",   "release"};
    return names[static_cast<std::size_t>(v)];
}

void print_version(std::ostream& out, const policy& p) {
    for (const auto& r : p.rules())
        out << "    " << to_string(r) << '\n';
    if (detail::access::options(p).prevent_duplicate != 0)
        out << "    prevent_duplicate " << detail::access::options(p).prevent_duplicate << " us\n";
    if (detail::access::options(p).storage == storage::shared_hash)
        out << "    packed\n";
    if (detail::access::options(p).shadow)
        out << "    shadow\n";
}

/// Where states are packed, in which place of the key's row something happens.
void print_place(std::ostream& out, const history& h, const step& s) {
    constexpr std::string_view names[] = {"in the new hash, ", "in the old hash, ",
                                          "in the new hash's head, "};
    if (h.packed)
        out << names[static_cast<std::size_t>(s.place)];
}

void print_calls(std::ostream& out, const step& s) {
    const auto together = s.kind == step_kind::together;
    if (together)
        out << "all or nothing";
    else
        out << "policy " << s.calls.front().version + 1;
    if (const auto now = s.calls.front().request.now; now != detail::store_clock)
        out << " at " << now;
    out << ":\n";
    for (const auto& c : s.calls) {
        out << "    key " << c.key << ' ' << name(c.request.verb);
        if (together)
            out << " by policy " << c.version + 1;
        if (c.request.verb != verb::reset)
            out << " cost " << c.request.cost;
        if (c.request.at_least != c.request.cost)
            out << " at least " << c.request.at_least;
        out << " of " << c.request.member;
        if (c.request.has_id)
            out << ", as " << c.request.id;
        if (c.further != 0)
            out << ", and a lease of " << c.further;
        out << '\n';
    }
}

} // namespace

std::ostream& operator<<(std::ostream& out, const history& h) {
    for (std::size_t i = 0; i < h.versions.size(); ++i) {
        out << "policy " << i + 1 << ":\n";
        print_version(out, h.versions[i]);
    }
    for (std::size_t i = 0; i < h.steps.size(); ++i) {
        const auto& s = h.steps[i];
        out << i + 1 << ". ";
        if (!s.calls.empty()) {
            print_calls(out, s);
        } else if (s.kind == step_kind::pause) {
            out << s.milliseconds << " ms pass\n";
        } else if (s.kind == step_kind::plant) {
            print_place(out, h, s);
            out << "key " << s.key << " is set to " << hex(s.bytes) << '\n';
        } else {
            print_place(out, h, s);
            out << "key " << s.key
                << (s.kind == step_kind::remove ? " is deleted\n" : " becomes a list\n");
        }
    }
    return out;
}

} // namespace colimit::differential
