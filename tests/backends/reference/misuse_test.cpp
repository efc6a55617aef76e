#include <gtest/gtest.h>

#include <vector>

#include "tests/backends/reference/programs.h"
#include "tests/backends/reference/rig.h"

namespace cortado::test::misuse_test {
namespace {

constexpr i64 lines = 5, n = 7;

/// Runs program Misuse on lines that hold 0, 1, 2, ...; returns what the wait says.
class Misused {
 public:
  explicit Misused(int lanes)
      : processor_(reference_processor(lanes)),
        group_(processor_->group(0)),
        x_(group_, lines * n * sizeof(float)),
        y_(group_, lines * n * sizeof(float)) {
    for (i64 i = 0; i < lines * n; ++i) x_.as<float>()[i] = static_cast<float>(i);
  }

  std::string run(Fault fault) {
    PlanBuilder book(group_.spec()), other(group_.spec());
    float host[n] = {};
    const Buf in = book.line<float>("in", n, 1), out = book.line<float>("out", n, 1),
              small = book.line<float>("small", 1, 1);
    const Buf tile_in = book.tile<float>("tile_in", n, 1), tile_in2 = book.tile<float>("tile_in2", n, 1);
    const Buf sum = book.tile<float>("sum", n, 1), foreign = other.line<float>("foreign", 1024, 3);
    group_.launch(Misuse{fault, x(), y(), host, lines, n, in, out, small, tile_in, tile_in2, sum, foreign},
                  book.plan(lines));
    return wait_error(group_);
  }
  float* x() { return x_.as<float>(); }
  float* y() { return y_.as<float>(); }

