#include "xgrad/data/digits.hpp"

#include "data/file.hpp"
#include "xgrad/ops.hpp"

namespace xgrad::data {

namespace {
constexpr unsigned char digits_csv_gz[] = {
#include "digits_csv_gz.inc"
};
}  // namespace

Dataset digits() {
  const std::string bytes(std::begin(digits_csv_gz), std::end(digits_csv_gz));
  Dataset all = parse_csv("digits", unpacked("digits", "digits", bytes), {});
  all.inputs.div_(16);
  return all;
}

Split digits_split() { return stratified_split(digits(), 360); }

}  // namespace xgrad::data
