#pragma once

#include "xgrad/data/dataset.hpp"

namespace xgrad::data {

/// 1,797 handwritten digits of 8x8 pixels in 10 classes, part of the library: inputs (1797, 64),
/// scaled from 0 .. 16 to [0, 1]. "Optical Recognition of Handwritten Digits" of the UCI
/// repository, E. Alpaydin and C. Kaynak, CC BY 4.0 (see examples/data/README.md).
Dataset digits();

/// stratified_split(digits(), 360, 0): always the same 1,437 and 360 rows.
Split digits_split();

}  // namespace xgrad::data
