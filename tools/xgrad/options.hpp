#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>

namespace tool {

/// A whole number from `low` to `high`; its words are those of the error, not of the help.
CLI::Validator whole(std::int64_t low, std::int64_t high, const std::string& why = "");

/// Any text but none, as of a variable that is not set: it would pass for an option not given.
CLI::Validator not_empty();

void file(CLI::App& app, const char* flag, std::string& value, const char* what);

CLI::Option* number(CLI::App& app, const char* flag, auto& value, const char* what) {
  return app.add_option(flag, value, what)->type_name("N")->capture_default_str();
}

void seed(CLI::App& app, auto& value, const char* what) {
  number(app, "--seed", value, what)->check(whole(0, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace tool
