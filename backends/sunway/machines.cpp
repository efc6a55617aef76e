#include <cmath>
#include <cstdio>
#include <deque>

#include "backends/sunway/costs.h"
#include "core/base/error.h"

// The machines, as data: each figure once, with its source. Figures are in the same order for all.
namespace cortado::sunway {
namespace {

constexpr Origin published = Origin::published, measured = Origin::measured, assumed = Origin::assumed;

constexpr const char* swcaffe = "Fang et al., swCaffe (2018), section II-A";
constexpr const char* benchmarked = "micro-benchmarks: Xu, Lin, Matsuoka (2017); Lin et al., swCandle (2018)";
constexpr const char* chips_and_cheese = "Chips and Cheese (2023) on SW26010-Pro at SC23";
constexpr const char* dma_report =
    "DMA sweeps of 2026 on a core group whose processor reports SW39000 and 2.25 GHz, the Pro's figures";
constexpr const char* public_code = "public programs: vector types floatv8 and doublev8 of 512 bits";
constexpr const char* as_before = "as on SW26010";
constexpr const char* no_source = "no source known; matters for short lines and small layers";

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}
std::string text_of(int value) { return std::to_string(value); }
std::string text_of(bool value) { return value ? "yes" : "no"; }
std::string text_of(const std::vector<MachineSpec::Transfer>& table) {
  std::string text;
  for (const auto& entry : table)
    text +=
        (text.empty() ? "" : ", ") + std::to_string(entry.block_bytes) + " B " + text_of(entry.bytes_per_second / 1e9);
  return text;
}

class Maker {
 public:
  Maker(const char* name, const char* title) {
    made_.costs.name = name;
    made_.costs.title = title;
  }
  template <class T>
  void is(T Costs::*field, const char* name, T value, Origin origin, const char* source) {
    made_.costs.*field = value;
    made_.figures.push_back({name, text_of(value), origin, source});
  }
  MachineDescription made() const { return made_; }

