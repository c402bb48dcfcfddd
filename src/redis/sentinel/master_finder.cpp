// SPDX-License-Identifier: BSL-1.0
//
// The connections to Sentinels.

#include <redis/sentinel/master_finder.hpp>
#include <redis/sentinel/sentinel_requests.hpp>

#include <new>
#include <utility>

namespace colimit::redis {
namespace {

/// A Sentinel is asked this often, in microseconds, even if it publishes nothing: its messages may
/// be lost with a connection, or be denied to this user.
constexpr std::int64_t poll_interval = 1'000'000;

} // namespace

/// A connection to one Sentinel.
class master_finder::link final : private connection_user {
  public:
    link(master_finder& of, std::size_t number, const connection::executor& own,
         detail::thread_lock& lock, const connection_settings& settings, error_sink& problems)
        : finder_(of), number_(number), requests_(settings.where.master),
          connection_(own, lock, settings_of(settings, number), requests_, problems, *this,
                      of.life_) {}

    void open() { connection_.open(); }
    void close(bool now) noexcept { connection_.close(now); }
    void ask() {
        requests_.ask();
        send();
    }
    [[nodiscard]] bool is_refused() const noexcept { return connection_.is_refused(); }
    [[nodiscard]] errc error() const noexcept { return connection_.error(); }

  private:
    [[nodiscard]] static connection_settings settings_of(connection_settings all,
                                                         std::size_t number) {
        all.where = all.where.at(all.where.hosts[number]);
        all.session.seed += static_cast<std::uint32_t>(number); // they do not connect all at once
        return all;
    }

    void on_events() override {
        take_events();
        try {
            if (const auto said = requests_.take_statement())
                finder_.note_statement(number_, *said, connection_.now());
        } catch (const std::bad_alloc&) { // it will be asked again
        }
        if (connection_.now() >= next_event()) {
            asked_at_ = connection_.now();
            requests_.ask();
        }
        send();
    }
    void take_events() {
        const auto happened = connection_.take_events();
        if (happened.ready)
            asked_at_ = connection_.now();
        if (happened.lost)
            finder_.lose(number_);
    }
    void send() {
        connection_.flush();
        take_events();
        connection_.wait(next_event());
    }
    [[nodiscard]] std::int64_t next_event() const noexcept {
        return connection_.is_ready() ? asked_at_ + poll_interval : liveness::never;
    }

    master_finder& finder_;
    std::size_t number_;
    sentinel_requests requests_;
    connection connection_;
    std::int64_t asked_at_ = 0;
};

master_finder::master_finder(const connection::executor& own, detail::thread_lock& lock,
                             const connection_settings& settings, error_sink& problems,
                             finder_owner& owner, const std::weak_ptr<void>& life)
    : owner_(owner), life_(life), log_(settings.log), view_(settings.where.hosts.size()) {
    while (links_.size() < settings.where.hosts.size())
        links_.push_back(
            std::make_unique<link>(*this, links_.size(), own, lock, settings, problems));
}

master_finder::~master_finder() = default;

void master_finder::open() {
    for (const auto& l : links_)
        l->open();
}

void master_finder::close(bool now) noexcept {
    for (const auto& l : links_)
        l->close(now);
}

void master_finder::ask() {
    for (const auto& l : links_)
        l->ask();
}

void master_finder::note_statement(std::size_t sentinel, const master_statement& what,
                                   std::int64_t now) {
    view_.note_statement(sentinel, what, now);
    const auto said = [&] {
        return what.master ? "the master is " + to_string(*what.master) : "knows no such master";
    };
    log_.write(log_level::debug, "Sentinel ", sentinel + 1, " of ", links_.size(), ": ", said);
    if (const auto& named = view_.master(); named && named != announced_) {
        log_.write(log_level::info, "the master is ", [&] { return to_string(*named); });
        owner_.on_master(*named);
        announced_ = named;
    }
    update_error();
}

void master_finder::lose(std::size_t sentinel) {
    view_.lose(sentinel);
    update_error();
}

void master_finder::update_error() {
    const auto now = error();
    if (!view_.master() && now != std::exchange(error_, now))
        owner_.on_no_master(now);
}

/// Returns why no master is known, if that will not change by itself: because more than half of the
/// Sentinels know none, or refuse this client.
errc master_finder::error() const noexcept {
    auto found = errc::unavailable;
    auto count = std::size_t{0};
    for (std::size_t i = 0; i < links_.size(); ++i) {
        const auto knows_no_master = view_.knows_no_master(i);
        if (!knows_no_master && !links_[i]->is_refused())
            continue;
        found = knows_no_master ? errc::invalid_config : links_[i]->error();
        ++count;
    }
    return count * 2 > links_.size() ? found : errc::unavailable;
}

} // namespace colimit::redis
