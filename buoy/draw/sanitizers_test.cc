// What the sanitizers must know about the libraries that draw: they ask for these lists by name.

// Fontconfig keeps some of what it read of its configuration without holding a pointer to it, once per
// process.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig\n";
}

// The libraries' own locks are invisible to the thread sanitizer, because they are not built with it.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libglib-2.0\nrace:libfontconfig\nrace:libpango\nrace:libcairo\nrace:libharfbuzz\nrace:"
         "libfreetype\n"
         "race:libgobject-2.0\nrace:libpixman\nrace:libpng\nrace:libexpat\n";
}
