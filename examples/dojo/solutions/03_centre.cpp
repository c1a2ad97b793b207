// Subtracting the mean: x is used twice, so it gets two gradients.
#include "../dojo.hpp"

/// centred = x - mean, mean = sum(x) / n of each row. Given d.centred (4, 6), write d.mean (4, 1)
/// and d.x (4, 6).
void backward(const dojo::Forward& f, dojo::Gradients& d) {
  d.mean = -d.centred.sum(-1, true);
  // Directly, and through the mean.
  d.x = d.centred + d.mean / f.n;
}

int main() { return dojo::check(dojo::centre(backward)); }
