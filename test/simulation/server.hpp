// SPDX-License-Identifier: BSL-1.0
//
// What all simulated servers have in common: one thread, which executes the commands of one
// connection after another and takes time for it; its clock; and HELLO, PING and the like.

#pragma once

#include "network.hpp"

#include <redis/connection/address.hpp>
#include <redis/protocol/resp.hpp>
#include <support/command_decoder.hpp>

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::simulation {

using words = std::span<const std::string_view>;

/// A client, as a server sees it.
struct session final : server_side {
    std::string in{}; ///< not executed yet
    redis::resp::decoder decoder = test::command_decoder();
    bool is_queued = false;
    bool is_asking = false; ///< the previous command was ASKING
    bool is_subscribed = false;
    bool is_authenticated = false;
    bool is_in_transaction = false;
    bool is_aborted = false;                        ///< a command of the transaction was refused
    std::vector<std::vector<std::string>> queued{}; ///< after MULTI
};

[[nodiscard]] inline session& session_of(connection& c) {
    if (!c.state)
        c.state = std::make_unique<session>();
    return static_cast<session&>(*c.state);
}

class server : public host {
  public:
    server(network& of, place where);
    ~server() override { network_.remove(*this); }

    [[nodiscard]] const redis::host_port& address() const noexcept { return address_; }
    /// Returns its clock in microseconds since 1970.
    [[nodiscard]] std::int64_t clock() const noexcept;
    void step_clock(std::int64_t by) noexcept { clock_offset_ += by; }
    /// Executes nothing for so long.
    void freeze(std::int64_t duration);
    /// Goes on, however long it was to be frozen.
    void thaw();
    /// How many times as long as usual it needs for each command.
    void set_slowness(std::int64_t factor) noexcept { slowness_ = factor; }
    /// Ends all its connections.
    void drop_connections();
    virtual void kill();
    virtual void start() { is_up = true; }

    void on_bytes(connection& from, std::string_view bytes) final;
    void on_end(connection& /*of*/) final {}

  protected:
    /// Executes a command at the time `clock`, appends the reply and returns how long it took.
    virtual std::int64_t execute(session& of, words command, std::string& out) = 0;

    [[nodiscard]] network& net() noexcept { return network_; }
    [[nodiscard]] machine& os() noexcept { return network_.os(); }

  private:
    void enqueue(const std::shared_ptr<connection>& from);
    void work_at(std::int64_t time);
    void work();
    void execute_all(connection& from);

    network& network_;
    redis::host_port address_;
    std::deque<std::shared_ptr<connection>> queue_;
    bool is_working_ = false;
    std::int64_t busy_until_ = 0;
    std::int64_t clock_offset_ = 0;
    std::int64_t elapsed_ = 0; ///< within the commands that are being executed
    std::int64_t slowness_ = 1;
    std::shared_ptr<server*> self_ = std::make_shared<server*>(this); ///< for its events
};

[[nodiscard]] std::string text_of(place p);

void append_error(std::string& out, std::string_view text);
void append_integer(std::string& out, std::int64_t value);
/// Appends an array of bulk strings.
void append_texts(std::string& out, std::initializer_list<std::string_view> texts);
/// Appends the reply to HELLO.
void append_hello(std::string& out, std::string_view mode);
/// Returns whether two words are equal, whatever their case.
[[nodiscard]] bool is_word(std::string_view a, std::string_view upper) noexcept;

} // namespace colimit::simulation
