#pragma once

#include <string>

/// What is wrong with a page, empty if nothing: tags that do not nest, a heading level skipped, an
/// attribute or style that asks for something outside the file, an id twice; what scrolls and
/// cannot be reached by Tab, a drawing or table without a name.
std::string html_fault(const std::string& html);
