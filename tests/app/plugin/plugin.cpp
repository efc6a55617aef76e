#include <cortado/cortado.h>

#include <cmath>
#include <cstdio>

/// Forward of a convolution of ones in mixed precision, whose programs are a module. The inner values are 16 * 9.
extern "C" int run() {
  cortado::MpiJob job;
  return job.run([&] {
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
  });
}
