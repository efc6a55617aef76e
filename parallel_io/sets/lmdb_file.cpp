#include "parallel_io/sets/lmdb_file.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace cortado {
namespace {
constexpr std::uint32_t magic = 0xBEEFC0DE, version = 1;
constexpr std::size_t header_bytes = 16, node_header_bytes = 8, meta_bytes = 152;
constexpr std::size_t least_page = 256, most_page = 65536, most_depth = 32;
constexpr std::size_t most_marks = 1 << 16;
constexpr std::uint64_t no_page = ~std::uint64_t{0};
enum PageFlag : unsigned { branch = 1, leaf = 2, overflow = 4, meta = 8, packed = 0x20, inner = 0x40, kinds = 0x6F };
enum NodeFlag : unsigned { large = 1, subdata = 2, duplicates = 4 };

template <class T>
T number_at(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
std::size_t short_at(const std::uint8_t* from) { return number_at<std::uint16_t>(from); }

/// The contents of one of the first two pages.
struct Meta {
  std::uint32_t magic, version, page_bytes;
  unsigned page_flags;
  std::size_t depth;
  std::uint64_t entries, root, last_page, transaction;
};

Meta meta_of(const std::uint8_t* page) {
  const std::uint8_t *const at = page + header_bytes, *const free = at + 24, *const main = free + 48;
  return {number_at<std::uint32_t>(at),
          number_at<std::uint32_t>(at + 4),
          number_at<std::uint32_t>(free),
          static_cast<unsigned>(short_at(page + 10)),
          short_at(main + 6),
          number_at<std::uint64_t>(main + 32),
          number_at<std::uint64_t>(main + 40),
          number_at<std::uint64_t>(main + 48),
          number_at<std::uint64_t>(main + 56)};
}
}  // namespace

bool LmdbFile::begins(const std::string& file) {
  const std::string start = first_bytes(file, meta_bytes);
  return start.size() == meta_bytes &&
         number_at<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(start.data()) + header_bytes) == magic;
}

LmdbFile::LmdbFile(const std::string& file) : name_(file), descriptor_(open_regular(file)) {
  read_meta();
  index_leaves();
}

/// A page of the tree that the file does not have.
void LmdbFile::expect_page(std::uint64_t page) const {
  if (page < pages_) return;
  if (page > last_page_) damaged(page, "is named, there are " + std::to_string(pages_));
  throw FileError(
      name_, "is truncated: it has " + std::to_string(pages_) + " pages, number " + std::to_string(page) + " is due",
      "fetch it again");
}

void LmdbFile::damaged(std::uint64_t page, const std::string& what) const {
  throw FileError(name_, "is damaged: page " + std::to_string(page) + " " + what, "make it anew, or fetch it again");
}

void LmdbFile::read_meta() {
  const i64 size = bytes_of(descriptor_, name_);
  const auto meta_at = [&](i64 offset) {
    std::uint8_t bytes[meta_bytes];
    if (read_some(descriptor_, name_, offset, meta_bytes, bytes) < static_cast<i64>(meta_bytes))
      throw FileError(name_, "is truncated: it has " + std::to_string(size) + " bytes, fewer than any LMDB");
    const Meta found = meta_of(bytes);
    if (found.magic != magic || (found.page_flags & kinds) != meta) throw FileError(name_, "is no LMDB, or is damaged");
    if (found.version != version)
      throw FileError(name_, "is an LMDB of version " + std::to_string(found.version) + ", this reads version " +
                                 std::to_string(version));
    return found;
  };
  Meta used = meta_at(0);
  page_bytes_ = used.page_bytes;
  const bool power_of_two = (page_bytes_ & (page_bytes_ - 1)) == 0;
  if (page_bytes_ < least_page || page_bytes_ > most_page || !power_of_two)
    throw FileError(name_, "is damaged: it has pages of " + std::to_string(page_bytes_) + " bytes");
  const Meta other = meta_at(static_cast<i64>(page_bytes_));
  if (other.transaction > used.transaction) used = other;
  if (used.page_bytes != page_bytes_) throw FileError(name_, "is damaged: its first pages name two page sizes");
  // The last pages may be free ones, which were never written.
  pages_ = std::min(used.last_page, static_cast<std::uint64_t>(size) / page_bytes_ - 1) + 1;
  last_page_ = used.last_page;
  root_ = used.root;
  depth_ = used.depth;
  // Each entry takes a few bytes of a page at least.
  if (used.entries > pages_ * (page_bytes_ / (node_header_bytes + 2)))
    throw FileError(name_, "is damaged: it claims " + std::to_string(used.entries) + " entries");
  entries_ = root_ == no_page ? 0 : static_cast<i64>(used.entries);
  if (entries_ > 0 && (depth_ < 1 || depth_ > most_depth))
    throw FileError(name_, "is damaged: its tree is " + std::to_string(depth_) + " pages deep");
}

