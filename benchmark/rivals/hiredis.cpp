// SPDX-License-Identifier: BSL-1.0
//
// A rival: hiredis' asynchronous API with one EVALSHA per check, 256 of them in flight on one
// connection. The arguments are made without formats, and the event loop is poll(2) on one socket:
// what hiredis' own adapters do, without a library behind it.

#include <rivals/rival.hpp>
#include <support/random_key.hpp>

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include <array>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <string_view>

namespace colimit::benchmark {
namespace {

/// The events that hiredis waits for, as flags of poll(2).
struct interest {
    short events = 0;

    template<short Event, bool On>
    static void set(void* of) {
        auto& events = static_cast<interest*>(of)->events;
        events = static_cast<short>(On ? events | Event : events & ~Event);
    }
    static void clear(void* of) { static_cast<interest*>(of)->events = 0; }

    void attach_to(redisAsyncContext& c) {
        c.ev.data = this;
        c.ev.addRead = set<POLLIN, true>;
        c.ev.delRead = set<POLLIN, false>;
        c.ev.addWrite = set<POLLOUT, true>;
        c.ev.delWrite = set<POLLOUT, false>;
        c.ev.cleanup = clear;
    }
};

struct client {
    redisAsyncContext* connection;
    random_key keys;
    std::string_view sha1;
    stopwatch& watch;
    std::string trouble;
};

void ask(client& by);

void on_reply(redisAsyncContext* /*c*/, void* reply, void* of) {
    auto& by = *static_cast<client*>(of);
    const auto* r = static_cast<const redisReply*>(reply);
    if (r == nullptr || r->type != REDIS_REPLY_ARRAY || r->element[0]->integer != 1)
        by.trouble = r != nullptr && r->type == REDIS_REPLY_ERROR ? r->str : "a check was refused";
    else if (by.watch.answered())
        ask(by);
}

void ask(client& by) {
    const auto key = by.keys.next();
    const auto words = std::array<std::string_view, 8>{"EVALSHA", by.sha1,   "1", key,
                                                       "1000",    "3600000", "1", "7200000"};
    auto texts = std::array<const char*, words.size()>{};
    auto sizes = std::array<std::size_t, words.size()>{};
    for (auto i = std::size_t{0}; i < words.size(); ++i) {
        texts[i] = words[i].data();
        sizes[i] = words[i].size();
    }
    if (redisAsyncCommandArgv(by.connection, on_reply, &by, static_cast<int>(words.size()),
                              texts.data(), sizes.data()) != REDIS_OK)
        by.trouble = "a call was not taken";
}

int run(const rival_arguments& a) {
    auto* const c = redisAsyncConnectUnix(a.socket.c_str());
    if (c == nullptr || c->err != 0)
        throw std::runtime_error{"cannot connect"};
    auto wanted = interest{};
    wanted.attach_to(*c);
    auto watch = stopwatch{a.checks, rival_callers};
    auto by = client{c, random_key{a.keys, 1}, a.sha1, watch, {}};
    for (auto i = std::uint32_t{0}; i < rival_callers; ++i)
        ask(by);
    while (!watch.is_over() && by.trouble.empty()) {
        auto ready = pollfd{.fd = c->c.fd, .events = wanted.events, .revents = 0};
        poll(&ready, 1, -1);
        if ((ready.revents & POLLOUT) != 0)
            redisAsyncHandleWrite(c);
        if ((ready.revents & ~POLLOUT) != 0)
            redisAsyncHandleRead(c);
    }
    if (!by.trouble.empty())
        throw std::runtime_error{by.trouble};
    watch.print();
    redisAsyncFree(c);
    return 0;
}

} // namespace
} // namespace colimit::benchmark

int main(int argc, char** argv) {
    return colimit::benchmark::rival_main(argc, argv,
                                          "hiredis " + std::to_string(HIREDIS_MAJOR) + "." +
                                              std::to_string(HIREDIS_MINOR) + "." +
                                              std::to_string(HIREDIS_PATCH),
                                          colimit::benchmark::run);
}
