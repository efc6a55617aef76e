#include <algorithm>
#include <iostream>

#include "app/session/session.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/files.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string form_of(const Options::Upgrade& options) {
  if (!options.as.empty()) return options.as;
  if (ends_with(options.to, ".h5")) return "hdf5";
  for (const char* text : {".prototxt", ".txt", ".pbtxt", ".solver"})
    if (ends_with(options.to, text)) return "text";
  return "binary";
}

/// What is wrong with a text, a line per mistake, if it is meant to be such a message.
template <class Message>
std::string mistakes_in(const std::string& file) {
  Message message;
  try {
    read_text(file, message);
  } catch (const ConfigError& error) { return error.what(); }
  return "";
}

/// Whether a text reads better as a solver than as a net.
bool is_solver(const std::string& file) {
  if (is_hdf5(file) || !looks_like_text(file)) return false;
  const std::string net = mistakes_in<caffe::NetParameter>(file), solver = mistakes_in<caffe::SolverParameter>(file);
  const auto lines = [](const std::string& text) {
    return text.empty() ? 0 : 1 + std::count(text.begin(), text.end(), '\n');
  };
  return lines(solver) < lines(net);
}

void write(const google::protobuf::Message& message, const std::string& form, const std::string& file) {
  if (form == "binary") return write_binary(file, message);
  write_text(file, to_text(message));
}

}  // namespace

int upgrade(const MpiJob& job, const Options& options) {
  const auto& u = options.upgrade;
  const std::string form = form_of(u);
  const Hdf5Weights hdf5;
  if (is_taken(u.to)) throw FileError(u.to, "is there already", "remove it, or give another name");
  if (u.solver || is_solver(u.from)) {
    caffe::SolverParameter solver;
    if (looks_like_text(u.from))
      read_text(u.from, solver);
    else
      read_binary(u.from, solver);
    upgrade_solver(solver, u.from);
    if (form == "hdf5") throw ConfigError(u.to, "a solver is not written in HDF5", "give --as text or binary");
    if (job.rank() == 0) write(solver, form, u.to);
  } else {
    caffe::NetParameter net;
    read_weights(u.from, &hdf5, net);
    if (job.rank() != 0) return 0;
    if (form == "hdf5")
      hdf5.write_weights(u.to, net);
    else
      write(net, form, u.to);
  }
  CORTADO_LOG(info) << "Wrote " << u.to << " as " << form;
  return 0;
}

}  // namespace cortado