/// The tree's depth is given, so a page that names one above it ends in an error; no page lies in the tree twice, so
/// there are no more leaves than pages.
void LmdbFile::index_leaves() {
  Cursor cursor(*this);
  i64 counted = 0;
  std::uint64_t leaves = 0;
  std::size_t stride = 1;
  while (entries_ > 0 && cursor.next_leaf()) {
    if (++leaves > pages_) damaged(cursor.way_.back().number, "lies in the tree more than once");
    if ((leaves - 1) % stride == 0) marks_.push_back(cursor.mark());
    cursor.expect_large_values();
    counted += static_cast<i64>(Cursor::nodes_in(cursor.way_.back()));
    if (marks_.size() < most_marks) continue;
    for (std::size_t i = 0; 2 * i < marks_.size(); ++i) marks_[i] = marks_[2 * i];
    marks_.resize((marks_.size() + 1) / 2);
    stride *= 2;
  }
  if (counted != entries_)
    throw FileError(
        name_, "is damaged: it has " + std::to_string(counted) + " entries, " + std::to_string(entries_) + " are due");
}

void LmdbFile::read(std::uint64_t page, std::size_t bytes, std::vector<std::uint8_t>& to) const {
  to.resize(bytes);
  const i64 offset = static_cast<i64>(page * page_bytes_);
  if (read_some(descriptor_, name_, offset, static_cast<i64>(bytes), to.data()) < static_cast<i64>(bytes))
    throw FileError(name_, "ends at page " + std::to_string(page) + " of " + std::to_string(pages_),
                    "it has become shorter since it was opened");
}

void LmdbFile::Cursor::load(std::uint64_t number, bool is_leaf, Page& to) const {
  file_.expect_page(number);
  file_.read(number, file_.page_bytes_, to.bytes);
  to.number = number;
  to.node = 0;
  const std::uint8_t* const header = to.bytes.data();
  if (number_at<std::uint64_t>(header) != number || (short_at(header + 10) & kinds) != (is_leaf ? leaf : branch))
    file_.damaged(number, std::string("is no ") + (is_leaf ? "leaf" : "branch"));
  const std::size_t lower = short_at(header + 12);
  if (lower < header_bytes + 2 || lower > file_.page_bytes_) file_.damaged(number, "has no nodes");
}

std::size_t LmdbFile::Cursor::nodes_in(const Page& page) {
  return (short_at(page.bytes.data() + 12) - header_bytes) / 2;
}

LmdbFile::Cursor::Node LmdbFile::Cursor::node_of(const Page& page) const {
  const std::uint8_t* const begin = page.bytes.data();
  const std::size_t size = page.bytes.size(), offset = short_at(begin + header_bytes + 2 * page.node);
  if (offset < header_bytes || offset + node_header_bytes > size) file_.damaged(page.number, "has a node outside");
  const std::uint8_t* const at = begin + offset;
  const bool is_leaf = (short_at(begin + 10) & leaf) != 0;
  const std::size_t low = short_at(at), high = short_at(at + 2), flags = short_at(at + 4), keys = short_at(at + 6);
  Node node{at + node_header_bytes, keys, 0, flags, 0};
  std::size_t held = 0;  // bytes behind the key
  if (is_leaf) {
    if ((flags & (subdata | duplicates)) != 0)
      throw FileError(file_.name_, "holds databases with names, or several values of a key", "Caffe's LMDBs do not");
    node.value_bytes = low | (high << 16);
    held = (flags & large) != 0 ? sizeof(std::uint64_t) : node.value_bytes;
  } else {
    node.child = low | (std::uint64_t{high} << 16) | (std::uint64_t{flags} << 32);
  }
  if (keys + held > size - offset - node_header_bytes) file_.damaged(page.number, "has a node that leaves it");
  if (is_leaf && (flags & large) != 0) node.child = number_at<std::uint64_t>(node.key + keys);
  return node;
}

