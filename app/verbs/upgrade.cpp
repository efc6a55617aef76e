#include <iostream>

#include "app/command_line/verb.h"
#include "app/start/start_files.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mistakes.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/files.h"
#include "core/formats/prototxt.h"
#include "core/formats/weight_files.h"
#include "parallel_io/weights/hdf5_weights.h"

namespace cortado {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The form that a file's name asks for.
std::string form_of(const std::string& file) {
  if (ends_with(file, ".h5")) return "hdf5";
  for (const char* text : {".prototxt", ".txt", ".pbtxt", ".solver"})
    if (ends_with(file, text)) return "text";
  return "binary";
}

/// The number of mistakes in a text if it is meant to be such a message.
template <class Message>
std::size_t mistakes_in(const std::string& file) {
  Message message;
  try {
    read_text(file, message);
  } catch (const Mistakes& mistakes) { return mistakes.count(); } catch (const ConfigError&) {
    return 1;
  }
  return 0;
}

/// True if a text reads better as a solver than as a net.
bool is_solver(const std::string& file) {
  if (is_hdf5(file) || !looks_like_text(file)) return false;
  return mistakes_in<caffe::SolverParameter>(file) < mistakes_in<caffe::NetParameter>(file);
}

void write(const google::protobuf::Message& message, const std::string& form, const std::string& file) {
  if (form == "binary") return write_binary(file, message);
  write_text(file, to_text(message));
}

class Upgrade : public Verb {
 public:
  void add_to(Flags& flags) override;
  int run(const MpiJob& job) override;

 private:
  std::string from_, to_, as_;
  bool is_solver_ = false;
};

void Upgrade::add_to(Flags& flags) {
  flags.add("from", from_, "Text or binary; weights in HDF5 too").required().compared_by([this](StartFields& fields) {
    fields.push_back({"FROM", "FROM", content_of(from_)});
  });
  flags.add("to", to_, "File to write").required();
  flags
      .add("--as", as_,
           "text, binary or hdf5 (weights alone); default: text for X.prototxt, hdf5 for X.h5, otherwise binary")
      .one_of({"text", "binary", "hdf5"});
  flags.add_switch("--solver", is_solver_, "It is a solver; default: found out");
}

int Upgrade::run(const MpiJob& job) {
  const std::string form = as_.empty() ? form_of(to_) : as_;
  const Hdf5Weights hdf5;
  if (is_taken(to_)) throw FileError(to_, "is there already", "remove it, or give another name");
  if (is_solver_ || is_solver(from_)) {
    caffe::SolverParameter solver;
    if (looks_like_text(from_))
      read_text(from_, solver);
    else
      read_binary(from_, solver);
    upgrade_solver(solver, from_);
    if (form == "hdf5") throw ConfigError(to_, "a solver is not written in HDF5", "give --as text or binary");
    if (job.rank() == 0) write(solver, form, to_);
  } else {
    caffe::NetParameter net;
    if (is_hdf5(from_) || !looks_like_text(from_))
      read_weights(from_, &hdf5, net);
    else
      read_net(from_, net);
    if (net.layer_size() == 0) throw ConfigError(from_, "has no layers", "check the file");
    if (job.rank() != 0) return 0;
    if (form == "hdf5")
      hdf5.write_weights(to_, net);
    else
      write(net, form, to_);
  }
  CORTADO_LOG(info) << "Wrote " << to_ << " as " << form;
  return 0;
}

}  // namespace

std::unique_ptr<Verb> make_upgrade() { return std::make_unique<Upgrade>(); }

}  // namespace cortado