 private:
  std::unique_ptr<Processor> processor_;
  CoreGroup& group_;
  ClusterMemory x_, y_;
};

struct Planted {
  Fault fault;
  const char* name;
  const char* where;   ///< what the message must say about the place
  const char* what;    ///< and about the mistake
  bool lanes = false;  ///< only several lanes make it visible
};

const Planted planted[] = {
    {Fault::read_out_of_range, "ReadOutOfRange", "line 0: buffer 'in'", "element 7 is outside [0, 7)"},
    {Fault::set_out_of_range, "SetOutOfRange", "line 0: buffer 'out'", "element 7 is outside [0, 7)"},
    {Fault::set_outside_loop, "SetOutsideLoop", "line 0: buffer 'out'", "set outside a lane loop"},
    {Fault::set_other_element, "SetOtherElement", "line 0: buffer 'out'", "each at 0 sets element 6"},
    {Fault::set_in_fold, "SetInFold", "line 0: buffer 'out'", "set inside fold"},
    {Fault::partly_set, "PartlySet", "line 0: buffer 'out'", "element 6 of 7 was never set"},
    {Fault::never_put, "NeverPut", "line 0: buffer 'out'", "was never put"},
    {Fault::set_after_put, "SetAfterPut", "line 0: buffer 'out'", "used after put"},
    {Fault::put_twice, "PutTwice", "line 0: buffer 'out'", "used after put"},
    {Fault::read_before_set, "ReadBeforeSet", "line 0: buffer 'out'", "reads element 0, which was not set"},
    {Fault::get_in_loop, "GetInLoop", "line 0", "get inside each"},
    {Fault::loop_in_loop, "LoopInLoop", "line 0", "each inside each"},
    {Fault::keep_in_line, "KeepInLine", "line 0", "keep inside of lines"},
    {Fault::lines_in_lines, "LinesInLines", "line 0", "lines inside of lines"},
    {Fault::stale_input, "StaleInput", "CPE 0: buffer 'in'", "given to a later line; the booking has 1 slots"},
    {Fault::overwritten_keep, "OverwrittenKeep", "line 0: buffer 'in'", "would overwrite what keep brought"},
    {Fault::lanes_differ_in_length, "LanesDifferInLength", "line 0", "control flow outside lane loops must be uniform",
     true},
    {Fault::lanes_differ_in_flow, "LanesDifferInFlow", "line 0", "control flow outside lane loops must be uniform",
     true},
    {Fault::lane_reads_what_other_sets, "LaneReadsWhatOtherSets", "line 0: buffer 'out'",
     "no lane loop ends in between", true},
    {Fault::lane_sets_what_other_read, "LaneSetsWhatOtherRead", "line 0: buffer 'out'",
     "which another lane reads, and no", true},
    {Fault::uniform_read_before_set, "UniformReadBeforeSet", "line 0: buffer 'out'", "no lane loop ends in between",
     true},
    {Fault::beyond_booking, "BeyondBooking", "line 0: buffer 'small'", "132 bytes, booked are 128"},
    {Fault::foreign_buf, "ForeignBuf", "line 0", "a Buf that the launch's plan did not book"},
    {Fault::tile_booking_for_line, "TileBookingForLine", "line 0: buffer 'tile_in'", "needs a booking for lines"},
    {Fault::host_memory, "HostMemory", "line 0: buffer 'in'", "outside the memory of the core group"},
    {Fault::past_the_end, "PastTheEnd", "line 0: buffer 'in'", "ends 4 bytes behind the end"},
    {Fault::misaligned, "Misaligned", "line 0: buffer 'small'", "not aligned"},
    {Fault::reads_other_line, "ReadsOtherLine", "buffer 'in': reads memory", "that line 0 writes too"},
    {Fault::two_lines_write, "TwoLinesWrite", "line 1: buffer 'out'", "that line 0 reads or writes too"},
    {Fault::partial_alias, "PartialAlias", "line 0: buffer 'out'", "exactly or not at all"},
    {Fault::read_after_aliased_set, "ReadAfterAliasedSet", "line 0: buffer 'in'",
     "after the output on the same memory has set it"},
    {Fault::lane_reads_aliased, "LaneReadsAliased", "line 0: buffer 'in'", "reads element"},
    {Fault::two_outputs, "TwoOutputs", "line 0: buffer 'small'", "overlaps an output that was not put yet"},
    {Fault::slot_of_open_output, "SlotOfOpenOutput", "line 0: buffer 'out'", "an output of line 0 that was not put"},
    {Fault::overlapping_rows, "OverlappingRows", "line 0: buffer 'out'", "rows of an output overlap"},
    {Fault::turned_partly_set, "TurnedPartlySet", "line 0: buffer 'tile_in'", "element 1 of 2 was never set"},
    {Fault::turned_other_column, "TurnedOtherColumn", "line 0: buffer 'tile_in'", "each at 0 sets element (0, 1)"},
    {Fault::streamed_from_a_line, "StreamedFromALine", "line 0: buffer 'out'",
     "out_streamed needs a booking for tiles"},
    {Fault::streamed_partly_set, "StreamedPartlySet", "line 0: buffer 'tile_in'", "element 1 of 2 was never set"},
    {Fault::staged_out_of_range, "StagedOutOfRange", "line 0: buffer 'tile_in'", "element 7 is outside [0, 7)"},
    {Fault::box_outside_memory, "BoxOutsideMemory", "tile 0: buffer 'tile_in'", "the staged box ends"},
    {Fault::restaged_operand, "RestagedOperand", "tile 0: buffer 'tile_in'", "given to a later line"},
    {Fault::view_beyond_box, "ViewBeyondBox", "tile 0: buffer 'tile_in2'",
     "reads elements 0 to 4 of what it multiplies"},
    {Fault::block_out_of_range, "BlockOutOfRange", "tile 0: buffer 'tile_in'", "element 2 is outside [0, 2)"},
    {Fault::block_other_column, "BlockOtherColumn", "tile 0: buffer 'tile_in'", "each at 0 sets element (0, 1)"},
    {Fault::block_partly_set, "BlockPartlySet", "tile 0: buffer 'tile_in'", "fma reads element 2, which was not set"},
    {Fault::view_beyond_block, "ViewBeyondBlock", "tile 0: buffer 'tile_in'", "reads elements 0 to 4 of what it"},
    {Fault::wrong_share, "WrongShare", "tile 0", "row_share of step 1"},
    {Fault::tiles_write_same, "TilesWriteSame", "tile 4: buffer 'sum'", "that tile 0 reads or writes too"},
    {Fault::store_over_staged_of_others, "StoreOverStagedOfOthers", "tile 4: buffer 'tile_in2': reads memory",
     "that tile 0 writes too"},
    {Fault::store_outside_memory, "StoreOutsideMemory", "tile 0: buffer 'sum'", "the stored box ends"},
};

class MisuseTest : public ::testing::TestWithParam<std::tuple<Planted, int>> {};

TEST_P(MisuseTest, IsReportedAtTheWaitAndTheGroupGoesOn) {
  const Planted& plant = std::get<0>(GetParam());
  Misused misused(std::get<1>(GetParam()));
  const std::string error = misused.run(plant.fault);
  EXPECT_NE(error.find("program misuse, "), std::string::npos) << error;
  EXPECT_NE(error.find(plant.where), std::string::npos) << error;
  EXPECT_NE(error.find(plant.what), std::string::npos) << error;
  EXPECT_EQ(misused.run(Fault::none), "");
  for (i64 i = 0; i < lines * n; ++i) ASSERT_EQ(misused.y()[i], misused.x()[i] + 1.0f);
  EXPECT_EQ(misused.run(Fault::good_tiles), "");
}

std::vector<std::tuple<Planted, int>> cases() {
  std::vector<std::tuple<Planted, int>> all;
  for (const Planted& plant : planted)
    for (const int lanes : {1, 3})
      if (lanes > 1 || !plant.lanes) all.emplace_back(plant, lanes);
  return all;
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<Planted, int>>& info) {
  return std::get<0>(info.param).name + std::string(std::get<1>(info.param) > 1 ? "InLanes" : "");
}

INSTANTIATE_TEST_SUITE_P(Faults, MisuseTest, ::testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace cortado::test::misuse_test
