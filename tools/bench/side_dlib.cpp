// A training step of 784-128-10 in dlib, which has its net as a type.
#include <dlib/dnn.h>

#include <memory>

#include "worker.hpp"

namespace {

using Net = dlib::loss_multiclass_log<
    dlib::fc<10, dlib::relu<dlib::fc<128, dlib::input<dlib::matrix<float>>>>>>;

template <class Solver>
bench::Work step(const bench::Row& row, const Solver& solver) {
  const auto net = std::make_shared<Net>();
  const auto solvers = std::make_shared<std::vector<Solver>>(Net::num_computational_layers, solver);
  const auto x = std::make_shared<dlib::resizable_tensor>();
  dlib::rand random;
  std::vector<dlib::matrix<float>> images;
  std::vector<unsigned long> labels;
  for (int i = 0; i < row.batch; ++i) {
    images.push_back(dlib::matrix_cast<float>(dlib::gaussian_randm(row.sizes[0], 1, unsigned(i))));
    labels.push_back(random.get_random_32bit_number() % 10);
  }
  net->to_tensor(images.begin(), images.end(), *x);
  return {[=] {
    net->compute_parameter_gradients(*x, labels.begin());
    net->update_parameters(dlib::make_sstack(*solvers), 1e-7);
  }};
}

bench::Work work(const bench::Row& row) {
  if (row.group != "step" || row.sizes.size() != 3) return {};
  if (row.kind == "sgd") return step(row, dlib::sgd(0, 0));
  return step(row, dlib::adam(0, 0.9F, 0.999F));
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, work); }
