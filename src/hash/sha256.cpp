// SPDX-License-Identifier: BSL-1.0
//
// SHA-256 with OpenSSL.

#include <base/bytes.hpp>
#include <hash/sha256.hpp>

#include <algorithm>

// Selects the functions of OpenSSL 1.1: their replacements allocate memory, so they can fail.
#define OPENSSL_API_COMPAT 0x10100000L
#include <openssl/sha.h>

namespace colimit::hash {

std::array<unsigned char, 16> sha256(std::string_view bytes) noexcept {
    return sha256({bytes});
}

std::array<unsigned char, 16> sha256(std::initializer_list<std::string_view> parts) noexcept {
    auto state = SHA256_CTX{};
    auto digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>{};
    SHA256_Init(&state);
    for (const auto part : parts)
        SHA256_Update(&state, part.data(), part.size());
    SHA256_Final(digest.data(), &state);
    auto cut = std::array<unsigned char, 16>{};
    std::copy_n(digest.begin(), cut.size(), cut.begin());
    return cut;
}

std::array<char, 32> sha256_hex(std::string_view bytes) noexcept {
    return detail::hex_of(sha256(bytes));
}

} // namespace colimit::hash
