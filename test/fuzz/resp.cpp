// SPDX-License-Identifier: BSL-1.0
//
// Any bytes, as a server's replies: the decoder says the same of them whole, byte by byte, and in
// pieces whose sizes follow from the input; what it calls a reply is one; and words that the
// encoder made of the same bytes come back as they were.

#include <redis/protocol/resp.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace resp = colimit::redis::resp;

namespace {

void check(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

/// The result of decoding a stream.
struct transcript {
    std::vector<resp::node> nodes;
    std::vector<std::size_t> ends;
    resp::progress last = resp::progress::need_more;
    std::string violation;
    std::size_t position = 0;

    bool operator==(const transcript&) const = default;
};

/// Sizes of pieces that follow from the input alone, most of them small.
class piece_sizes {
  public:
    explicit piece_sizes(std::string_view input) {
        for (const char c : input)
            state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }

    std::size_t operator()() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        const auto most = std::size_t{1} << (state_ >> 61U);
        return 1 + (state_ >> 32U) % most;
    }

  private:
    std::uint64_t state_ = 0xcbf29ce484222325U;
};

/// A container is followed by its elements: the nodes are one whole tree.
void check_tree(const resp::decoder& d) {
    std::size_t owed = 1;
    std::size_t offset = 0;
    for (const auto& n : d.nodes()) {
        check(owed > 0, "no node is behind the last element");
        owed += resp::is_container(n.kind) ? n.size : 0;
        --owed;
        check(n.offset > offset, "nodes are in the order of the wire");
        offset = n.offset;
        check(n.kind != resp::kind::push || &n == d.nodes().data(), "a push is a reply of its own");
    }
    check(owed == 0, "every element is there");
}

void check_texts(const resp::decoder& d, std::string_view bytes) {
    for (const auto& n : d.nodes()) {
        const auto text = d.text(n, bytes);
        const auto end = n.offset + text.size();
        check(end + 2 <= d.consumed(), "text is inside the reply");
        if (resp::is_container(n.kind))
            continue;
        if (n.kind != resp::kind::null)
            check(bytes.substr(end, 2) == "\r\n", "text ends where its line ends");
        if (n.kind == resp::kind::integer)
            check(text == std::to_string(n.integer), "an integer has one spelling");
    }
}

void check_reply(const resp::decoder& d, std::string_view bytes) {
    check(d.consumed() <= bytes.size() && d.consumed() <= resp::reply_bytes, "a reply is bounded");
    check(d.consumed() >= 3 && bytes.substr(d.consumed() - 2, 2) == "\r\n", "a reply ends in CRLF");
    check(d.nodes().size() <= resp::reply_nodes, "nodes are bounded");
    check(d.violation().empty(), "a reply has no violation");
    check_tree(d);
    check_texts(d, bytes);
}

/// Reads `stream` in pieces of the sizes that `size` gives.
template<class Size>
transcript read(std::string_view stream, Size size) {
    auto out = transcript{};
    auto d = resp::decoder{};
    std::size_t begin = 0;
    std::size_t received = 0;
    while (out.last != resp::progress::malformed) {
        const auto bytes = stream.substr(begin, received - begin);
        out.last = d.feed(bytes);
        if (out.last == resp::progress::complete) {
            check_reply(d, bytes);
            begin += d.consumed();
            out.nodes.insert(out.nodes.end(), d.nodes().begin(), d.nodes().end());
            out.ends.push_back(begin);
            d.next();
        } else if (out.last == resp::progress::malformed) {
            check(!d.violation().empty(), "a violation has words");
            check(d.position() <= bytes.size(), "a violation has a place");
            check(d.feed(bytes) == resp::progress::malformed, "a violation is final");
        } else if (received == stream.size()) {
            break;
        } else {
            received += std::min(size(), stream.size() - received);
        }
    }
    out.violation = d.violation();
    out.position = d.position();
    return out;
}

void check_encoder(std::string_view input) {
    auto words = std::vector<std::string_view>{};
    auto size = piece_sizes{input};
    for (std::size_t at = 0; at < input.size() && words.size() + 1 < resp::reply_nodes;) {
        words.push_back(input.substr(at, size()));
        at += words.back().size();
    }
    auto wire = std::string{};
    resp::append_array(wire, words.size());
    for (const auto word : words)
        resp::append_bulk(wire, word);
    auto d = resp::decoder{};
    check(d.feed(wire) == resp::progress::complete && d.consumed() == wire.size(),
          "a request is one value");
    check(d.nodes().size() == words.size() + 1, "a request has its words");
    for (std::size_t i = 0; i < words.size(); ++i)
        check(d.text(d.nodes()[i + 1], wire) == words[i], "a word is what was given");
}

} // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer looks for
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto input = std::string_view{reinterpret_cast<const char*>(data), size};
    const auto whole = read(input, [size] { return size; });
    check(read(input, [] { return std::size_t{1}; }) == whole, "bytes read as the whole");
    check(read(input, piece_sizes{input}) == whole, "pieces read as the whole");
    check_encoder(input.substr(0, resp::bulk_bytes));
    return 0;
}
