// SPDX-License-Identifier: BSL-1.0
//
// The files of the page, which are part of the program.

#pragma once

#include <string_view>

namespace http_server {

struct page_file {
    std::string_view path; ///< of the request: `/style.css`
    std::string_view type; ///< the media type
    std::string_view text;
};

/// Returns nullptr if there is no such file. `/` is `index.html`.
[[nodiscard]] const page_file* find_page_file(std::string_view path);

} // namespace http_server
