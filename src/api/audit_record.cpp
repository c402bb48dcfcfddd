// SPDX-License-Identifier: BSL-1.0
//
// Text of clients in logs.

#include <base/bytes.hpp>
#include <colimit/audit_record.hpp>

namespace colimit {

std::string log_text(std::string_view bytes) {
    auto out = std::string{'"'};
    for (const auto c : bytes) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            out += {'\\', c};
        else if (code >= 0x20 && code < 0x7f)
            out += c;
        else
            out += {'\\', 'x', detail::hex_digits[code >> 4U], detail::hex_digits[code & 15U]};
    }
    return out + '"';
}

} // namespace colimit
