#include "core/machine/plan.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/machine/integers.h"

namespace cortado {
namespace {
constexpr i64 kAlign = 128;  // the widest any backend wants: a CUDA sector pair, two AVX-512 lines
}  // namespace

Buf PlanBuilder::spilled(Buf place) {
  if (spec_.works_from_caches()) spilled_ += place.bytes;
  return place;
}

Buf PlanBuilder::operand(const char* name, i64 elements, i64 element_bytes, Depth depth, bool turns, bool widens) {
  const bool widened = widens && spec_.multiply.widens_single && element_bytes == 4;
  const int copy = widened ? 2 : turns && spec_.lines_in_scratch ? 1 : 0;
  return book(name, Use::tile, elements * element_bytes, static_cast<int>(depth), copy + spec_.multiply.receive_slots);
}

Buf PlanBuilder::book(const char* name, Use use, i64 bytes, int slots, int spare) {
  Buf place;
  place.bytes = static_cast<std::uint32_t>(round_up(std::max<i64>(bytes, 1), kAlign));
  place.slots = slots;
  place.spare = spare;
  place.id = static_cast<std::int32_t>(bookings_.size());
  place.offset = static_cast<std::uint32_t>(used_);
  if (use == Use::tile || spec_.lines_in_scratch) used_ += i64{place.bytes} * (slots + spare);
  bookings_.push_back({name, use, place});
  return place;
}

std::string PlanBuilder::reason() const {
  if (fits()) return "";
  std::string text = "needs " + std::to_string(used_ - spilled_) + " bytes of scratchpad, a CPE has " +
                     std::to_string(spec_.scratch_bytes) + ":";
  for (const auto& b : bookings_)
    text += " " + b.name + " " + std::to_string(b.place.slots) + " x " + std::to_string(b.place.bytes);
  return text;
}

Plan PlanBuilder::plan(i64 work_items) const {
  if (!fits()) throw PlanError("", reason(), "use smaller tiles");
  Plan plan;
  plan.bookings = bookings_;
  plan.scratch_bytes = used_;
  plan.spilled_bytes = spilled_;
  plan.work_items = work_items;
  return plan;
}

i64 line_elements(const MachineSpec& spec, i64 n, int buffers, i64 element_bytes) {
  const i64 vector = std::max<i64>(1, spec.simd_bytes / element_bytes);
  const bool borrows = !spec.lines_in_scratch && !spec.host_memory;  // a device's memory, without the scratchpad
  const i64 fit = borrows ? n : std::max(vector, spec.scratch_bytes / buffers / element_bytes / 32 * 32);
  const i64 spread = round_up(std::max<i64>(1, (n + spec.cpes - 1) / spec.cpes), vector);
  const i64 worth = std::max(vector, spec.line_bytes / element_bytes);
  // Long lines pay the transfer start-up once; lines shorter than `worth` waste bandwidth even if CPEs idle.
  return std::max<i64>(1, std::min({fit, std::max(spread, worth), round_up(std::max<i64>(n, 1), vector)}));
}

}  // namespace cortado
