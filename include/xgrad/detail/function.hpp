#pragma once

#include <concepts>

#include "xgrad/detail/ref.hpp"

namespace xgrad::detail {

template <class Signature>
class Function;

/// A stored callable; copies share it. One that returns nothing gives R(). Instead of
/// std::function, whose header every user's file would pay for.
template <class R, class... A>
class Function<R(A...)> {
  struct Body : RefCounted {
    virtual ~Body() = default;
    virtual R call(A... a) = 0;
    static void destroy(Body* body) noexcept { delete body; }
  };
  template <class F>
  struct BodyOf final : Body {
    F f;
    explicit BodyOf(F fn) : f(std::move(fn)) {}
    R call(A... a) override {
      if constexpr (std::is_void_v<std::invoke_result_t<F&, A...>>) {
        f(a...);
        return R();
      } else {
        return static_cast<R>(f(a...));
      }
    }
  };

 public:
  template <class F>
  requires(std::invocable<F&, A...> && !std::same_as<F, Function>) Function(F f)
      : body_(new BodyOf<F>(std::move(f))) {}
  R operator()(A... a) const { return body_->call(a...); }

 private:
  Ref<Body> body_;
};

}  // namespace xgrad::detail
