// Coming from PyTorch: after each `>>>` a line of Python, under it the same in C++. The page of
// that name in the documentation is made from this file.
#include <cstdio>
#include <iostream>

#include "xgrad/xgrad.hpp"
namespace xg = xgrad;

// ---- Modules of one's own
// >>> class Net(nn.Module):
// >>>   def __init__(self):
// >>>     super().__init__()
// >>>     self.fc, self.norm = nn.Linear(5, 3), nn.LayerNorm(3)
// >>>   def forward(self, x): return self.norm(self.fc(x))
struct Net : xg::nn::Module {
  xg::nn::Linear& fc = register_module("fc", xg::nn::Linear(5, 3));
  xg::nn::LayerNorm& norm = register_module("norm", xg::nn::LayerNorm(3));
  xg::Tensor forward(const xg::Tensor& x) override { return norm(fc(x)); }
};

int main() {
  // ---- Tensors
  // >>> torch.manual_seed(0)
  xg::manual_seed(0);
  // >>> a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
  const xg::Tensor a = xg::tensor({{1.0, 2.0}, {3.0, 4.0}});
  // >>> w = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
  const xg::Tensor w = xg::randn({2, 5}, {.dtype = xg::float64, .requires_grad = true});
  // >>> x = torch.rand(2, 5)
  xg::Tensor x = xg::rand({2, 5});
  // >>> print(a)
  std::cout << a << "\n";
  // >>> print(x.shape, x.dtype == torch.float32)
  std::cout << x.shape() << " " << xg::to_string(x.dtype() == xg::float32) << "\n";
  // >>> print(a.tolist(), a.sum().item())
  std::cout << a.tolist() << " " << a.sum().tolist() << "\n";
  // >>> x = x.double().float()
  x = x.to(xg::float64).to(xg::float32);

  // ---- Operations
  // >>> print(a @ a + a ** 2)
  std::cout << matmul(a, a) + a.pow(2) << "\n";
  // >>> print(a.mean(dim=-1, keepdim=True))
  std::cout << a.mean({.dim = -1, .keepdim = true}) << "\n";
  // >>> print(a.var(dim=-1, unbiased=False))
  std::cout << a.var({.dim = -1, .unbiased = false}) << "\n";
  // >>> print(a[0], a[:, 1])
  std::cout << a[0] << " " << a.index({xg::Slice{}, 1}) << "\n";
  // >>> print(torch.cat([a, a], dim=1))
  std::cout << xg::cat({a, a}, 1) << "\n";
  // >>> values, indices = a.max(dim=1)
  const auto [values, indices] = a.max(1);
  // >>> print(torch.where(a > 2, a, 0.0 * a))
  std::cout << xg::where(a > 2, a, 0.0 * a) << "\n";
  // >>> print(torch.allclose(a, a + 1e-9, rtol=1e-5, atol=1e-8))
  std::cout << xg::to_string(xg::allclose(a, a + 1e-9, 1e-5, 1e-8)) << "\n";

  // ---- Gradients
  // >>> (w ** 2).sum().backward(); print(torch.equal(w.grad, 2 * w))
  w.pow(2).sum().backward();
  std::cout << xg::to_string(xg::equal(w.grad(), 2 * w)) << "\n";
  // >>> with torch.no_grad(): w -= 0.1 * w.grad
  {
    const xg::NoGrad no_grad;
    xg::Tensor handle = w;
    handle -= 0.1 * w.grad();
  }
  // >>> (g,) = torch.autograd.grad(w.exp().sum(), [w], create_graph=True)
  const xg::Tensor g = xg::grad(w.exp().sum(), {w}, {.create_graph = true})[0];
  // >>> print(torch.autograd.gradcheck(torch.tanh, (w,)))
  std::cout << xg::to_string(xg::gradcheck(xg::tanh, {w}).ok) << "\n";

  // ---- Modules
  // >>> mlp = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.1))
  auto mlp = xg::nn::Sequential(xg::nn::Linear(5, 6), xg::nn::BatchNorm1d(6), xg::nn::ReLU(),
                                xg::nn::Dropout(0.1));
  // >>> print(mlp)
  std::cout << mlp << "\n";
  // >>> norm = nn.LayerNorm(6, eps=1e-6)
  const xg::nn::LayerNorm norm(6, {.eps = 1e-6});
  // >>> net = Net(); net.train(); net.eval()
  Net net;
  net.train();
  net.eval();
  // >>> for name, p in net.named_parameters(): print(name, p.shape)
  for (const auto& [name, p] : net.named_parameters()) {
    std::cout << name << " " << p.shape() << "\n";
  }
  // >>> net.requires_grad_(False); net.requires_grad_(True)
  net.requires_grad_(false);
  net.requires_grad_(true);

  // ---- Training
  // >>> optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
  xg::optim::Adam optimizer(net.parameters(), {.lr = 1e-2});
  // >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
  xg::optim::StepLR scheduler(optimizer, {.step_size = 2, .gamma = 0.5});
  // >>> target = torch.tensor([0, 2])
  const xg::Tensor target = xg::tensor({0, 2});
  for (int step = 0; step < 3; ++step) {
    // >>> optimizer.zero_grad()
    optimizer.zero_grad();
    // >>> loss = F.cross_entropy(net(x), target)
    const xg::Tensor loss = xg::cross_entropy(net(x), target);
    // >>> loss.backward()
    loss.backward();
    // >>> torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    xg::optim::clip_grad_norm_(net.parameters(), 1.0);
    // >>> optimizer.step(); scheduler.step()
    optimizer.step();
    scheduler.step();
    std::cout << "step " << step << ": loss " << loss.tolist().fixed(4) << "\n";
  }

  // ---- Files
  // >>> safetensors.torch.save_file(net.state_dict(), "net.safetensors")
  xg::save_safetensors("net.safetensors", net.state_dict());
  // >>> net.load_state_dict(safetensors.torch.load_file("net.safetensors"), strict=True)
  net.load_state_dict(xg::load_safetensors("net.safetensors"), {.strict = true});
  std::remove("net.safetensors");

  // ---- Errors
  // >>> except RuntimeError as e: print(e)
  try {
    a + x;
  } catch (const xg::Error& e) {
    std::cout << e.what() << "\n";
  }
}
