// SPDX-License-Identifier: BSL-1.0
//
// The state of a source, its events, and SIGHUP.

#include <base/bytes.hpp>
#include <colimit/detail/access.hpp>
#include <policy/policy_data.hpp>
#include <policy_json/document.hpp>
#include <policy_source/source_core.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::detail {

namespace asio = boost::asio;

namespace {

/// Escapes control characters, which the path of a file may have.
[[nodiscard]] std::string printable(std::string_view text) {
    auto out = std::string{};
    for (const auto c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code >= 0x20 && code != 0x7f)
            out += c;
        else
            out += {'\\', 'x', hex_digits[code >> 4U], hex_digits[code & 15U]};
    }
    return out;
}

/// Counts the routes that have a policy which may deny.
void count_routes(const policy_document& d, policy_status& to) noexcept {
    const auto may_deny = [](const keyed_policy& p) { return access::data(p.limit)->may_deny(); };
    to.limiting_routes = 0;
    to.unlikely_routes = 0;
    for (std::size_t i = 0; i < d.routes().size(); ++i)
        if (std::ranges::any_of(d.policies_of(i), may_deny))
            ++(json::is_unlikely(d, i) ? to.unlikely_routes : to.limiting_routes);
}

/// Returns what an event says about a document that limits less than it seems to, or nothing.
[[nodiscard]] std::string remark_on(const policy_status& s) {
    if (s.unlikely_routes == 0)
        return s.limiting_routes == 0 ? ", in which no route has a policy that may deny" : "";
    return ", in which hardly any request matches " + std::to_string(s.unlikely_routes) + " of " +
           std::to_string(s.unlikely_routes + s.limiting_routes) +
           " routes with a policy that may deny (colimit lint says why)";
}

} // namespace

source_core::source_core(asio::any_io_executor executor, const policy_source_options& options)
    : executor_(std::move(executor)), own_executor_(asio::make_strand(executor_)) {
    using function = std::function<void(const policy_event&)>;
    if (options.on_event)
        on_event_ = std::make_shared<const function>(options.on_event);
    if (options.reload_on_hangup)
        hangups_.emplace(own_executor_, SIGHUP);
}

void source_core::open(std::unique_ptr<origin> from) {
    const std::lock_guard guard{lock_};
    origin_ = std::move(from);
    origin_->open();
    await_hangup();
}

void source_core::close() noexcept {
    const std::lock_guard guard{lock_};
    if (std::exchange(is_closed_, true))
        return;
    origin_->close();
    auto ignored = error_code{};
    if (hangups_)
        (void)hangups_->cancel(ignored);
}

/// Calls that come before the executor has run are one.
void source_core::reload() {
    if (is_reload_due_.exchange(true))
        return;
    try {
        asio::post(own_executor_, [self = shared_from_this()] {
            const std::lock_guard guard{self->lock_};
            self->is_reload_due_ = false;
            if (!self->is_closed_)
                self->origin_->reload();
        });
    } catch (...) {
        is_reload_due_ = false;
        throw;
    }
}

void source_core::await_hangup() {
    if (!hangups_)
        return;
    hangups_->async_wait([self = shared_from_this()](error_code ec, int /*signal*/) {
        const std::lock_guard guard{self->lock_};
        if (ec || self->is_closed_)
            return;
        self->await_hangup();
        self->origin_->reload();
    });
}

std::shared_ptr<const policy_document> source_core::current() const {
    const std::lock_guard guard{mutex_};
    return in_force_;
}

policy_status source_core::status() const {
    const std::lock_guard guard{mutex_};
    return status_;
}

void source_core::take(policy_document fresh, std::string_view from, std::string_view remark) {
    auto made = std::make_shared<const policy_document>(std::move(fresh));
    auto what = policy_event{.kind = policy_event_kind::loaded,
                             .at = std::chrono::system_clock::now(),
                             .version = made->version(),
                             .text = printable(from)};
    {
        const std::lock_guard guard{mutex_};
        auto next = status_; // without memory for all of this the old document stays
        next.origin = what.text;
        count_routes(*made, next);
        what.text += remark_on(next).append(remark);
        next.version = what.version;
        next.since = what.at;
        ++next.loads;
        next.problem.reset();
        in_force_.swap(made); // the last reference to the old one may end below
        status_ = std::move(next);
    }
    send(std::move(what));
}

void source_core::report(policy_event_kind kind, std::optional<std::int64_t> version,
                         std::string_view text) {
    auto what = policy_event{.kind = kind,
                             .at = std::chrono::system_clock::now(),
                             .version = version,
                             .text = printable(text)};
    {
        const std::lock_guard guard{mutex_};
        auto& last =
            kind == policy_event_kind::copy_failed ? status_.copy_problem : status_.problem;
        if (last && last->kind == what.kind && last->version == what.version &&
            last->text == what.text)
            return;
        last = what;
    }
    send(std::move(what));
}

void source_core::solve() {
    auto what = policy_event{.kind = policy_event_kind::recovered,
                             .at = std::chrono::system_clock::now(),
                             .version = {},
                             .text = {}};
    {
        const std::lock_guard guard{mutex_};
        if (!status_.problem)
            return;
        what.version = status_.version;
        what.text = status_.origin;
        status_.problem.reset();
    }
    send(std::move(what));
}

void source_core::solve_copy() {
    const std::lock_guard guard{mutex_};
    status_.copy_problem.reset();
}

void source_core::send(policy_event what) noexcept {
    if (!on_event_)
        return;
    try {
        asio::post(own_executor_, [to = on_event_, what = std::move(what)] { (*to)(what); });
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): out of memory: it is lost
    }
}

} // namespace colimit::detail
