// make_seeds FOLDER: writes the seeds of every target to FOLDER/TARGET, and its words to FOLDER/TARGET.dict, as
// libFuzzer's dictionaries are.
#include <filesystem>
#include <fstream>

#include "tests/fuzz/target.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path top = argv[1];
  for (const auto& target : cortado::fuzz::targets()) {
    std::filesystem::create_directories(top / target.name);
    int number = 0;
    for (const auto& seed : target.seeds())
      std::ofstream(top / target.name / ("seed" + std::to_string(number++)), std::ios::binary) << seed;
    const auto words = target.words();
    if (words.empty()) continue;  // libFuzzer takes no empty dictionary
    std::ofstream dictionary(top / (target.name + ".dict"));
    for (const auto& word : words) {
      std::string escaped;
      for (const char c : word) escaped += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
      dictionary << '"' << escaped << "\"\n";
    }
  }
}
