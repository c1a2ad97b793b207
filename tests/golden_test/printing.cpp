#include "golden_test/golden.hpp"

/// Kind "print": values printed with torch.set_printoptions arguments give exactly this text.

namespace golden {

xg::PrintChanges print_changes(const Json& options) {
  xg::PrintChanges changes;
  take(options, "profile", changes.profile);
  take(options, "precision", changes.precision);
  take(options, "threshold", changes.threshold);
  take(options, "edgeitems", changes.edgeitems);
  take(options, "linewidth", changes.linewidth);
  take(options, "sci_mode", changes.sci_mode);
  return changes;
}

void run_print(Case& c) {
  xg::Tensor x = tensor_from(c.json(), c.dtype());
  if (c.has("requires_grad") && c["requires_grad"].get<bool>()) x.requires_grad_();
  if (c.has("grad_fn")) {
    if (!mentions(c["grad_fn"], "x * 1.0")) throw Unknown{"grad_fn " + c["grad_fn"].dump()};
    x = x.requires_grad_() * 1.0;
  }
  const xg::ScopedPrintOptions options(print_changes(c["options"]));
  c.expect_text("print", to_string(x), c["expected"]);
}

}  // namespace golden
