// SPDX-License-Identifier: BSL-1.0
//
// Half of the histories are left alone by others: these are told to the in-process store as well.

#include "filter_history.hpp"

#include "sent_batch.hpp"
#include <support/rng.hpp>

#include <colimit/limits.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <ostream>
#include <utility>

namespace colimit::differential {
namespace {

constexpr std::size_t ids_of_history = 60;

class filter_story {
  public:
    filter_story(std::uint64_t seed, bool server_clock) : rng_(seed) {
        told_.seed = seed;
        told_.server_clock = server_clock;
        const auto small = rng_.percent(70);
        const auto ttl = rng_.magnitude(server_clock ? 20'000 : limits::max_filter_ttl.count());
        told_.shape = {.ttl = std::max<std::int64_t>(ttl, limits::min_filter_ttl.count()),
                       .words = static_cast<std::uint32_t>(rng_.between(1, small ? 4 : 24)),
                       .lines = static_cast<std::uint32_t>(rng_.between(1, small ? 3 : 20)),
                       .blocks = static_cast<std::uint32_t>(rng_.between(1, 4))};
        known_ids_ = static_cast<std::size_t>(rng_.between(5, 50));
        meddled_ = rng_.percent(50);
        now_ = rng_.percent(20) ? rng_.between(0, 3 * told_.shape.ttl)
                                : rng_.magnitude(limits::max_time);
    }

    [[nodiscard]] filter_history tell() {
        for (auto ids = std::size_t{0}; ids < ids_of_history;
             ids += told_.steps.back().ids.size()) {
            const auto others = meddled_ && rng_.percent(25);
            told_.steps.push_back(others ? meddle() : ask());
        }
        return std::move(told_);
    }

  private:
    [[nodiscard]] filter_step ask() {
        move_clock();
        auto made = filter_step{.now = now_};
        for (auto left = 1 + rng_.below(8); left > 0; --left)
            made.ids.push_back("id " + std::to_string(rng_.below(known_ids_)));
        const auto asks_often = rng_.percent(50);
        while (made.verbs.size() < made.ids.size())
            made.verbs.push_back(!asks_often || rng_.percent(40) ? detail::verb::allow
                                 : rng_.percent(70)              ? detail::verb::peek
                                                                 : detail::verb::inspect);
        return made;
    }

    void move_clock() {
        const auto age = told_.shape.ttl;
        const auto here = now_ / age;
        switch (rng_.below(8)) {
        case 0: // where a generation begins, and the microsecond before
            now_ = (here + rng_.between(-2, 3)) * age - rng_.between(0, 1);
            break;
        case 1:
            now_ += rng_.magnitude(3 * age);
            break;
        case 2:
            now_ -= rng_.magnitude(3 * age);
            break;
        case 3:
            now_ += rng_.magnitude(age);
            break;
        default:
            break;
        }
        now_ = std::clamp<std::int64_t>(now_, 0, limits::max_time);
    }

    [[nodiscard]] filter_step meddle() {
        const auto bitmap = rng_.below(told_.bitmaps());
        if (rng_.percent(30))
            return {.kind = filter_event::remove, .bitmap = bitmap};
        if (rng_.percent(15))
            return {.kind = filter_event::intrude, .bitmap = bitmap};
        return {.kind = filter_event::plant, .bitmap = bitmap, .bytes = random_bitmap()};
    }

    /// A head that may tell of any generation, and perhaps not all of the lines.
    [[nodiscard]] std::string random_bitmap() {
        constexpr double strange[] = {0,
                                      -1,
                                      0.5,
                                      -0.0,
                                      1e300,
                                      std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::infinity()};
        const auto near = static_cast<double>(now_ / told_.shape.ttl + rng_.between(-3, 5));
        const auto head = rng_.percent(20) ? rng_.pick(strange) : near;
        auto bytes = std::string(sizeof head, '\0');
        std::memcpy(bytes.data(), &head, sizeof head);
        auto size = std::size_t{told_.shape.block_bytes()};
        if (rng_.percent(30))
            size = rng_.below(size + 40);
        else if (rng_.percent(15)) // the head, and nearly the head
            size = sizeof head - 1 + rng_.below(3);
        while (bytes.size() < size)
            bytes += static_cast<char>(rng_.bits() & rng_.bits());
        bytes.resize(size);
        return bytes;
    }

    test::rng rng_;
    filter_history told_;
    std::int64_t now_ = 0;
    std::size_t known_ids_ = 0;
    bool meddled_ = false;
};

} // namespace

std::size_t filter_history::ids() const noexcept {
    auto sum = std::size_t{0};
    for (const auto& s : steps)
        sum += s.ids.size();
    return sum;
}

filter_history random_filter_history(std::uint64_t seed, bool server_clock) {
    return filter_story{seed, server_clock}.tell();
}

void print(std::ostream& out, const filter_history& h, std::size_t end) {
    out << "blocks " << h.shape.blocks << ", lines " << h.shape.lines << ", words " << h.shape.words
        << ", age " << h.shape.ttl << " us\n";
    for (std::size_t i = 0; i < end; ++i) {
        const auto& s = h.steps[i];
        out << i + 1 << ". ";
        if (s.kind == filter_event::ids) {
            if (!h.server_clock)
                out << "at " << s.now << ", generation " << s.now / h.shape.ttl << ": ";
            for (std::size_t j = 0; j < s.ids.size(); ++j)
                out << '"' << s.ids[j]
                    << (s.verbs[j] == detail::verb::allow  ? "\" "
                        : s.verbs[j] == detail::verb::peek ? "\"? "
                                                           : "\"# ");
        } else {
            out << "bitmap " << s.bitmap % 2 << " of block " << s.bitmap / 2;
            if (s.kind == filter_event::plant)
                out << " is set to " << hex(s.bytes);
            else
                out << (s.kind == filter_event::remove ? " is deleted" : " becomes a list");
        }
        out << '\n';
    }
}

} // namespace colimit::differential
