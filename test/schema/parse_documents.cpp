// SPDX-License-Identifier: BSL-1.0
//
// Parses each line of the input as a document of policies, and prints `valid` or the reason why it
// is not: one line per document.

#include <colimit/error.hpp>
#include <colimit/policy_document.hpp>

#include <iostream>
#include <string>

int main() {
    for (std::string document; std::getline(std::cin, document);) {
        try {
            (void)colimit::parse_policy_document(document);
            std::cout << "valid\n";
        } catch (const colimit::error& e) {
            std::cout << e.reason() << '\n';
        }
    }
}
