// SPDX-License-Identifier: BSL-1.0
//
// Diagnostics as text.

#include <base/enumerator.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/log.hpp>

#include <ostream>

namespace colimit {

std::string_view to_string(phase p) noexcept {
    return name_of(p, {"resolve", "connect", "TLS", "handshake", "script", "reply"});
}

std::string_view to_string(health_state s) noexcept {
    return name_of(s, {"connecting", "ready", "degraded", "refused", "closed"});
}

std::string_view to_string(log_level l) noexcept {
    return name_of(l, {"warning", "info", "debug"});
}

std::string to_string(const problem& p) {
    auto out = std::string{to_string(p.phase)};
    out.append(": ").append(make_error_code(p.code).message());
    if (!p.text.empty())
        out.append(": ").append(p.text);
    if (p.count > 1)
        out.append(" (").append(std::to_string(p.count)).append(" times)");
    return out;
}

std::string_view to_string(event_kind k) noexcept {
    return name_of(k, {"connected", "disconnected", "breaker opened", "breaker closed",
                       "fallback started", "fallback ended", "script loaded", "permission denied",
                       "filter over capacity"});
}

std::string to_string(const event& e) {
    auto out = std::string{to_string(e.kind)};
    if (e.cause)
        out.append(": ").append(to_string(*e.cause));
    if (!e.filter.empty())
        out.append(": ").append(e.filter);
    return out;
}

std::ostream& operator<<(std::ostream& out, phase p) {
    return out << to_string(p);
}

std::ostream& operator<<(std::ostream& out, health_state s) {
    return out << to_string(s);
}

std::ostream& operator<<(std::ostream& out, const problem& p) {
    return out << to_string(p);
}

std::ostream& operator<<(std::ostream& out, event_kind k) {
    return out << to_string(k);
}

std::ostream& operator<<(std::ostream& out, const event& e) {
    return out << to_string(e);
}

} // namespace colimit
