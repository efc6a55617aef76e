#include "core/formats/other_kind.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <set>

#include "core/formats/caffe.pb.h"
#include "core/formats/tuning.pb.h"

namespace cortado {
namespace pb = google::protobuf;
namespace {

struct Silent : pb::io::ErrorCollector {
  void AddError(int, pb::io::ColumnNumber, const std::string&) override {}
};

/// The names of a text's outermost fields.
std::set<std::string> outer_fields(const std::string& text) {
  Silent silent;
  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  pb::io::Tokenizer tokens(&stream, &silent);
  tokens.set_comment_style(pb::io::Tokenizer::SH_COMMENT_STYLE);
  std::set<std::string> names;
  std::string last;  // the token before, if it may be a name
  for (int open = 0; tokens.Next();) {
    const auto& token = tokens.current();
    const bool opens = token.text == "{" || token.text == "<";
    if (open == 0 && !last.empty() && (opens || token.text == ":")) names.insert(last);
    open += opens ? 1 : token.text == "}" || token.text == ">" ? -1 : 0;
    last = token.type == pb::io::Tokenizer::TYPE_IDENTIFIER ? token.text : "";
  }
  return names;
}

std::size_t known(const std::set<std::string>& names, const pb::Descriptor& kind) {
  std::size_t count = 0;
  for (const auto& name : names) count += kind.FindFieldByName(name) != nullptr ? 1 : 0;
  return count;
}

/// The file of a solver's net; empty if it names none.
std::string net_named_in(const std::string& text) {
  caffe::SolverParameter solver;
  Silent silent;
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silent);
  parser.AllowPartialMessage(true);
  parser.ParseFromString(text, &solver);
  return solver.has_net() ? solver.net() : solver.train_net();
}

std::string advice(const pb::Descriptor& is, const pb::Descriptor& wanted, const std::string& text,
                   const std::string& file) {
  const bool is_net = &is == caffe::NetParameter::descriptor(), is_solver = &is == caffe::SolverParameter::descriptor();
  if (is_net && &wanted == caffe::SolverParameter::descriptor())
    return "write a solver that names it, such as: net: \"" + file +
           "\" base_lr: 0.01 lr_policy: \"fixed\" max_iter: 1000, and give that";
  if (is_solver && &wanted == caffe::NetParameter::descriptor()) {
    const std::string net = net_named_in(text);
    return net.empty() ? "give a net" : "give the net that it names: " + net;
  }
  return &wanted == caffe::CortadoTuningFile::descriptor() ? "give what cortado tune wrote"
                                                           : "it is for --tuning: give another";
}
}  // namespace

std::string other_kind(const std::string& text, const std::string& file, const pb::Message& wanted) {
  struct Kind {
    const pb::Descriptor* message;
    const char *a, *name;
  };
  const Kind kinds[] = {{caffe::NetParameter::descriptor(), "a net", "net"},
                        {caffe::SolverParameter::descriptor(), "a solver", "solver"},
                        {caffe::CortadoTuningFile::descriptor(), "a tuning file", "tuning file"}};
  const Kind *own = nullptr, *best = nullptr;
  const std::set<std::string> names = outer_fields(text);
  for (const Kind& kind : kinds)
    if (kind.message == wanted.GetDescriptor()) own = &kind;
  if (own == nullptr) return "";
  std::size_t most = known(names, *own->message);
  for (const Kind& kind : kinds) {
    const std::size_t count = known(names, *kind.message);
    if (count <= most) continue;
    most = count;
    best = &kind;
  }
  if (best == nullptr) return "";
  return file + ": is " + best->a + ", no " + own->name + " (" + advice(*best->message, *own->message, text, file) +
         ")";
}

}  // namespace cortado
