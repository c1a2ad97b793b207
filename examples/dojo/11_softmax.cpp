// Softmax: every output of a row depends on every input.
#include "dojo.hpp"

/// p = exp(z) / sum(exp(z)) of each row. Given p and dp, both (4, 6), return dz (4, 6).
xg::Tensor dz(const xg::Tensor& p, const xg::Tensor& dp) { return {}; }

int main() { return dojo::check(dojo::softmax(dz)); }
