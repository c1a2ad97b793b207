#include "xgrad/data/digits.hpp"

#include "data/csv.hpp"
#include "xgrad/ops.hpp"

namespace xgrad::data {

namespace {
constexpr unsigned char digits_csv_gz[] = {
#include "digits_csv_gz.inc"
};
}  // namespace

Dataset digits() {
  Dataset all = parse_csv(detail::Reader("digits", "digits.csv.gz", digits_csv_gz), {});
  all.inputs.div_(16);
  return all;
}

Split digits_split() { return stratified_split(digits(), 360); }

}  // namespace xgrad::data
