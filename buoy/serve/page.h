// The explorer's page as it was built into the program: each file compressed by gzip.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace buoy {

struct PageFile {
  std::string_view name;  // "index.html"
  std::string_view type;  // "text/html; charset=utf-8"
  std::string_view gzip;  // its bytes, compressed
};

std::span<const PageFile> page_files();

// What gzip compressed, and the reverse, at the best level. Throw Error for bytes that are none.
std::string gunzip(std::string_view bytes);
std::string gzip(std::string_view bytes);

// A file of the page, uncompressed. Throws InternalError for one that there is not.
std::string page_text(std::string_view name);

}  // namespace buoy
