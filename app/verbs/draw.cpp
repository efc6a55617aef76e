#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "app/command_line/verb.h"
#include "app/measure/net_sets.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "app/verbs/net_graph.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/mistakes.h"
#include "core/net/passes/net_text.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;

/// The net, if it can be built here: its data may be elsewhere.
std::unique_ptr<Net> try_to_build(const caffe::NetParameter& parameter, const NetOptions& options) {
  caffe::NetParameter quick = parameter;
  start_with_zeros(quick);
  try {
    return std::make_unique<Net>(quick, options);
  } catch (const Error& error) {
    for (const auto& line : lines_of(error)) CORTADO_LOG(warning) << "Drawn without shapes: " << line;
    return nullptr;
  }
}

std::string shape_text(const Net* net, const std::string& name) {
  const Blob* const blob = net == nullptr ? nullptr : net->blob(name);
  if (blob == nullptr) return "";
  std::string text;
  for (const i64 d : blob->shape()) text += (text.empty() ? "" : " x ") + std::to_string(d);
  return text.empty() ? "scalar" : text;
}

/// The path of Graphviz; throws ConfigError if it is absent.
std::string find_dot(const std::string& out) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string file = folder + "/dot"; ::access(file.c_str(), X_OK) == 0) return file;
  throw ConfigError(out, "is a picture, which Graphviz's dot makes, and that is not installed",
                    "install graphviz, or write a .dot");
}

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void write_picture(const std::string& out, const std::string& text) {
  const std::string dot = find_dot(out), format = fs::path(out).extension().string().substr(1);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> source(std::tmpfile(), &std::fclose);
  if (!source || std::fwrite(text.data(), 1, text.size(), source.get()) != text.size() ||
      std::fflush(source.get()) != 0)
    throw_system_error(out, "drawn: its temporary file cannot be written");
  const std::string command =
      quoted(dot) + " -T" + quoted(format) + " </proc/self/fd/" + std::to_string(::fileno(source.get()));
  std::FILE* const drawing = ::popen(command.c_str(), "r");
  std::string picture;
  char piece[4096];
  for (std::size_t got = 1; drawing != nullptr && got > 0; picture.append(piece, got))
    got = std::fread(piece, 1, sizeof piece, drawing);
  if (drawing == nullptr || ::pclose(drawing) != 0)
    throw FileError(out, "was not drawn by " + dot, "it has said why; does it know '" + format + "'?");
  write_text(out, picture);
}

class Draw : public Verb {
 public:
  void add_to(Flags& flags) override {
    net_.add_model(flags).required();
    flags.add("--out", out_, "X.dot (or X.gv), or X.svg, X.png, X.pdf by dot; default: text to the screen");
    net_.add_phase(flags);
    flags.add_switch("--left-to-right", left_to_right_, "Instead of from top to bottom");
    session_.add_shape(flags);
    session_.add_without(flags);
    net_.add_state(flags);
  }

  int run(const MpiJob& job) override {
    std::error_code absent;
    if (fs::equivalent(out_, net_.model(), absent))
      throw ConfigError("--out", out_ + " is the net that --model names", "name another file");
    const Session session(job, session_);
    caffe::NetParameter parameter;
    net_.read(parameter);
    const auto net = try_to_build(parameter, session.net_options());
    if (net != nullptr) session.sources.settle_shapes();
    const std::string text = net_graph(filter_layers(parameter), left_to_right_,
                                       [&](const std::string& blob) { return shape_text(net.get(), blob); });
    if (job.rank() != 0) return 0;
    const std::string extension = fs::path(out_).extension().string();
    if (out_.empty())
      std::cout << text;
    else if (extension.empty() || extension == ".dot" || extension == ".gv")
      write_text(out_, text);
    else
      write_picture(out_, text);
    return 0;
  }

 private:
  NetFlags net_;
  SessionFlags session_;
  std::string out_;
  bool left_to_right_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_draw() { return std::make_unique<Draw>(); }

}  // namespace cortado
