// The mean of each row: what each element is given of its gradient.
#include "../dojo.hpp"

/// mean = sum(x) / n of each row. Given d.mean (4, 1), write d.x (4, 6).
void backward(const dojo::Forward& f, dojo::Gradients& d) {
  // Each element has the same share, 1 / n.
  d.x = (d.mean / f.n).expand({4, 6});
}

int main() { return dojo::check(dojo::mean(backward)); }
