#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/file.h"

namespace cortado {

/// An LMDB's main database, read without its library. The library maps the file and trusts its contents, so a file that
/// is damaged, or shrinks while it is read, would end the program. This class reads pages at their offsets into memory.
/// It checks every number in them against the file before using it. Any number of threads may read.
///
/// The format (mdb.c of LMDB 0.9, "page", "node", "meta") has pages of `page size` bytes. The first two describe the
/// database, and the one of the later transaction counts. Keys and values lie in leaves of a B-tree, in order. Values
/// larger than half a page lie in overflow pages of their own.
class LmdbFile {
 public:
  /// Reads all leaves. Throws FileError for files that are no LMDB, truncated, or damaged.
  explicit LmdbFile(const std::string& file);
  /// True if a file begins as an LMDB does. Throws FileError if it cannot be read.
  static bool begins(const std::string& file);

  const std::string& name() const { return name_; }
  i64 entries() const { return entries_; }

  class Cursor;

 private:
  /// A page on the way from the root to a leaf, and the node of it that the way takes.
  struct Step {
    std::uint64_t page;
    std::size_t node;
  };
  /// The way to a leaf whose first entry has this number.
  struct Mark {
    i64 first;
    std::vector<Step> way;
  };
  void read_meta();
  void index_leaves();
  void read(std::uint64_t page, std::size_t bytes, std::vector<std::uint8_t>& to) const;
  void expect_page(std::uint64_t page) const;
  [[noreturn]] void damaged(std::uint64_t page, const std::string& what) const;

  std::string name_;
  Descriptor descriptor_;
  std::size_t page_bytes_ = 0;
  std::uint64_t pages_ = 0, last_page_ = 0, root_ = 0;
  std::size_t depth_ = 0;
  i64 entries_ = 0;
  std::vector<Mark> marks_;  // marks of some leaves, the first among them
};

/// A place in an LMDB, for one thread.
class LmdbFile::Cursor {
 public:
  /// Stands before the first entry. `file` must outlive it.
  explicit Cursor(const LmdbFile& file) : file_(file) {}

  /// Moves to an entry of [0, entries); the next entry is cheap. Throws FileError.
  void go(i64 entry);
  std::string key() const;
  /// The entry's value, until the cursor moves. Throws FileError.
  struct Value {
    const std::uint8_t* data;
    std::size_t bytes;
  };
  Value value();

 private:
  friend class LmdbFile;
  struct Page {
    std::uint64_t number = 0;
    std::size_t node = 0;
    std::vector<std::uint8_t> bytes;
  };
  /// The parts of a node, all within its page.
  struct Node {
    const std::uint8_t* key;
    std::size_t key_bytes, value_bytes, flags;
    std::uint64_t child;
  };
  void descend(std::uint64_t page);
  bool next_leaf();
  void load(std::uint64_t number, bool leaf, Page& to) const;
  static std::size_t nodes_in(const Page& page);
  Node node_of(const Page& page) const;
  Mark mark() const;
  void expect_large(const Node& node) const;
  void expect_large_values();

  const LmdbFile& file_;
  std::vector<Page> way_;  // root first, leaf last; empty before the first entry
  i64 first_ = 0;          // number of the leaf's first entry
  std::vector<std::uint8_t> large_;
};

}  // namespace cortado
