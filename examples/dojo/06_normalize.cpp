// Dividing by the deviation: the numbers divided make up the deviation, too.
#include "dojo.hpp"

/// xhat = centred * rstd, rstd = 1 / sqrt(sum(centred^2) / n + eps). Given d.xhat (4, 6), write
/// d.rstd (4, 1) and d.centred (4, 6).
void backward(const dojo::Forward& f, dojo::Gradients& d) {
  d.rstd = {};
  d.centred = {};
}

int main() { return dojo::check(dojo::normalize(backward)); }