/// From a page at the end of the way down to the first leaf below it.
void LmdbFile::Cursor::descend(std::uint64_t page) {
  while (true) {
    way_.emplace_back();
    load(page, way_.size() == file_.depth_, way_.back());
    if (way_.size() == file_.depth_) return;
    page = node_of(way_.back()).child;
  }
}

bool LmdbFile::Cursor::next_leaf() {
  if (way_.empty()) {
    first_ = 0;
    descend(file_.root_);
    return true;
  }
  first_ += static_cast<i64>(nodes_in(way_.back()));
  way_.pop_back();
  while (!way_.empty() && way_.back().node + 1 >= nodes_in(way_.back())) way_.pop_back();
  if (way_.empty()) return false;
  ++way_.back().node;
  descend(node_of(way_.back()).child);
  return true;
}

LmdbFile::Mark LmdbFile::Cursor::mark() const {
  Mark mark{first_, {}};
  for (const Page& page : way_) mark.way.push_back({page.number, page.node});
  return mark;
}

void LmdbFile::Cursor::go(i64 entry) {
  const auto after = std::upper_bound(file_.marks_.begin(), file_.marks_.end(), entry,
                                      [](i64 wanted, const Mark& mark) { return wanted < mark.first; });
  const Mark& near = *std::prev(after);
  if (way_.empty() || entry < first_ || first_ < near.first) {
    way_.clear();
    for (const Step& step : near.way) {
      way_.emplace_back();
      load(step.page, way_.size() == file_.depth_, way_.back());
      if (step.node >= nodes_in(way_.back())) file_.damaged(step.page, "has changed since the file was opened");
      way_.back().node = step.node;
    }
    first_ = near.first;
  }
  while (entry >= first_ + static_cast<i64>(nodes_in(way_.back())))
    if (!next_leaf()) throw FileError(file_.name_, "has changed since it was opened");
  way_.back().node = static_cast<std::size_t>(entry - first_);
}

std::string LmdbFile::Cursor::key() const {
  const Node node = node_of(way_.back());
  return {reinterpret_cast<const char*>(node.key), node.key_bytes};
}

/// Its pages are within the file.
void LmdbFile::Cursor::expect_large(const Node& node) const {
  const std::uint64_t pages = (header_bytes + node.value_bytes + file_.page_bytes_ - 1) / file_.page_bytes_;
  if (node.child > no_page - pages) file_.damaged(way_.back().number, "has a value outside");
  file_.expect_page(node.child + pages - 1);
}

void LmdbFile::Cursor::expect_large_values() {
  Page& page = way_.back();
  for (page.node = 0; page.node < nodes_in(page); ++page.node)
    if (const Node node = node_of(page); (node.flags & large) != 0) expect_large(node);
  page.node = 0;
}

LmdbFile::Cursor::Value LmdbFile::Cursor::value() {
  const Node node = node_of(way_.back());
  if ((node.flags & large) == 0) return {node.key + node.key_bytes, node.value_bytes};
  expect_large(node);
  const std::uint64_t left = file_.pages_ - node.child;
  file_.read(node.child, header_bytes + node.value_bytes, large_);
  const std::uint8_t* const header = large_.data();
  const std::uint64_t held = number_at<std::uint32_t>(header + 12);
  if (number_at<std::uint64_t>(header) != node.child || (short_at(header + 10) & kinds) != overflow || held > left ||
      header_bytes + node.value_bytes > held * file_.page_bytes_)
    file_.damaged(node.child, "is no value's");
  return {header + header_bytes, node.value_bytes};
}

}  // namespace cortado
