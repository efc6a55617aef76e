#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cortado::fuzz {

/// HDF5 files of any structure, by recipe: the library trusts the insides of a file, and falls over flipped bits that
/// no reader could look at before it. A recipe is a row of steps, each a byte and what belongs to it; every row of
/// bytes is a recipe. `beside` is a file that links and virtual arrays lead to.
void cook_hdf5(const std::string& file, const std::string& beside, const std::uint8_t* recipe, std::size_t size);

/// Recipes of that file's kind, from text: "group NAME", "set NAME TYPE LAYOUT DIM...", "up", "soft NAME NAME",
/// "hard NAME NAME", "external NAME NAME", "virtual NAME NAME DIM", "attribute NAME TYPE", one a line.
std::string recipe_of(const std::string& text);

}  // namespace cortado::fuzz
