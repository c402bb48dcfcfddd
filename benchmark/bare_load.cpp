// SPDX-License-Identifier: BSL-1.0
//
// How long does a check take without colimit, at the same load? The minimum for a client on Asio
// with colimit's script: it sends the checks that are due in one call while at most six calls are
// in flight, and takes the time when the reply is complete. It decides nothing, merges nothing, and
// has no deadlines.
//
// A client that sends one script call per check would not carry these loads: they are fractions of
// the rate of batches.

#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/protocol/script.hpp>
#include <scenarios.hpp>
#include <support/open_loop.hpp>
#include <support/random_key.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace colimit::benchmark {
namespace {

namespace asio = boost::asio;
namespace resp = redis::resp;

/// As colimit's defaults.
constexpr std::size_t keys_in_a_call = 96;
constexpr std::size_t calls_on_the_wire = 6;

class bare_gatherer {
  public:
    bare_gatherer(open_loop& loop, const std::string& path) : loop_(loop) {
        socket_.connect(asio::local::stream_protocol::endpoint{path});
        read();
    }

    void start(open_loop::time_point due) {
        waiting_.push_back(due);
        write_what_waits();
    }

  private:
    void write_what_waits() {
        if (writing_ || waiting_.empty() || on_the_wire_.size() == calls_on_the_wire)
            return;
        const auto size = std::min(waiting_.size(), keys_in_a_call);
        on_the_wire_.push_back(size);
        sent_.insert(sent_.end(), waiting_.begin(),
                     waiting_.begin() + static_cast<std::ptrdiff_t>(size));
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(size));
        write_request(size);
        writing_ = true;
        asio::async_write(socket_, asio::buffer(request_), [this](const auto& error, std::size_t) {
            writing_ = false;
            if (error)
                return fail(error.message());
            write_what_waits();
        });
    }

    /// Writes a request for different keys, as duplicates are not merged. Their names are as long
    /// as colimit's: three bytes less put them into a smaller size class of the server's allocator,
    /// which then needs 5 % less time per check.
    void write_request(std::size_t size) {
        ++calls_;
        request_.clear();
        resp::append_array(request_, size + 8);
        resp::append_bulk(request_, "EVALSHA");
        resp::append_bulk(request_, redis::check_script.sha1);
        resp::append_bulk(request_, std::to_string(size));
        for (auto i = std::size_t{0}; i < size; ++i) {
            auto number = keys_.next_number();
            while (last_used_[number] == calls_)
                number = keys_.next_number();
            last_used_[number] = calls_;
            const auto key = keys_.text_of(number);
            key_text_.clear();
            redis::append_key(key_text_, "colimit", policy_.name(), key);
            resp::append_bulk(request_, key_text_);
        }
        resp::append_bulk(request_, detail::access::data(policy_)->wire);
        resp::append_bulk(request_, "7");
        for (const auto* argument : {"", "0", ""})
            resp::append_bulk(request_, argument);
    }

    void read() {
        if (received_.size() - filled_ < least_room)
            received_.resize(2 * received_.size());
        const auto room = asio::buffer(received_.data() + filled_, received_.size() - filled_);
        socket_.async_read_some(room, [this](const auto& error, std::size_t bytes) {
            if (error)
                return fail(error.message());
            filled_ += bytes;
            take_replies();
            write_what_waits();
            read();
        });
    }

    void take_replies() {
        auto bytes = std::string_view{received_.data(), filled_};
        while (!bytes.empty() && reply_.feed(bytes) == resp::progress::complete) {
            const auto size = on_the_wire_.front();
            const auto nodes = reply_.nodes();
            const auto text =
                nodes.size() == size + 2 ? reply_.text(nodes.back(), bytes) : std::string_view{};
            if (!text.ends_with(" " + std::to_string(size) + " -"))
                return fail("not a reply to bare_load's call");
            bytes.remove_prefix(reply_.consumed());
            reply_.next();
            on_the_wire_.pop_front();
            for (auto i = std::size_t{0}; i < size; ++i, sent_.pop_front())
                loop_.answered(sent_.front());
        }
        std::memmove(received_.data(), bytes.data(), bytes.size());
        filled_ = bytes.size();
    }

    void fail(const std::string& why) {
        loop_.failed(std::make_exception_ptr(std::runtime_error{why}));
    }

    static constexpr std::size_t least_room = std::size_t{16} * 1024;

    open_loop& loop_;
    asio::local::stream_protocol::socket socket_{loop_.context};
    policy policy_ = thousand_an_hour();
    random_key keys_{server_keys, 1};
    std::vector<std::uint64_t> last_used_ = std::vector<std::uint64_t>(server_keys);
    std::deque<open_loop::time_point> waiting_;
    std::deque<open_loop::time_point> sent_; ///< by call, in the order of the replies
    std::deque<std::size_t> on_the_wire_;    ///< keys in each
    std::uint64_t calls_ = 0;
    std::string request_;
    std::string key_text_;
    bool writing_ = false;
    std::vector<char> received_ = std::vector<char>(4 * least_room);
    std::size_t filled_ = 0;
    resp::decoder reply_;
};

} // namespace

measurement bare_load(const conditions& c, double share, key_table table) {
    server{c.socket}.forget_keys();
    (void)server{c.socket}.load_script(redis::check_script.body);
    auto loop = open_loop{c, share, table};
    auto client = bare_gatherer{loop, c.socket};
    auto m = loop.run([&client](open_loop::time_point due) { client.start(due); });
    m.allocations_per_check.reset(); // not reported
    return m;
}

} // namespace colimit::benchmark
