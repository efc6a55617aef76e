#include "app/session/instruction_set.h"

#include <algorithm>
#include <cstdlib>

#include "app/modules/modules.h"
#include "core/base/error.h"
#include "core/base/log.h"

namespace cortado {
namespace {

constexpr const char* variable = "CORTADO_ISA";

std::string listed(const std::vector<Isa>& isas) {
  std::string text;
  for (const Isa isa : isas) text += (text.empty() ? "" : ", ") + std::string(name_of(isa));
  return text;
}

bool has(const std::vector<Isa>& isas, Isa isa) { return std::find(isas.begin(), isas.end(), isa) != isas.end(); }

#if defined(CORTADO_WITH_KOKKOS) && !defined(CORTADO_WITH_CUDA) && defined(__AVX2__) && defined(__FMA__)
std::vector<Isa> list_built() {
#if defined(__AVX512BF16__)
  std::vector<Isa> built = {Isa::avx512_bf16};
#elif defined(__AVX512F__)
  std::vector<Isa> built = {Isa::avx512};
#else
  std::vector<Isa> built = {Isa::avx2};
#endif
  std::string names = std::string(loadable_isas()) + ",";
  for (std::size_t end; (end = names.find(',')) != std::string::npos; names.erase(0, end + 1)) {
    const auto isa = isa_named(names.substr(0, end));
    if (isa && *isa > built.back()) built.push_back(*isa);
  }
  if (built.back() == Isa::avx512_bf16) built.push_back(Isa::amx);  // by instructions that the compiler need not know
  return built;
}
#else
std::vector<Isa> list_built() { return {}; }
#endif

}  // namespace

const std::vector<Isa>& isas_of_build() {
  static const std::vector<Isa> built = list_built();
  return built;
}

std::string module_of(Isa isa) {
  const Isa compiled = std::min(isa, Isa::avx512_bf16);
  return compiled <= isas_of_build().front() ? "" : name_of(compiled);
}

Isa choose_isa(const std::vector<Isa>& built, std::optional<Isa> processor, const char* forced) {
  if (!processor || *processor < built.front())
    throw ConfigError("this processor", std::string("has not ") + name_of(built.front()) + ", which this build is for",
                      "build it on a machine of this kind, or the preset 'portable'");
  if (forced == nullptr) {
    const auto beyond = std::upper_bound(built.begin(), built.end(), *processor);
    return *(beyond - 1);
  }
  const auto wanted = isa_named(forced);
  if (!wanted) throw ConfigError(variable, std::string("is '") + forced + "'", "choose one of " + listed(built));
  if (!has(built, *wanted))
    throw ConfigError(variable,
                      std::string("is ") + forced + ", for which this build has no programs: it has " + listed(built),
                      "the preset 'portable' has all");
  if (*wanted > *processor)
    throw ConfigError(
        variable, std::string("is ") + forced + ", this processor has " + name_of(*processor) + " at most", "unset it");
  return *wanted;
}

std::optional<Isa> choose_isa() {
  const char* const forced = std::getenv(variable);
  if (!isas_of_build().empty()) return choose_isa(isas_of_build(), isa_of_processor(), forced);
  if (forced != nullptr)
    CORTADO_LOG(warning) << variable << " has no meaning here: this build has programs of one kind";
  return {};
}

std::string describe_choice(Isa chosen) {
  std::string text = name_of(chosen);
  if (std::getenv(variable) != nullptr) return text + ", as " + variable + " says";
  if (isa_of_processor() && *isa_of_processor() == chosen) return text + ", the most that this processor has";
  return text + (chosen == isas_of_build().back() ? ", the most that this build has"
                                                  : ", the most that every rank's processor has");
}

}  // namespace cortado
