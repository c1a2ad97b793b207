#include "xgrad/error.hpp"

#include <algorithm>
#include <cctype>

namespace xgrad {

void Error::add_module(const std::string& name) {
  if (name.empty()) return;
  path_ = path_.empty() ? name : name + "." + path_;
  const std::string text = std::runtime_error::what();
  const std::size_t colon = std::min(text.find(':'), text.size());
  const bool names_operation =
      std::all_of(text.begin(), text.begin() + static_cast<long>(colon),
                  [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  const std::string quoted = " \"" + path_ + "\"";
  text_ = names_operation && colon < text.size()
              ? text.substr(0, colon) + quoted + text.substr(colon)
              : "module" + quoted + ": " + text;
}

}  // namespace xgrad
