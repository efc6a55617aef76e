#include <cortado/cortado.h>
#include <mpi.h>

#include <cmath>
#include <cstdio>

namespace {
/// Forward of a convolution of ones in mixed precision, whose programs are a module.
int convolve(const cortado::MpiJob& job) {
  cortado::SessionOptions options;
  options.precision = "bf16";
  cortado::Session session(job, options);
  caffe::NetParameter text;
  cortado::parse_text(R"(
    layer { name: "data" type: "DummyData" top: "data"
            dummy_data_param { shape { dim: 2 dim: 16 dim: 8 dim: 8 } data_filler { type: "constant" value: 1 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 16 kernel_size: 3 weight_filler { type: "constant" value: 1 } } })",
                      "plugin", text);
  cortado::Net net(text, session.net_options());
  net.forward();
  for (const float value : net.blob("conv")->data_vector())
    if (std::abs(value - 16 * 9) > 0.5F) {
      std::fprintf(stderr, "a value is %g\n", value);
      return 1;
    }
  return 0;
}

/// True if a job says that MPI has ended.
bool refuses() {
  try {
    cortado::MpiJob job;
  } catch (const cortado::ConfigError&) { return true; }
  return false;
}
}  // namespace

/// Two jobs, one after the other, in MPI that this plugin starts and ends.
extern "C" int run() {
  int threads = 0, bad = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads);
  for (int i = 0; i < 2; ++i) {
    cortado::MpiJob job;
    cortado::set_log_level(cortado::Severity::error);
    bad += job.run([&] { return convolve(job); });
  }
  MPI_Finalize();
  if (!refuses()) bad += 1;
  return bad;
}
