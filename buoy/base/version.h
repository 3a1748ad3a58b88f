// Which Buoy this is.
#pragma once

#include <string>
#include <string_view>

namespace buoy {

// "0.1.0".
std::string_view version();

// "a1b2c3d4e5f6", with "+" where the tree had changes when it was configured; empty where it was no checkout.
std::string_view commit();

// "g++ 12.2.0".
std::string_view compiler();

}  // namespace buoy
