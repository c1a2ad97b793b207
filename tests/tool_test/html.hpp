#pragma once

#include <string>

/// What is wrong with a page, empty if nothing: tags that do not nest, a heading level skipped, an
/// attribute or style that asks for something outside the file.
std::string html_fault(const std::string& html);
