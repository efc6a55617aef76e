#include "app/start/start_fields.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "app/start/start_files.h"
#include "parallel_io/sets/image.h"
#include "tests/support/hdf5_file.h"
#include "tests/support/temporary_folder.h"

namespace cortado::start_fields_test {
namespace {
using test::write_hdf5;
constexpr const char* solver_text =
    "net: 'net.prototxt' base_lr: 0.01 lr_policy: 'fixed' max_iter: 10 snapshot: 5 test_iter: 1 test_interval: 5";
constexpr const char* net_text = R"(name: 'n'
layer { name: 'data' type: 'HDF5Data' top: 'data' top: 'label' hdf5_data_param { source: 'a.txt' batch_size: 4 } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 3 } }
layer { name: 'act' type: 'ReLU' bottom: 'ip' top: 'ip' }
layer { name: 'drop' type: 'Dropout' bottom: 'ip' top: 'ip' include { phase: TRAIN stage: 'never' } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' })";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// One rank's files and command line.
class StartFields : public ::testing::Test {
 protected:
  std::vector<StartField> rank(const std::string& solver, const std::string& net, std::vector<std::string> flags = {},
                               const std::string& weights = "") {
    const std::string folder = folder_.file(std::to_string(ranks_++));
    std::filesystem::create_directory(folder);
    const auto write = [&](const std::string& name, const std::string& text) {
      std::ofstream(folder + "/" + name) << text;
      return folder + "/" + name;
    };
    flags.insert(flags.begin(), {"cortado", "train", "-solver",
                                 write("solver.prototxt", with(solver, "net.prototxt", write("net.prototxt", net)))});
    if (!weights.empty()) flags.insert(flags.end(), {"-weights", write("w.caffemodel", weights)});
    std::vector<char*> arguments;
    for (std::string& flag : flags) arguments.push_back(flag.data());
    arguments.push_back(nullptr);
    return start_fields(parse_command_line(static_cast<int>(flags.size()), arguments.data()));
  }
  /// "where: what" of ranks 0 and 1.
  static std::string difference(const std::vector<StartField>& a, const std::vector<StartField>& b) {
    const Difference found = first_difference({a, b});
    return found.where.empty() ? "" : found.where + ": " + found.what;
  }

  test::TemporaryFolder folder_;
  int ranks_ = 0;
};

TEST_F(StartFields, SameRunsAgreeWhereverTheirFilesAre) {
  const auto a = rank(solver_text, net_text, {}, "weights");
  EXPECT_EQ(difference(a, rank(solver_text, net_text, {}, "weights")), "");
  EXPECT_EQ(difference(a, rank(solver_text, with(net_text, "a.txt", "b.txt"), {}, "weights")), "");
  EXPECT_EQ(difference(a, rank(std::string(solver_text) + " momentum: 0 # the default", net_text, {}, "weights")), "");
  EXPECT_EQ(difference(a, rank(solver_text, with(net_text, "'never'", "'nor'"), {}, "weights")), "") << "filtered";
}

TEST_F(StartFields, NamesWhatDiffers) {
  const auto a = rank(solver_text, net_text, {}, "weights");
  const auto solver = [&](const std::string& from, const std::string& to) {
    return difference(a, rank(with(solver_text, from, to), net_text, {}, "weights"));
  };
  const auto net = [&](const std::string& from, const std::string& to) {
    return difference(a, rank(solver_text, with(net_text, from, to), {}, "weights"));
  };
  EXPECT_EQ(solver("0.01", "0.02"), "rank 1: base_lr is 0.02, rank 0 has 0.01");
  EXPECT_EQ(solver("max_iter: 10", "max_iter: 11"), "rank 1: max_iter is 11, rank 0 has 10");
  EXPECT_EQ(solver("snapshot: 5", ""), "rank 1: snapshot is none, rank 0 has 5");
  EXPECT_EQ(solver("test_interval: 5", "test_interval: 6"), "rank 1: test_interval is 6, rank 0 has 5");
  EXPECT_EQ(solver("'fixed'", "'fixed' snapshot_prefix: 'p'"),
            "rank 1: name of snapshot_prefix is p, rank 0 has solver");
  EXPECT_EQ(difference(a, rank(solver_text, net_text, {"-sigterm_effect", "none"}, "weights")),
            "rank 1: --sigterm_effect is \"none\", rank 0 has none");
  EXPECT_EQ(solver("'fixed'", "'fixed' random_seed: 3"), "rank 1: random_seed is 3, rank 0 has none");
  EXPECT_EQ(solver("'fixed'", "'fixed' iter_size: 2"), "rank 1: iter_size is 2, rank 0 has none");
  EXPECT_EQ(solver("'fixed'", "'fixed' type: 'Adam'"), "rank 1: type is \"Adam\", rank 0 has none");
  EXPECT_EQ(net("'ReLU'", "'TanH'"), "rank 1: layer 'act': type is \"TanH\", rank 0 has \"ReLU\"");
  EXPECT_EQ(net("num_output: 3", "num_output: 4"),
            "rank 1: layer 'ip': inner_product_param.num_output is 4, rank 0 has 3");
  EXPECT_EQ(net("batch_size: 4", "batch_size: 8"),
            "rank 1: layer 'data': hdf5_data_param.batch_size is 8, rank 0 has 4");
  EXPECT_EQ(net(" stage: 'never'", ""), "rank 1: number of layers is 5, rank 0 has 4");
  EXPECT_EQ(difference(a, rank(solver_text, net_text, {"--exchange", "buckets"}, "weights")),
            "rank 1: --exchange is \"buckets\", rank 0 has none");
  EXPECT_EQ(difference(a, rank(solver_text, net_text)), "rank 1: --weights is none, rank 0 has \"a file\"");
  EXPECT_NE(difference(a, rank(solver_text, net_text, {}, "weightz")).find("rank 1: weights is a file of 7 bytes"),
            std::string::npos);
}

TEST_F(StartFields, NamesAllRanksThatHaveTheSame) {
  const auto a = rank(solver_text, net_text), b = rank(with(solver_text, "0.01", "0.02"), net_text);
  const Difference found = first_difference({a, b, a, b});
  EXPECT_EQ(found.where, "ranks 1, 3");
  EXPECT_EQ(found.what, "base_lr: they have 0.02, rank 0 has 0.01");
  EXPECT_EQ(found.advice, "give all ranks the same solver");
}

class Numbers : public DataSet {
 public:
  Numbers(i64 samples, i64 odd) : odd_(odd) {
    samples_ = samples;
    fields_.push_back({"data", {1}, Stored::uint8});
  }
  void read(const i64* indices, i64 count, std::vector<Values>& to) const override {
    to.resize(1);
    for (i64 i = 0; i < count; ++i)
      to[0].bytes.push_back(static_cast<std::uint8_t>(indices[i] == odd_ ? 99 : indices[i]));
  }
  std::string where(i64 sample) const override { return std::to_string(sample); }

 private:
  i64 odd_;
};

TEST_F(StartFields, DataSetsDifferInNumberAndContent) {
  const auto a = data_fields("data set 1", Numbers(5, -1));
  EXPECT_EQ(difference(a, data_fields("data set 1", Numbers(5, -1))), "");
  EXPECT_EQ(difference(a, data_fields("data set 1", Numbers(4, -1))),
            "rank 1: data set 1: number of samples is 4, rank 0 has 5");
  EXPECT_NE(difference(a, data_fields("data set 1", Numbers(5, 4))).find("digest of samples"), std::string::npos);
  EXPECT_EQ(data_fields("none", Numbers(0, -1)).size(), 4U);
  for (const i64 odd : {0, 1, 77777, 99998, 99999})
    EXPECT_NE(
        difference(data_fields("data set 1", Numbers(100000, -1)), data_fields("data set 1", Numbers(100000, odd)))
            .find("digest of samples"),
        std::string::npos)
        << odd;
}

/// Labels are compared of all samples, whatever their number, and files by their names without folders.
TEST_F(StartFields, ListsDifferInLabelsNamesAndContent) {
  const Image image{1, 1, 1, {7}}, other{1, 1, 1, {8}};
  const auto list = [&](const std::string& rank, const std::string& text, const Image& second) {
    std::filesystem::create_directory(folder_.file(rank));
    for (const auto& [name, values] : {std::pair<std::string, Image>{"a.png", image}, {"b.png", second}}) {
      const auto png = encode_png(values);
      folder_.write(rank + "/" + name, std::string(png.begin(), png.end()));
    }
    return data_fields("images", *open_set(folder_.write(rank + "/list.txt", text)));
  };
  const auto a = list("0", "a.png 1\nb.png 2\na.png 3\n", image);
  EXPECT_EQ(difference(a, list("1", "a.png 1\nb.png 2\na.png 3\n", image)), "");
  const auto differs = [&](const std::vector<StartField>& b) { return difference(a, b); };
  EXPECT_NE(differs(list("2", "a.png 1\nb.png 0\na.png 3\n", image)).find("labels, names and small arrays"),
            std::string::npos);
  EXPECT_NE(differs(list("3", "b.png 1\na.png 2\na.png 3\n", image)).find("labels, names and small arrays"),
            std::string::npos);
  EXPECT_NE(differs(list("4", "a.png 1\nb.png 2\na.png 3\n", other)).find("digest of samples"), std::string::npos);
}

TEST_F(StartFields, Hdf5LabelsDiffer) {
  const auto set = [&](const std::string& name, float label) {
    write_hdf5(folder_.file(name),
               {{"data", {3, 2}, H5T_IEEE_F32LE, {1, 2, 3, 4, 5, 6}}, {"label", {3}, H5T_IEEE_F32LE, {0, label, 2}}});
    return data_fields("numbers", *open_set(folder_.file(name)));
  };
  EXPECT_EQ(difference(set("a.h5", 1), set("b.h5", 1)), "");
  EXPECT_NE(difference(set("a.h5", 1), set("c.h5", 2)).find("digest of labels, names and small arrays"),
            std::string::npos);
}

/// Names that several verbs give different meanings are compared in each.
TEST_F(StartFields, FlagsAreComparedByVerb) {
  const auto fields = [](const char* devices) {
    std::vector<std::string> words = {"cortado", "predict", "--published", "--devices", devices, "--json", devices};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return start_fields(parse_command_line(static_cast<int>(words.size()), arguments.data()));
  };
  EXPECT_EQ(difference(fields("2,4"), fields("2,8")), "rank 1: --devices is \"2,8\", rank 0 has \"2,4\"");
}

/// Every verb that reads a file or a data set names the one that differs, and compares nothing with what is away.
TEST_F(StartFields, FilesOfAllVerbsAreCompared) {
  const auto file = [&](const std::string& name, const std::string& text) { return folder_.write(name, text); };
  const auto images = [&](const std::string& name, int values) {  // IDX
    std::string text("\0\0\x08\x03\0\0\0", 7);
    text += static_cast<char>(values);
    text += std::string("\0\0\0\1\0\0\0\1", 8);
    for (int i = 0; i < values; ++i) text += static_cast<char>(i * values);
    const std::string labels = name.substr(0, name.find("-images")) + "-labels-idx1-ubyte";
    file(labels, std::string("\0\0\x08\x01\0\0\0", 7) + static_cast<char>(values) +
                     std::string(static_cast<std::size_t>(values), '\0'));
    return file(name, text);
  };
  const std::string a = images("a-images-idx3-ubyte", 3), b = images("b-images-idx3-ubyte", 4);
  const auto net = [&](const std::string& source) {
    return file("net" + source.substr(source.find_last_of('/') + 1),
                "layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { source: '" + source +
                    "' batch_size: 2 } } layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' "
                    "inner_product_param { num_output: 3 } }");
  };
  const auto fields = [](std::vector<std::string> words) {
    words.insert(words.begin(), "cortado");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return start_fields(parse_command_line(static_cast<int>(words.size()), arguments.data()));
  };
  const std::string model_a = net(a), model_b = net(b), away = net(folder_.file("away"));
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"time"},
                                             {"tune"},
                                             {"predict"},
                                             {"compare"},
                                             {"check"},
                                             {"draw"},
                                             {"test", "-weights", a},
                                             {"extract", "-blobs", "ip", "-out", "x", "-weights", a}}) {
    const auto of = [&](const std::string& model) {
      auto words = verb;
      words.insert(words.end(), {"-model", model});
      return fields(words);
    };
    EXPECT_EQ(difference(of(model_a), of(model_b)), "rank 1: layer 'data': number of samples is 4, rank 0 has 3")
        << verb[0];
    EXPECT_EQ(difference(of(model_a), of(away)), "") << verb[0];
  }
  const std::string c = file("c", "3");
  EXPECT_EQ(difference(fields({"bench", "io", "--set", a}), fields({"bench", "io", "--set", a})), "");
  std::filesystem::copy_file(b, a, std::filesystem::copy_options::overwrite_existing);
  const auto changed = [&](const std::vector<std::string>& words, const std::string& path) {
    const auto before = fields(words);
    std::ofstream(path, std::ios::app) << "more";
    return difference(before, fields(words));
  };
  EXPECT_NE(changed({"compare", "-model", model_b, "--with", c}, c).find("rank 1: --with is a file of 5 bytes"),
            std::string::npos);
  EXPECT_NE(changed({"predict", "-model", model_b, "--machine", c}, c).find("rank 1: --machine is a file"),
            std::string::npos);
  EXPECT_NE(changed({"upgrade", c, folder_.file("to")}, c).find("rank 1: FROM is a file"), std::string::npos);
  const std::string shape = "input_param { shape { dim: 1 dim: 3 } }";
  const auto input = [&](const std::string& more) {
    return file("set", "layer { name: 'in' type: 'Input' top: 'data' " + shape + " } " + more);
  };
  const auto set = fields({"bench", "conv", "--set", input("")});
  EXPECT_EQ(difference(set, fields({"bench", "conv", "--set", input("# the same")})), "");
  const std::string found =
      difference(set, fields({"bench", "conv", "--set", input("layer { type: 'ReLU' bottom: 'data' }")}));
  EXPECT_NE(found.find("set: number of layers is 2, rank 0 has 1"), std::string::npos) << found;
}
}  // namespace
}  // namespace cortado::start_fields_test
