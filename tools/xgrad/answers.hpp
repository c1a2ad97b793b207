#pragma once

#include "mlp.hpp"
#include "page.hpp"

namespace tool {

/// What the net says of the test data: the confusion matrix, and wrong answers drawn as images (of
/// square data that are some) or as rows.
void add_answers(Page& page, Mlp& net, const xgrad::data::Dataset& test, bool images);

}  // namespace tool
