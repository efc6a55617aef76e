#include "parallel_io/convert/convert.h"

#include <map>

#include "app/command_line/resize_flags.h"
#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/report/progress_bar.h"
#include "app/start/start_files.h"
#include "core/base/error.h"
#include "core/base/log.h"

namespace cortado {
namespace {
/// MNIST's and the digits' values lie in [0, 1), as Caffe's LeNet wants them.
constexpr double unit_scale = 0.00390625;

/// The conversions: from `from`, if that is not empty, to `to`.
class Convert : public Verb {
 public:
  int run(const MpiJob& job) final {
    ConvertOptions with;
    with.ranks = &job.replicas();
    ProgressBar bar("converting");
    if (job.rank() == 0) with.progress = [&](i64 done, i64 total) { bar.show(done, total); };
    convert(with);
    CORTADO_LOG(info) << "Wrote " << to_;
    return 0;
  }

 protected:
  virtual void convert(const ConvertOptions& with) const = 0;

  std::string from_, to_;
};

/// The conversions of any data set.
class ConvertAny : public Convert {
 protected:
  void add_places(Flags& flags, const char* from, const char* to) {
    flags.add("from", from_, from).required().compared_by([this](StartFields& fields) {
      add_set(from_, source().open, "FROM", fields);
    });
    flags.add("to", to_, to).required();
  }
  void add_root(Flags& flags) { flags.add("--root", root_, "Folder before the names of an image list"); }
  void add_grey(Flags& flags) { flags.add_switch("--grey", grey_, "Images in grey"); }

  /// The options of the source.
  SetOptions source() const {
    SetOptions set;
    set.open.root = root_;
    set.open.channels = grey_ ? 1 : 0;
    return set;
  }
  /// The same, at what size.
  SetOptions sized_source() const {
    SetOptions set = source();
    set.preparation.size = resize_.size();
    return set;
  }

  ResizeFlags resize_;

 private:
  std::string root_;
  bool grey_ = false;
};

class ConvertSet : public ConvertAny {
 public:
  void add_to(Flags& flags) override {
    add_places(flags,
               "HDF5 file, master of a striped set, list of HDF5 files or of images, LMDB folder, IDX file of images, "
               "CIFAR file or folder, folder of images",
               "File (lmdb: folder) to write");
    flags.add("--as", format_, "hdf5, striped, lmdb, images (a list and PNG files), idx or cifar")
        .required()
        .one_of({"hdf5", "striped", "lmdb", "images", "idx", "cifar"});
    flags.add("--stripes", stripes_, "Files of a striped set").shows_default().positive();
    flags.add("--stripe-size", stripe_bytes_, "Bytes that lie together in one of them, such as 256M")
        .shows_default()
        .counts_bytes();
    flags.add("--folders", folders_, "Folders that take stripes in turn, separated by commas; default TO.stripes");
    add_root(flags);
    flags.add_switch("--encoded", encoded_, "Keep JPEG and PNG images as they are; those that are resized become PNG");
    resize_.add_to(flags);
    add_grey(flags);
    const Flag shuffle = flags.add_switch("--shuffle", shuffle_, "In a random order");
    flags.add("--seed", seed_, "Of that order").shows_default().needs(shuffle);
    flags.add_switch("--verify", verify_, "Compare what is read with its checksums");
    add_strict(flags);
  }

 private:
  void convert(const ConvertOptions& with) const override {
    static const std::map<std::string, Format> formats = {{"hdf5", Format::hdf5}, {"striped", Format::striped},
                                                          {"lmdb", Format::lmdb}, {"images", Format::images},
                                                          {"idx", Format::idx},   {"cifar", Format::cifar}};
    if (format_ != "striped" && (stripes_ != usual_stripes || !folders_.empty()))
      throw ConfigError("command line", "--stripes and --folders do nothing with --as " + format_,
                        "write --as striped, or leave them out");
    SetOptions set = sized_source();
    set.open.verify = verify_;
    set.preparation.decode = !encoded_;
    if (format_ != "idx" && format_ != "cifar")
      set.preparation.other_size_advice += ", or --encoded, which keeps every image as it is";
    set.preparation.shuffle = shuffle_;
    set.preparation.seed = seed_;
    set.write.format = formats.at(format_);
    set.write.stripes = stripes_;
    set.write.stripe_bytes = static_cast<i64>(stripe_bytes_);
    set.write.folders = folders_;
    if (stripe_bytes_ < 1) throw ConfigError("command line", "--stripe-size must be at least 1");
    convert_set(from_, to_, set, with);
  }

