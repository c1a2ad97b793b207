// The variance: squares, and their mean.
#include "dojo.hpp"

/// squared = centred * centred, var = sum(squared) / n of each row. Given d.var (4, 1), write
/// d.squared and d.centred, both (4, 6).
void backward(const dojo::Forward& f, dojo::Gradients& d) {
  d.squared = {};
  d.centred = {};
}

int main() { return dojo::check(dojo::variance(backward)); }
