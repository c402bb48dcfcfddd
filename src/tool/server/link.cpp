// SPDX-License-Identifier: BSL-1.0
//
// All commands are written at once, and their replies are kept until the last one has come.

#include <base/clocks.hpp>
#include <tool/server/link.hpp>

#include <optional>
#include <utility>

namespace tool {

namespace redis = colimit::redis;

link::link(const boost::asio::any_io_executor& executor, redis::connection_settings settings)
    : problems_(settings.where.password, colimit::detail::steady_now),
      connection_(executor, lock_, std::move(settings), *this, problems_, *this, life_) {}

void link::send(const std::vector<words>& commands) {
    request_.clear();
    for (const auto& command : commands) {
        redis::resp::append_array(request_, command.size());
        for (const auto& word : command)
            redis::resp::append_bulk(request_, word);
    }
    answers_.clear();
    expected_ = commands.size();
    is_written_ = is_lost_ = false;
    connection_.read_clock();
    life_ = weak_from_this();
    if (!std::exchange(is_open_, true))
        connection_.open();
    else
        connection_.flush();
    connection_.wait();
}

void link::on_events() {
    const auto happened = connection_.take_events();
    if (happened.ready)
        problems_.note_ready();
    is_lost_ = is_lost_ || happened.lost;
    connection_.flush();
    connection_.wait();
}

std::vector<reply> link::take() {
    expected_ = 0;
    return std::exchange(answers_, {});
}

std::string link::problem() const {
    const auto last = problems_.last();
    return last ? std::string{to_string(last->phase)} + ": " + last->text : "no reply";
}

void link::write(std::string& out, std::uint64_t /*stream_position*/, std::int64_t now) {
    out += request_;
    sent_at_ = now;
    is_written_ = true;
}

std::optional<redis::recovery> link::read_reply(const redis::resp::decoder& reply,
                                                std::string_view bytes) {
    if (answers_.size() == expected_)
        return std::nullopt;
    answers_.push_back(copy_reply(reply, bytes));
    return redis::recovery::keep;
}

} // namespace tool
