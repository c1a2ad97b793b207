#pragma once

#include "xgrad/data/csv.hpp"

namespace xgrad::data {

/// All bytes of a file, unpacked if it is gzip. `reader` stands first in errors.
std::string read_file(const char* reader, const std::string& path);
/// The unpacked bytes of a gzip file (below 4 GiB); other bytes as they are.
std::string unpacked(const char* reader, const std::string& path, std::string bytes);
/// What read_csv makes of the content of a file.
Dataset parse_csv(const std::string& path, const std::string& text, const CsvOptions& options);

}  // namespace xgrad::data
