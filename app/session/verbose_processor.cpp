#include "app/session/verbose_processor.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/machine/convolution_library.h"
#include "core/net/current_work.h"

namespace cortado {
namespace {
/// Where lines go. Ranks and core groups may write at the same time: each line is one write.
class VerboseLines {
 public:
  explicit VerboseLines(const VerboseOptions& options) : rank_(options.rank) {
    if (!options.file.empty()) {
      const std::string name = options.file + (options.ranks > 1 ? "." + std::to_string(options.rank) : "");
      file_ = Descriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
      if (!file_) throw_system_error(name, "written (CORTADO_VERBOSE_FILE)");
    }
    if (!options.file.empty() || options.rank == 0) write(verbose_columns);
  }

  int rank() const { return rank_; }
  void write(const std::string& line) {
    const std::string text = line + "\n";
    const std::lock_guard<std::mutex> lock(mutex_);
    const int to = file_ ? file_.get() : STDERR_FILENO;
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t now = ::write(to, text.data() + done, text.size() - done);
      if (now <= 0) return;  // a record that cannot be written ends no training
      done += static_cast<std::size_t>(now);
    }
  }

 private:
  const int rank_;
  Descriptor file_;
  std::mutex mutex_;
};

/// A field of CSV: between quotes where a comma or a quote needs it.
std::string csv_field(const std::string& text) {
  const std::string plain = printable(text);
  if (plain.find_first_of(",\"") == std::string::npos) return plain;
  std::string quoted = "\"";
  for (const char c : plain) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string shapes_text(const Layer::Blobs* blobs) {
  std::string text;
  for (std::size_t i = 0; blobs != nullptr && i < blobs->size(); ++i) {
    text += i > 0 ? " + " : "";
    const Shape& shape = (*blobs)[i]->shape();
    for (std::size_t d = 0; d < shape.size(); ++d) text += (d > 0 ? "x" : "") + std::to_string(shape[d]);
    if (shape.empty()) text += "scalar";
  }
  return text;
}

/// The candidates that the layer chose for the directions of this pass: "direct", "weight_gradient winograd ...".
std::string candidates_text(const CurrentWork& work) {
  std::string text;
  const bool is_forward = work.direction == std::string("forward");
  for (const auto& [direction, candidate] : work.layer != nullptr ? work.layer->plans() : PlanBook()) {
    if ((direction == "forward") != is_forward || direction == layout_direction) continue;
    text += (text.empty() ? "" : " ") + (is_forward ? "" : direction + " ") + candidate;
  }
  return text;
}

std::string bookings_text(const Plan& plan) {
  std::string text;
  for (const Plan::Booking& one : plan.bookings)
    text += (text.empty() ? "" : "; ") + one.name + " " + std::to_string(one.place.slots) + " x " +
            std::to_string(one.place.bytes) + " B";
  return text;
}

double layer_bytes(const CurrentWork& work) {
  if (work.layer == nullptr || work.bottom == nullptr || work.top == nullptr) return 0;
  const Layer::Cost cost = work.layer->cost(*work.bottom, *work.top);
  return work.direction == std::string("forward") ? cost.forward_bytes : cost.backward_bytes;
}

std::string verbose_line(int rank, int group, const std::string& program, const std::string& plan, i64 work_items,
                         i64 scratch_bytes, double seconds) {
  const CurrentWork& work = current_work();
  const std::string bottoms = shapes_text(work.bottom), tops = shapes_text(work.top);
  const std::string shapes = bottoms + (bottoms.empty() && tops.empty() ? "" : " -> ") + tops;
  const std::string chosen = candidates_text(work);
  return fmt::format("cortado_verbose,{},{},{},{},{},{},{},{},{},{:.0f},{:.6f}", rank, group,
                     csv_field(work.name != nullptr ? *work.name : ""), work.direction, csv_field(program),
                     csv_field(chosen + (chosen.empty() || plan.empty() ? "" : ": ") + plan), csv_field(shapes),
                     work_items, scratch_bytes, layer_bytes(work), 1e3 * seconds);
}

/// Products of the real library, each timed.
class VerboseLibrary : public MatrixLibrary {
 public:
  VerboseLibrary(MatrixLibrary& real, CoreGroup& group, VerboseLines& lines)
      : real_(real), group_(group), lines_(lines) {}
  std::string name() const override { return real_.name(); }
  void gemm(const Gemm& g) override {
    timed("gemm", g, 1, [&] { real_.gemm(g); });
  }
  void gemm_batch(const Gemm& g, i64 count, i64 stride_a, i64 stride_b, i64 stride_y) override {
    timed("gemm_batch", g, count, [&] { real_.gemm_batch(g, count, stride_a, stride_b, stride_y); });
  }

 private:
  template <class Work>
  void timed(const char* program, const Gemm& g, i64 count, const Work& work) {
    const CoreGroup::Event begin = group_.record();
    work();
    const double seconds = group_.seconds_between(begin, group_.record());
    lines_.write(verbose_line(lines_.rank(), group_.index(), program,
                              "m " + std::to_string(g.m) + "; n " + std::to_string(g.n) + "; k " + std::to_string(g.k) +
                                  (g.transpose_a ? "; A turned" : "") + (g.transpose_b ? "; B turned" : ""),
                              count, 0, seconds));
  }

  MatrixLibrary& real_;
  CoreGroup& group_;
  VerboseLines& lines_;
};

/// Convolutions of the real library, each timed.
class VerboseConvolutions : public ConvolutionLibrary {
 public:
  VerboseConvolutions(ConvolutionLibrary& real, CoreGroup& group, VerboseLines& lines)
      : real_(real), group_(group), lines_(lines) {}
  std::string name() const override { return real_.name(); }
  std::unique_ptr<Convolution> prepare(const Shape& shape, Product product, Method method, int quicker,
                                       std::string& why) override {
    auto real = real_.prepare(shape, product, method, quicker, why);
    if (real == nullptr) return nullptr;
    return std::make_unique<Timed>(std::move(real), group_, lines_);
  }

 private:
  class Timed : public Convolution {
   public:
    Timed(std::unique_ptr<Convolution> real, CoreGroup& group, VerboseLines& lines)
        : real_(std::move(real)), group_(group), lines_(lines) {}
    i64 workspace_bytes() const override { return real_->workspace_bytes(); }
    std::string algorithm() const override { return real_->algorithm(); }
    void run(const float* x_or_dy, const float* w_or_dy, float* result, bool adds, void* workspace) override {
      const CoreGroup::Event begin = group_.record();
      real_->run(x_or_dy, w_or_dy, result, adds, workspace);
      const double seconds = group_.seconds_between(begin, group_.record());
      lines_.write(
          verbose_line(lines_.rank(), group_.index(), "convolution", "algorithm " + algorithm(), 1, 0, seconds));
    }

   private:
    std::unique_ptr<Convolution> real_;
    CoreGroup& group_;
    VerboseLines& lines_;
  };

  ConvolutionLibrary& real_;
  CoreGroup& group_;
  VerboseLines& lines_;
};

class VerboseGroup : public CoreGroup {
 public:
  VerboseGroup(CoreGroup& real, VerboseLines& lines) : real_(real), lines_(lines) {
    if (real.library() != nullptr) library_ = std::make_unique<VerboseLibrary>(*real.library(), real, lines);
    if (real.convolutions() != nullptr)
      convolutions_ = std::make_unique<VerboseConvolutions>(*real.convolutions(), real, lines);
  }
  const MachineSpec& spec() const override { return real_.spec(); }
  int index() const override { return real_.index(); }
  void* allocate(std::size_t bytes) override { return real_.allocate(bytes); }
  void release(void* memory) noexcept override { real_.release(memory); }
  void* allocate_staging(std::size_t bytes) override { return real_.allocate_staging(bytes); }
  void release_staging(void* memory) noexcept override { real_.release_staging(memory); }
  Stream make_stream() override { return real_.make_stream(); }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    real_.copy(to, from, bytes, stream);
  }
  void zero(void* memory, std::size_t bytes, Stream stream) override { real_.zero(memory, bytes, stream); }
  void wait() override { real_.wait(); }
  void order(Stream earlier, Stream later) override { real_.order(earlier, later); }
  Event record(Stream stream) override { return real_.record(stream); }
  double seconds_between(const Event& from, const Event& to) override { return real_.seconds_between(from, to); }
  MatrixLibrary* library() override { return library_.get(); }
  std::string why_no_library() const override { return real_.why_no_library(); }
  ConvolutionLibrary* convolutions() override { return convolutions_.get(); }
  std::string why_no_convolutions() const override { return real_.why_no_convolutions(); }

 protected:
  void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream stream) override {
    // A using-declaration names CoreGroup's own member, which may then be called for another object.
    struct Launch : CoreGroup {
      using CoreGroup::run_program;
    };
    const Event begin = real_.record(stream);
    (real_.*(&Launch::run_program))(key, label, program, plan, stream);
    const double seconds = real_.seconds_between(begin, real_.record(stream));
    lines_.write(
        verbose_line(lines_.rank(), index(), label, bookings_text(plan), plan.work_items, plan.scratch_bytes, seconds));
  }

