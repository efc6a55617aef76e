#pragma once
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/types.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cortado {
struct StartField;

/// Adds fields that the ranks of a job compare before they start (app/start/start_fields.h).
using AddFields = std::function<void(std::vector<StartField>& fields)>;

/// The way in which the ranks of a job compare a flag's values.
enum class Compared {
  text,     ///< All ranks need the same text.
  content,  ///< All ranks give the flag or none does; texts may differ, and AddFields tells what they name.
  never     ///< Each rank has its own.
};

/// A flag of a verb. Its functions restrict its values and set how ranks compare them.
class Flag {
 public:
  Flag required() const;
  /// Makes --help show the variable's present value as the default.
  Flag shows_default() const;
  Flag one_of(const std::vector<std::string>& words) const;
  Flag not_negative() const;
  Flag positive() const;
  Flag within(double least, double most) const;
  /// Lets numbers end in K, M or G, powers of 1024.
  Flag counts_bytes() const;
  /// The value names a file that rank 0 writes when all work is done. A name that cannot become one is an error before.
  Flag names_output() const;
  /// The same. One that exists is an error unless it holds JSON, which is replaced.
  Flag replaces_json() const;
  /// The same. One that exists is an error.
  Flag replaces_nothing() const;
  Flag excludes(const Flag& other) const;
  Flag needs(const Flag& other) const;
  /// Ranks may give different values.
  Flag differs_by_rank() const;
  /// Ranks compare the fields of `add_fields` instead of the text. It runs whether the flag is given or not.
  Flag compared_by(AddFields add_fields) const;

 private:
  friend class Flags;
  enum class Takes { nothing, texts, whole_numbers, numbers };
  struct State {
    CLI::Option* option;
    Takes takes;
    Compared compared = Compared::text;
    AddFields add_fields = nullptr;
  };
  explicit Flag(State* state) : state_(state) {}
  /// Values for which the condition does not hold are errors that say `what`: "must be at least 1".
  Flag holds(const std::function<bool(double)>& condition, const std::string& what) const;
  State* state_;
};

/// A given flag of the command line.
struct GivenFlag {
  std::string name, text;  ///< "--stage", "a,b"
  Compared compared;
};

/// The flags of one verb. Every flag is added here, so every flag is compared over ranks unless it says otherwise.
class Flags {
 public:
  explicit Flags(CLI::App& command) : command_(command) {}

  /// `name` is "--iterations", or "images" for words without a flag. The flag's value goes to `variable`, which must
  /// outlive this. T is std::string, int, i64, std::uint64_t, double, or a vector of strings or numbers, whose
  /// elements are separated by commas.
  template <class T>
  Flag add(const std::string& name, T& variable, const std::string& what);
  /// A flag without a value.
  Flag add_switch(const std::string& name, bool& is_on, const std::string& what);
  /// A flag without a value that calls `action`.
  Flag add_action(const std::string& name, void (*action)(), const std::string& what);

  /// The flags that were given, once the command line is parsed.
  std::vector<GivenFlag> given() const;
  /// The functions that add fields instead of texts.
  std::vector<AddFields> add_fields() const;
  /// The names of the flags that ranks compare in this way.
  std::vector<std::string> names(Compared compared) const;

 private:
  Flag keep(CLI::Option* option, Flag::Takes takes);

  CLI::App& command_;
  std::deque<Flag::State> all_;  // a deque, because Flag points into it
};

}  // namespace cortado