  std::string format_;
  static constexpr i64 usual_stripes = 32;
  i64 stripes_ = usual_stripes;
  std::uint64_t stripe_bytes_ = 256 << 20, seed_ = 1;
  std::vector<std::string> folders_;
  bool encoded_ = false, shuffle_ = false, verify_ = false;
};

class ConvertMean : public ConvertAny {
 public:
  void add_to(Flags& flags) override {
    add_places(flags, "Data set of any format that `set` reads", "File to write, .binaryproto");
    add_root(flags);
    resize_.add_to(flags);
    add_grey(flags);
    add_strict(flags);
  }

 private:
  void convert(const ConvertOptions& with) const override {
    const auto mean = convert_mean(from_, to_, sized_source(), with);
    for (std::size_t k = 0; k < mean.size(); ++k) CORTADO_LOG(info) << "mean_value channel [" << k << "]: " << mean[k];
  }
};

/// The conversions to the data that nets in models/ name. Values are stored times `usual_scale`, unless --scale says
/// otherwise or bytes are stored.
class ConvertToFolder : public Convert {
 protected:
  explicit ConvertToFolder(double usual_scale) : usual_scale_(usual_scale) {}

  void add_storage(Flags& flags) {
    flags.add("--type", type_, "Stored as float or uint8").shows_default().one_of({"float", "uint8"});
    flags.add("--scale", scale_, "Factor on stored values (float only)");
  }
  void add_from(Flags& flags, const char* what) {
    flags.add("from", from_, what).required().compared_by([this](StartFields& fields) {
      add_folder(from_, "FROM", fields);
    });
  }
  FolderOptions folder() const {
    FolderOptions folder;
    folder.to = to_;
    folder.bytes = type_ == "uint8";
    if (folder.bytes && scale_ != 0) throw ConfigError("command line", "--scale needs --type float");
    folder.scale = static_cast<float>(scale_ != 0 ? scale_ : folder.bytes ? 1 : usual_scale_);
    return folder;
  }

 private:
  const double usual_scale_;
  std::string type_ = "float";
  double scale_ = 0;
};

class ConvertMnist : public ConvertToFolder {
 public:
  ConvertMnist() : ConvertToFolder(unit_scale) {}
  void add_to(Flags& flags) override {
    add_storage(flags);
    add_from(flags, "Folder with the IDX files");
    flags.add("to", to_, "Folder to write train.h5, test.h5 and their lists to").required();
  }

 private:
  void convert(const ConvertOptions& with) const override { convert_mnist(from_, folder(), with); }
};

class ConvertDigits : public ConvertToFolder {
 public:
  ConvertDigits() : ConvertToFolder(unit_scale) {}
  void add_to(Flags& flags) override {
    add_storage(flags);
    flags.add("to", to_, "Folder to write to").required();
    flags.add("--train", train_, "Training samples");
    flags.add("--test", test_, "Test samples");
    flags.add("--seed", digits_.seed, "Seed").shows_default();
    flags.add_switch("--idx", digits_.idx, "Write IDX files instead of HDF5");
  }

 private:
  void convert(const ConvertOptions& with) const override {
    DigitOptions digits = digits_;
    if (train_ > 0) digits.train = train_;
    if (test_ > 0) digits.test = test_;
    convert_digits(digits, folder(), with);
  }

  DigitOptions digits_;
  i64 train_ = 0, test_ = 0;  // 0: as many as usual
};

class ConvertImages : public ConvertToFolder {
 public:
  ConvertImages() : ConvertToFolder(1) {}
  void add_to(Flags& flags) override {
    add_storage(flags);
    add_from(flags, "Folder with the images");
    flags.add("to", to_, "Folder to write to").required();
    flags.add("--mean", mean_, "Mean of the training set to subtract: none, pixel or channel")
        .one_of({"none", "pixel", "channel"});
    resize_.add_to(flags);
    add_strict(flags);
    flags.add_switch("--rgb", rgb_, "Channels as red, green, blue; default is Caffe's blue, green, red");
  }

 private:
  void convert(const ConvertOptions& with) const override {
    ImageOptions images;
    images.rgb = rgb_;
    images.mean = mean_ == "pixel"     ? ImageOptions::Mean::pixel
                  : mean_ == "channel" ? ImageOptions::Mean::channel
                                       : ImageOptions::Mean::none;
    images.size = resize_.size();
    convert_images(from_, images, folder(), with);
  }

  std::string mean_ = "none";
  ResizeFlags resize_;
  bool rgb_ = false;
};
}  // namespace

std::unique_ptr<Verb> make_convert_set() { return std::make_unique<ConvertSet>(); }
std::unique_ptr<Verb> make_convert_mean() { return std::make_unique<ConvertMean>(); }
std::unique_ptr<Verb> make_convert_mnist() { return std::make_unique<ConvertMnist>(); }
std::unique_ptr<Verb> make_convert_digits() { return std::make_unique<ConvertDigits>(); }
/// CIFAR-10 in folders is images in folders.
std::unique_ptr<Verb> make_convert_images() { return std::make_unique<ConvertImages>(); }

}  // namespace cortado
