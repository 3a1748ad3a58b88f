// Whole files that lie in somebody's folder, where a pipe would wait and a device never end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace buoy {

// At most this many bytes: far beyond any config, vocabulary or template.
inline constexpr std::uintmax_t kMostPlainBytes = std::uintmax_t{1} << 30;

// As read_file(), of a regular file alone. Throws Error for a pipe, a device, a directory, and for one that
// is too long.
std::string read_plain_file(const std::filesystem::path& path);

}  // namespace buoy
