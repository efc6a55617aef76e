#include "layers/gemm/gemm.h"

#include <cstdio>

#include "app/bench/bench.h"
#include "app/measure/measure.h"
#include "app/report/progress_bar.h"
#include "core/base/error.h"

namespace cortado {
namespace {

/// (m x k) times (k x n).
struct Product {
  i64 m, n, k;
  double flops() const { return 2.0 * static_cast<double>(m * n) * static_cast<double>(k); }
  std::string text() const { return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k); }
};

/// Squares; products as thin as fully connected layers' and as those of im2col.
const std::vector<Product> usual = {{256, 256, 256},    {512, 512, 512},   {1024, 1024, 1024}, {2048, 2048, 2048},
                                    {4096, 4096, 4096}, {64, 4096, 4096},  {4096, 64, 4096},   {4096, 4096, 64},
                                    {64, 50176, 27},    {256, 3136, 2304}, {512, 196, 4608}};

Product parse(const std::string& text) {
  Product p{};
  char rest = 0;
  if (std::sscanf(text.c_str(), "%ldx%ldx%ld%c", &p.m, &p.n, &p.k, &rest) != 3 || p.m < 1 || p.n < 1 || p.k < 1)
    throw ConfigError("--shapes " + text, "is not MxNxK", "as in 1024x64x4096");
  return p;
}

struct Way {
  Multiplier multiplier;
  const char* name;
};
constexpr Way ways[] = {{Multiplier::library, "library"}, {Multiplier::tile_program, "tile_program"}};

std::string refuse(CoreGroup& group, Multiplier multiplier, bool in_double) {
  if (in_double && multiplier == Multiplier::library) return "it is asked for products of float only";
  return why_not(multiplier, group);
}

template <class T, class Multiply>
double time_product(CoreGroup& group, const Product& p, Multiply multiply_them) {
  const ClusterMemory a = numbers<T>(group, p.m * p.k), b = numbers<T>(group, p.k * p.n),
                      y = numbers<T>(group, p.m * p.n);
  return seconds_of(group, [&] { multiply_them(a.as<T>(), b.as<T>(), y.as<T>()); });
}

double time_product(CoreGroup& group, const Product& p, Multiplier multiplier, bool in_double) {
  if (in_double)
    return time_product<double>(
        group, p, [&](const double* a, const double* b, double* y) { multiply(group, p.m, p.n, p.k, a, b, y); });
  return time_product<float>(group, p, [&](const float* a, const float* b, float* y) {
    multiply(group, multiplier, MatrixLibrary::Gemm{false, false, p.m, p.n, p.k, 1, a, p.k, b, p.n, 0, y, p.n});
  });
}

class BenchGemm : public Bench {
  void add_own(Flags& flags) override;
  void measure(Session& session) override;
  std::vector<Product> products() const;

  std::vector<i64> sizes_;
  std::vector<std::string> shapes_;
  std::string type_ = "float";
};

void BenchGemm::add_own(Flags& flags) {
  const Flag sizes = flags.add("--sizes", sizes_, "Square products of these sizes").positive();
  flags.add("--shapes", shapes_, "Products MxNxK: (M x K) times (K x N)").excludes(sizes);
  flags.add("--type", type_, "float or double").shows_default().one_of({"float", "double"});
}

std::vector<Product> BenchGemm::products() const {
  std::vector<Product> list;
  for (const auto& text : shapes_) list.push_back(parse(text));
  for (const i64 n : sizes_) list.push_back({n, n, n});
  return list.empty() ? usual : list;
}

void BenchGemm::measure(Session& session) {
  CoreGroup& group = session.group;
  const bool in_double = type_ == "double";
  const auto products = this->products();
  const Limits limits = limits_of(group);
  Report report({{"shape", "m x n x k"},
                 {"type", "type"},
                 {"multiplier", "multiplier"},
                 {"seconds", "s", 5},
                 {"gflops", "Gflop/s", 1},
                 {"peak_share", "of peak", 3}},
                group.spec(), bench_options("gemm", {}, limits));
  std::string below = "peak: " + to_string(limits) + "\n";
  ProgressBar bar("timing products");
  i64 done = 0;
  const auto total = static_cast<i64>(products.size());
  for (const auto& [multiplier, name] : ways) {
    const std::string reason = refuse(group, multiplier, in_double);
    if (!reason.empty()) below += std::string(name) + " cannot run: " + reason + "\n";
    for (const auto& p : reason.empty() ? products : std::vector<Product>()) {
      bar.show(done++, 2 * total, p.text() + " " + name);
      const double seconds = time_product(group, p, multiplier, in_double);
      report.add({{"shape", p.text()},
                  {"m", p.m},
                  {"n", p.n},
                  {"k", p.k},
                  {"type", type_},
                  {"multiplier", name},
                  {"seconds", seconds},
                  {"gflops", p.flops() / seconds / 1e9},
                  {"peak_share", p.flops() / seconds / limits.flops}});
    }
  }
  show(session, report, below);
}

}  // namespace

std::unique_ptr<Verb> make_bench_gemm() { return std::make_unique<BenchGemm>(); }

}  // namespace cortado