 private:
  CoreGroup& real_;
  VerboseLines& lines_;
  std::unique_ptr<VerboseLibrary> library_;  // where the real one has one, like the next
  std::unique_ptr<VerboseConvolutions> convolutions_;
};

class VerboseProcessor : public Processor {
 public:
  VerboseProcessor(std::unique_ptr<Processor> real, const VerboseOptions& options)
      : real_(std::move(real)), lines_(options) {
    for (int i = 0; i < real_->core_groups(); ++i)
      groups_.push_back(std::make_unique<VerboseGroup>(real_->group(i), lines_));
  }
  int core_groups() const override { return real_->core_groups(); }
  CoreGroup& group(int index) override { return *groups_[static_cast<std::size_t>(index)]; }
  void run(const std::function<void(CoreGroup&, GroupBarrier&)>& work) override {
    real_->run([&](CoreGroup& own, GroupBarrier& barrier) { work(group(own.index()), barrier); });
  }

 private:
  std::unique_ptr<Processor> real_;
  VerboseLines lines_;
  std::vector<std::unique_ptr<VerboseGroup>> groups_;
};
}  // namespace

const char* const verbose_columns =
    "cortado_verbose,rank,core_group,layer,direction,program,plan,shapes,work_items,scratch_bytes,layer_bytes,ms";

VerboseOptions verbose_options(int rank, int ranks) {
  VerboseOptions options;
  options.rank = rank;
  options.ranks = ranks;
  const char* const wish = std::getenv("CORTADO_VERBOSE");
  const std::string text = wish != nullptr ? wish : "";
  if (!text.empty() && text != "0" && text != "1")
    throw ConfigError("CORTADO_VERBOSE", "'" + text + "' has no meaning", "1: a line per launch, 0: none");
  options.is_on = text == "1";
  if (const char* const file = std::getenv("CORTADO_VERBOSE_FILE")) options.file = file;
  return options;
}

std::unique_ptr<Processor> verbosely(std::unique_ptr<Processor> real, const VerboseOptions& options) {
  if (!options.is_on) return real;
  return std::make_unique<VerboseProcessor>(std::move(real), options);
}

}  // namespace cortado
