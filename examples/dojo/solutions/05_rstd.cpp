// One over the standard deviation: a power, and where eps stands.
#include "../dojo.hpp"

/// rstd = 1 / sqrt(var + eps). Given d.rstd (4, 1), write d.var (4, 1).
void backward(const dojo::Forward& f, dojo::Gradients& d) {
  // (var + eps)^(-1/2) has the derivative -1/2 (var + eps)^(-3/2), which is -1/2 rstd^3.
  d.var = d.rstd * -0.5 * f.rstd.pow(3);
}

int main() { return dojo::check(dojo::rstd(backward)); }
