#pragma once

#include <string>
#include <string_view>

#include "chart.hpp"

namespace tool {

/// Characters in a line of the terminal; 80 where the output goes elsewhere.
std::size_t terminal_width();

/// Words broken into lines of at most `width` characters.
std::string wrapped(std::string_view text, std::size_t indent = 0,
                    std::size_t width = terminal_width());

/// A share as "97.22 %"; of no rows, where it is NaN, "none".
std::string percent(double share);

/// The first column to the left, the others to the right, each as wide as it needs. Columns beyond
/// `width` follow below, behind the first one again. `style` is the number of the header's look on
/// the terminal, if it has one.
std::string text_of(const Table& table, std::size_t indent = 2,
                    std::size_t width = terminal_width(), std::string_view style = "");

}  // namespace tool
