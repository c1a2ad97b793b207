// What the checker says of a wrong answer; then, that every known mistake is told from the right
// answer and from all others.
#include <cmath>
#include <cstdio>

#include "dojo.hpp"

static void dropped_term(const dojo::Forward&, dojo::Gradients& d) {
  d.mean = -d.centred.sum(-1);
  d.x = d.centred;
}

int main() {
  dojo::check(dojo::centre(dropped_term));
  std::printf("\n");
  int count = 0, failed = 0;
  const auto expect = [&](const std::string& where, const dojo::Answer& answer,
                          const xg::Tensor& value, const std::optional<std::string>& wanted) {
    ++count;
    const auto got = answer.verdict(value);
    if (got == wanted) return;
    ++failed;
    std::printf("%s: wanted \"%s\", got \"%s\"\n", where.c_str(), wanted.value_or("right").c_str(),
                got.value_or("right").c_str());
  };
  for (const dojo::Exercise& exercise : dojo::exercises()) {
    for (const dojo::Answer& answer : exercise.answers) {
      const std::string where = "exercise " + std::to_string(exercise.number) + " " + answer.name;
      const xg::Tensor& right = answer.right;
      expect(where, answer, right, std::nullopt);
      expect(where, answer, right * (1 + 1e-14), std::nullopt);
      for (const dojo::Mistake& mistake : answer.mistakes) {
        expect(where, answer, mistake.value, mistake.looks_like);
      }
      expect(where, answer, -right, "the sign is wrong");
      expect(where, answer, right / 2, "half of it: forgot a factor 2, or one of two equal shares");
      expect(where, answer, right * 0.75, "right up to a factor of 0.75");
      expect(where, answer, right + 1, "");
      expect(where, answer, xg::zeros({2, 3}), "");
      expect(where, answer, right * NAN, "");
      expect(where, answer, right.unsqueeze(0), "the right numbers; keepdim keeps the shape");
      if (right.shape() == xg::Shape{6}) {
        expect(where, answer, right.expand({4, 6}) / 4.0, "forgot to sum over the batch");
      }
    }
  }
  std::printf("%d answers judged, %d of them wrongly\n", count, failed);
  return failed ? 1 : 0;
}
