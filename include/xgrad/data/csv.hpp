#pragma once

#include "xgrad/data/dataset.hpp"

namespace xgrad::data {

struct CsvOptions {
  bool header = false;     ///< the first line holds names
  std::string label = {};  ///< name of the column with the labels (needs a header); else the last
  char separator = ',';
  /// Find out whether the first line holds names: it does if no cell of it is a number. A column
  /// named "label" then has the labels.
  bool find_header = false;
  bool has_labels = true;  ///< else all columns are inputs, and `labels` stays undefined
};

/// A table of numbers, plain or gzip: one column has the labels (whole numbers from 0 up; there are
/// `classes` = greatest + 1 of them), the others are the inputs. Empty lines do not count. Throws
/// FileError that names file, line and column for a line with more or fewer cells than the first,
/// and for a cell that is not a finite number.
Dataset read_csv(const std::string& path, CsvOptions options = {});

}  // namespace xgrad::data
