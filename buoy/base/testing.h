// What tests of every room need.
#pragma once

#include <filesystem>
#include <string_view>

namespace buoy {

// A file or folder of the source tree: source_path("models/mini-mdm"). BUOY_SOURCE in the environment says
// where the tree lies, if not where it was built.
std::filesystem::path source_path(std::string_view relative);

}  // namespace buoy
