// Trains a net of its own text on values of its own making: is a point inside a ring? Each rank makes other points.
#include <cortado/cortado.h>

#include <cstdio>
#include <random>
#include <vector>

namespace {
constexpr int batch = 64;
constexpr const char* text = R"(
  type: "Adam" base_lr: 0.01 lr_policy: "fixed" max_iter: 1000
  net_param {
    name: "ring"
    layer { name: "points" type: "Input" top: "point" input_param { shape { dim: 64 dim: 2 } } }
    layer { name: "labels" type: "Input" top: "label" input_param { shape { dim: 64 } } }
    layer { name: "ip1" type: "InnerProduct" bottom: "point" top: "ip1"
            inner_product_param { num_output: 32 weight_filler { type: "xavier" } } }
    layer { name: "relu" type: "ReLU" bottom: "ip1" top: "ip1" }
    layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
            inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
    layer { name: "accuracy" type: "Accuracy" bottom: "ip2" bottom: "label" top: "accuracy" }
  })";

void fill(cortado::Net& net, std::mt19937& random) {
  std::uniform_real_distribution<float> coordinate(-1, 1);
  std::vector<float> points(2 * batch), labels(batch);
  for (float& value : points) value = coordinate(random);
  for (int i = 0; i < batch; ++i) {
    const float square = points[2 * i] * points[2 * i] + points[2 * i + 1] * points[2 * i + 1];
    labels[i] = square < 0.5F ? 1 : 0;
  }
  net.blob("point")->write_data(points.data());
  net.blob("label")->write_data(labels.data());
}
}  // namespace

int main(int argc, char** argv) {
  cortado::MpiJob job(&argc, &argv);
  cortado::open_log(job.rank() != 0);
  return job.run([&] {
    caffe::SolverParameter parameter;
    cortado::parse_text(text, "ring", parameter);
    cortado::Session session(job, {});
    cortado::Trainer trainer(session, parameter);
    cortado::Net& net = trainer.solver().net();
    std::mt19937 random(static_cast<unsigned>(job.rank()));
    for (int i = 0; i < 300; ++i) {
      fill(net, random);
      trainer.solver().step(1);
    }
    fill(net, random);
    net.forward();
    const float accuracy = net.blob("accuracy")->data_vector().at(0);
    std::printf("rank %d: accuracy %.3f\n", job.rank(), accuracy);
    if (accuracy < 0.9F) throw cortado::NumericError("accuracy", "is " + std::to_string(accuracy), "train for longer");
    return 0;
  });
}
