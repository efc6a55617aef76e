// Trains by a solver's text on all ranks, and asks that the net has learnt: train SOLVER [ACCURACY]
#include <cortado/cortado.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  cortado::MpiJob job(&argc, &argv);
  cortado::open_log(job.rank() != 0);
  return job.run([&] {
    if (argc < 2) throw cortado::ConfigError("train", "no solver is given", "train SOLVER [ACCURACY]");
    const double wanted = argc > 2 ? std::atof(argv[2]) : 0;
    caffe::SolverParameter parameter;
    cortado::read_solver(argv[1], parameter);

    cortado::Session session(job, {});
    cortado::Trainer trainer(session, parameter);
    cortado::Solver& solver = trainer.solver();
    solver.solve();
    solver.test();
    for (const auto& net : solver.scores())
      for (const auto& score : net) {
        if (job.rank() == 0) std::printf("%s %.4f\n", score.name.c_str(), score.value);
        if (score.name == "accuracy" && score.value < wanted)
          throw cortado::NumericError("accuracy", "is " + std::to_string(score.value), "train for longer");
      }
    return 0;
  });
}