 private:
  MachineDescription made_;
};

MachineDescription make_sw26010() {
  using C = Costs;
  Maker m("sw26010", "SW26010");
  m.is(&C::core_groups, "core groups", 4, published, swcaffe);
  m.is(&C::scratch_bytes, "scratchpad of a CPE for programs, bytes", 56 * 1024, published,
       "64 KB of LDM (swCaffe), less 8 KB for stack and replies");
  m.is(&C::hz, "clock, Hz", 1.45e9, published, swcaffe);
  m.is(&C::peak_flops, "peak of a core group, flop/s", 742.4e9, published, swcaffe);
  m.is(&C::transfer_issue, "issue of a transfer, cycles", 25.0, assumed, no_source);
  m.is(&C::transfer_latency, "latency of a transfer, cycles", 1330.0, measured,
       "a contended round trip of 8 bytes takes 2.2 us");
  m.is(&C::transfers, "bandwidth by block, GB/s",
       {{32, 6.3e9},
        {64, 12.0e9},
        {96, 10.1e9},
        {128, 13.4e9},
        {192, 19.3e9},
        {224, 8.7e9},
        {256, 17.6e9},
        {320, 21.0e9},
        {448, 11.5e9},
        {512, 21.1e9},
        {768, 22.4e9},
        {1024, 23.5e9},
        {2048, 24.6e9},
        {3072, 25.3e9}},
       measured, "transfers by all CPEs of one core group");
  m.is(&C::bandwidth, "bandwidth of long transfers, bytes/s", 28e9, published, swcaffe);
  m.is(&C::request_bytes, "memory writes at once, bytes", 4, assumed, "the table knows no difference");
  m.is(&C::partial_put, "put that ends within such a request, cycles", 0.0, assumed, "the table knows no difference");
  m.is(&C::mpe_bandwidth, "copies by the MPE, bytes/s", 9.9e9, published, swcaffe);
  m.is(&C::message_latency, "latency of register communication, cycles", 11.0, measured, benchmarked);
  m.is(&C::send_depth, "entries of a FIFO to send", 6, measured, benchmarked);
  m.is(&C::receive_depth, "entries of a FIFO to receive", 4, measured, benchmarked);
  m.is(&C::has_rma, "RMA", false, published, swcaffe);
  m.is(&C::rma_issue, "issue of RMA, cycles", 0.0, published, "it has none");
  m.is(&C::rma_latency, "latency of RMA, cycles", 0.0, published, "it has none");
  m.is(&C::rma_bytes, "RMA of a CPE, bytes a cycle", 0.0, published, "it has none");
  m.is(&C::vector_lanes, "lanes of a vector", 4, published, swcaffe);
  m.is(&C::widens_single, "sums of single precision in double", true, published, "swCaffe, section IV-A");
  m.is(&C::arithmetic_latency, "latency of a multiply-add, cycles", 7.0, measured, benchmarked);
  m.is(&C::division, "division, cycles", 34.0, measured, benchmarked);
  m.is(&C::loop_start, "start of a lane loop or block of sums, cycles", 20.0, assumed, no_source);
  m.is(&C::line_start, "operation on data, cycles", 20.0, assumed, no_source);
  m.is(&C::unaligned_load, "load of a vector that is not aligned, cycles", 3.0, assumed, "two loads and a merge");
  m.is(&C::block_rows, "rows of sums in registers", 4, published, "the published product: 16 of 32 registers");
  m.is(&C::block_vectors, "vectors of sums in registers", 4, published, "the published product: 16 of 32 registers");
  m.is(&C::spawn, "launch, cycles", 15000.0, assumed, no_source);
  m.is(&C::barrier, "barrier, cycles", 60.0, assumed, no_source);
  return m.made();
}

MachineDescription make_sw26010pro() {
  using C = Costs;
  Maker m("sw26010pro", "SW26010-Pro");
  m.is(&C::core_groups, "core groups", 6, published, chips_and_cheese);
  m.is(&C::scratch_bytes, "scratchpad of a CPE for programs, bytes", 200 * 1024, published,
       "256 KB of LDM (Chips and Cheese), less 32 KB of cache and 24 KB for stack and replies");
  m.is(&C::hz, "clock, Hz", 2.25e9, published, chips_and_cheese);
  m.is(&C::peak_flops, "peak of a core group, flop/s", 2304e9, published,
       "64 CPEs x 8 lanes x 2 x 2.25 GHz: 13.8 Tflop/s of six; a vector has as many floats as doubles (public "
       "programs)");
  m.is(&C::transfer_issue, "issue of a transfer, cycles", 25.0, assumed, as_before);
  m.is(&C::transfer_latency, "latency of a transfer, cycles", 398.0, measured, dma_report);
  m.is(&C::transfers, "bandwidth by block, GB/s",
       {{8, 1.0e9}, {64, 8.0e9}, {128, 34.6e9}, {512, 42e9}, {4096, 46.1e9}, {65536, 47.8e9}}, measured,
       "the same; 64 B and 512 B between its entries are assumed");
  m.is(&C::bandwidth, "bandwidth of long transfers, bytes/s", 48e9, measured, dma_report);
  m.is(&C::request_bytes, "memory writes at once, bytes", 128, measured, dma_report);
  m.is(&C::partial_put, "put that ends within such a request, cycles", 32.0, measured,
       "the same: all CPEs put 64, 124, 132 B each in 2603, 3571, 2732 cycles, but 128 B in 434 to 533");
  m.is(&C::mpe_bandwidth, "copies by the MPE, bytes/s", 15.8e9, assumed, "as much of the memory's 51.2 GB/s as before");
  m.is(&C::message_latency, "latency of register communication, cycles", 0.0, published, "it has none");
  m.is(&C::send_depth, "entries of a FIFO to send", 0, published, "it has none");
  m.is(&C::receive_depth, "entries of a FIFO to receive", 0, published, "it has none");
  m.is(&C::has_rma, "RMA", true, published, "Gao et al., Sunway supercomputer architecture (2021)");
  m.is(&C::rma_issue, "issue of RMA, cycles", 25.0, assumed, "as a transfer");
  m.is(&C::rma_latency, "latency of RMA, cycles", 240.0, assumed, "as a put takes to leave, in the DMA sweeps");
  m.is(&C::rma_bytes, "RMA of a CPE, bytes a cycle", 16.0, assumed, "half of what register communication moved");
  m.is(&C::vector_lanes, "lanes of a vector", 8, published, public_code);
  m.is(&C::widens_single, "sums of single precision in double", false, published, public_code);
  m.is(&C::arithmetic_latency, "latency of a multiply-add, cycles", 7.0, assumed, as_before);
  m.is(&C::division, "division, cycles", 34.0, assumed, as_before);
  m.is(&C::loop_start, "start of a lane loop or block of sums, cycles", 20.0, assumed, as_before);
  m.is(&C::line_start, "operation on data, cycles", 20.0, assumed, as_before);
  m.is(&C::unaligned_load, "load of a vector that is not aligned, cycles", 3.0, assumed, as_before);
  m.is(&C::block_rows, "rows of sums in registers", 4, assumed, as_before);
  m.is(&C::block_vectors, "vectors of sums in registers", 4, assumed, as_before);
  m.is(&C::spawn, "launch, cycles", 23276.0, assumed, "10.3 us, as on SW26010");
  m.is(&C::barrier, "barrier, cycles", 60.0, assumed, as_before);
  return m.made();
}

const std::deque<MachineDescription>& machines() {
  static const std::deque<MachineDescription> all = {make_sw26010(), make_sw26010pro()};
  return all;
}

}  // namespace

const MachineDescription& machine_description(const std::string& name) {
  std::string names;
  for (const auto& machine : machines()) {
    if (machine.costs.name == name) return machine;
    names += (names.empty() ? "" : " or ") + machine.costs.name;
  }
  throw ConfigError("--simulate " + name, "no machine of that name is described", "take " + names);
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const auto& machine : machines()) names.push_back(machine.costs.name);
  return names;
}

}  // namespace cortado::sunway
