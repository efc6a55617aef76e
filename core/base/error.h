#pragma once
#include <stdexcept>
#include <string>

namespace cortado {

/// The base of every exception that Cortado throws on purpose. `what()` is one line: where, what, and what to do about
/// it. The command line prints it, stops all ranks and exits with 1.
class Error : public std::runtime_error {
 public:
  /// `where` may be empty ("lenet.prototxt:12", "layer 'conv1'", "rank 3"); `advice` may be empty.
  Error(const std::string& where, const std::string& what, const std::string& advice = "");
};

/// A net, a solver or a command line that cannot mean anything: the user's text is wrong.
struct ConfigError : Error {
  using Error::Error;
};

/// Blobs or parameters whose shapes do not fit together.
struct ShapeError : Error {
  using Error::Error;
};

/// A file that is absent, unreadable, truncated or not what its name says.
struct FileError : Error {
  using Error::Error;
};

/// A plan that does not fit the machine; `what` is the planner's reason.
struct PlanError : Error {
  using Error::Error;
};

/// A cluster program that failed; thrown by the wait, with the program's label and the line's index.
struct ClusterError : Error {
  using Error::Error;
};

/// NaN or Inf where a number was due.
struct NumericError : Error {
  using Error::Error;
};

/// Another rank failed or the peers disagree; this rank stops with them.
struct PeerError : Error {
  using Error::Error;
};

/// A broken invariant: a bug in Cortado, never the user's mistake.
struct BugError : Error {
  using Error::Error;
};

/// Throws BugError unless `holds`.
inline void require(bool holds, const char* invariant) {
  if (!holds) throw BugError("", std::string("broken invariant: ") + invariant, "please report this");
}

}  // namespace cortado
