#pragma once

#include "io/reader.hpp"
#include "xgrad/data/csv.hpp"

namespace xgrad::data {

/// What read_csv makes of a file.
Dataset parse_csv(detail::Reader file, const CsvOptions& options);

}  // namespace xgrad::data
