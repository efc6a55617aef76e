#include "app/command_line/flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <type_traits>

#include "app/start/environment.h"

namespace cortado {
namespace {
/// Devices, such as /dev/null, lose nothing by being written.
bool holds_something(const std::string& file) {
  std::error_code failed;
  return std::filesystem::is_regular_file(file, failed) && std::filesystem::file_size(file, failed) > 0;
}

/// Why no file can be written under the name, as far as can be told; empty: it can. Rank 0 writes, on its node.
std::string why_not_written(const std::string& file) {
  namespace fs = std::filesystem;
  if (launched_rank() != 0) return "";
  std::error_code failed;
  const fs::file_status status = fs::status(file, failed);
  if (fs::is_directory(status)) return file + " is a folder: name a file";
  if (fs::is_fifo(status) || fs::is_socket(status)) return file + " is no regular file: name another";
  if (fs::is_character_file(status)) return "";
  const std::string parent = fs::path(file).parent_path().string(), folder = parent.empty() ? "." : parent;
  if (!fs::is_directory(folder, failed)) return folder + " is no folder: make it, or name another file";
  return access(folder.c_str(), W_OK) == 0 ? "" : file + " cannot be written: " + std::strerror(errno);
}

std::string short_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// Why the text is no T that a flag takes; empty: it is one.
template <class T>
std::string why_not(const std::string& text) {
  T value{};
  if constexpr (std::is_integral<T>::value) {  // which CLI11 would cut to the largest
    const bool is_out =
        std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::result_out_of_range;
    if (is_out) return text + (text[0] == '-' ? " is too small" : " is too large");
  }
  if (CLI::detail::lexical_cast(text, value))
    return std::isfinite(static_cast<double>(value)) ? "" : text + " is too large";
  double number = 0;
  const bool is_number = CLI::detail::lexical_cast(text, number);
  const bool is_whole = is_number && number == std::floor(number) && text.find_first_of(".eE") == std::string::npos;
  if (is_whole && number < 0 && std::is_unsigned<T>::value) return "must be 0 or more, it is " + text;
  if (is_whole) return text + " is too large";
  return "'" + text + (std::is_integral<T>::value ? "' is no whole number" : "' is no number");
}

template <class T>
struct ElementOf {
  using type = T;
};
template <class T>
struct ElementOf<std::vector<T>> {
  using type = T;
};

bool holds_json(const std::string& file) {
  std::ifstream in(file);
  char first = 0;
  return in >> first && (first == '{' || first == '[');
}
}  // namespace

Flag Flag::required() const {
  state_->option->required();
  return *this;
}
Flag Flag::shows_default() const {
  state_->option->capture_default_str();
  return *this;
}
Flag Flag::one_of(const std::vector<std::string>& words) const {
  state_->option->check(CLI::IsMember(words));
  return *this;
}
Flag Flag::not_negative() const {
  return holds([](double value) { return value >= 0; }, "must be 0 or more");
}
Flag Flag::positive() const {
  return holds([](double value) { return value > 0; },
               state_->takes == Takes::whole_numbers ? "must be at least 1" : "must be more than 0");
}
Flag Flag::within(double least, double most) const {
  return holds([least, most](double value) { return value >= least && value <= most; },
               "must be from " + short_text(least) + " to " + short_text(most));
}
Flag Flag::holds(const std::function<bool(double)>& condition, const std::string& what) const {
  state_->option->check([condition, what](const std::string& text) {
    double value = 0;  // that it is a number is another check's
    return !CLI::detail::lexical_cast(text, value) || condition(value) ? std::string() : what + ", it is " + text;
  });
  return *this;
}
Flag Flag::counts_bytes() const {
  state_->option->transform(CLI::AsSizeValue(false));
  return *this;
}
Flag Flag::names_output() const {
  state_->option->check(&why_not_written);
  return *this;
}
Flag Flag::replaces_json() const {
  names_output();
  state_->option->check([](const std::string& file) -> std::string {
    if (!holds_something(file) || holds_json(file)) return "";
    return file + " exists and is no JSON file: name another";
  });
  return *this;
}
Flag Flag::replaces_nothing() const {
  names_output();
  state_->option->check([](const std::string& file) -> std::string {
    return holds_something(file) ? file + " exists: remove it, or name another" : "";
  });
  return *this;
}
Flag Flag::excludes(const Flag& other) const {
  state_->option->excludes(other.state_->option);
  return *this;
}
Flag Flag::needs(const Flag& other) const {
  state_->option->needs(other.state_->option);
  return *this;
}
Flag Flag::differs_by_rank() const {
  state_->compared = Compared::never;
  return *this;
}
Flag Flag::compared_by(AddFields add_fields) const {
  state_->compared = Compared::content;
  state_->add_fields = std::move(add_fields);
  return *this;
}

template <class T>
Flag Flags::add(const std::string& name, T& variable, const std::string& what) {
  CLI::Option* const option = command_.add_option(name, variable, what);
  constexpr bool is_list = !std::is_arithmetic<T>::value && !std::is_same<T, std::string>::value;
  if (is_list && name[0] == '-') option->delimiter(',');
  using Element = typename ElementOf<T>::type;
  if constexpr (std::is_arithmetic<Element>::value) {
    option->check(&why_not<Element>);
    return keep(option, std::is_integral<Element>::value ? Flag::Takes::whole_numbers : Flag::Takes::numbers);
  } else {
    return keep(option, Flag::Takes::texts);
  }
}
template Flag Flags::add(const std::string&, std::string&, const std::string&);
template Flag Flags::add(const std::string&, int&, const std::string&);
template Flag Flags::add(const std::string&, i64&, const std::string&);
template Flag Flags::add(const std::string&, std::uint64_t&, const std::string&);
template Flag Flags::add(const std::string&, double&, const std::string&);
template Flag Flags::add(const std::string&, std::vector<std::string>&, const std::string&);
template Flag Flags::add(const std::string&, std::vector<int>&, const std::string&);
template Flag Flags::add(const std::string&, std::vector<i64>&, const std::string&);
template Flag Flags::add(const std::string&, std::vector<float>&, const std::string&);

Flag Flags::add_switch(const std::string& name, bool& is_on, const std::string& what) {
  return keep(command_.add_flag(name, is_on, what), Flag::Takes::nothing);
}

Flag Flags::add_action(const std::string& name, void (*action)(), const std::string& what) {
  return keep(command_.add_flag_callback(name, action, what), Flag::Takes::nothing);
}

Flag Flags::keep(CLI::Option* option, Flag::Takes takes) {
  all_.push_back({option, takes});
  return Flag(&all_.back());
}

std::vector<GivenFlag> Flags::given() const {
  std::vector<GivenFlag> flags;
  for (const auto& one : all_)
    if (one.option->count() > 0)
      flags.push_back({one.option->get_name(), CLI::detail::join(one.option->results(), ","), one.compared});
  return flags;
}

std::vector<AddFields> Flags::add_fields() const {
  std::vector<AddFields> all;
  for (const auto& one : all_)
    if (one.add_fields) all.push_back(one.add_fields);
  return all;
}

std::vector<std::string> Flags::names(Compared compared) const {
  std::vector<std::string> names;
  for (const auto& one : all_)
    if (one.compared == compared) names.push_back(one.option->get_name());
  return names;
}

}  // namespace cortado
