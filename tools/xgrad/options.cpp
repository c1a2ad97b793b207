#include "options.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace tool {

CLI::Validator whole(std::int64_t low, std::int64_t high, const std::string& why) {
  return CLI::Validator(
      [=](std::string& text) {
        std::int64_t value = 0;
        errno = 0;  // what does not fit becomes the largest that does
        if (CLI::detail::lexical_cast(text, value) && errno == 0 && value >= low && value <= high) {
          return std::string();
        }
        return fmt::format("needs a whole number from {} to {}, got {}{}", low, high, text, why);
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& text) {
        return text.empty() ? std::string("needs a value, got an empty text") : std::string();
      },
      "");
}

void file(CLI::App& app, const char* flag, std::string& value, const char* what) {
  app.add_option(flag, value, what)->check(not_empty())->type_name("FILE");
}

}  // namespace tool
