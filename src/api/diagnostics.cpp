// SPDX-License-Identifier: BSL-1.0
//
// Diagnostics as text.

#include <colimit/diagnostics.hpp>

#include <ostream>

namespace colimit {

std::string_view to_string(phase p) noexcept {
    switch (p) {
    case phase::resolve:
        return "resolve";
    case phase::connect:
        return "connect";
    case phase::tls:
        return "TLS";
    case phase::handshake:
        return "handshake";
    case phase::script:
        return "script";
    case phase::reply:
        break;
    }
    return "reply";
}

std::string_view to_string(health_state s) noexcept {
    switch (s) {
    case health_state::connecting:
        return "connecting";
    case health_state::ready:
        return "ready";
    case health_state::degraded:
        return "degraded";
    case health_state::refused:
        return "refused";
    case health_state::closed:
        break;
    }
    return "closed";
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
    switch (k) {
    case event_kind::connected:
        return "connected";
    case event_kind::disconnected:
        return "disconnected";
    case event_kind::breaker_opened:
        return "breaker opened";
    case event_kind::breaker_closed:
        return "breaker closed";
    case event_kind::fallback_started:
        return "fallback started";
    case event_kind::fallback_ended:
        return "fallback ended";
    case event_kind::script_loaded:
        return "script loaded";
    case event_kind::permission_denied:
        break;
    }
    return "permission denied";
}

std::string to_string(const event& e) {
    auto out = std::string{to_string(e.kind)};
    if (e.cause)
        out.append(": ").append(to_string(*e.cause));
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
