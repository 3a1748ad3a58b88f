// Runs while Buoy is built: writes the files of the page, compressed, as a C++ source.
// embed_page OUTPUT NAME=FILE…
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <zlib.h>

namespace {

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string compress(const std::string& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  std::string made(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(made.data());
  stream.avail_out = static_cast<uInt>(made.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) return {};
  made.resize(stream.total_out);
  deflateEnd(&stream);
  return made;
}

std::string type_of(const std::string& name) {
  const std::string end = name.substr(name.rfind('.') + 1);
  if (end == "html") return "text/html; charset=utf-8";
  if (end == "js") return "text/javascript; charset=utf-8";
  if (end == "css") return "text/css; charset=utf-8";
  return "image/svg+xml";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::ofstream out(argv[1]);
  out << "#include \"buoy/serve/page.h\"\n\nnamespace buoy {\nnamespace {\n\n";
  std::string table;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals), bytes = compress(read(argument.substr(equals + 1)));
    if (bytes.empty()) {
      std::cerr << argument << ": cannot be read\n";
      return 1;
    }
    out << "constexpr unsigned char kFile" << i << "[] = {";
    for (std::size_t b = 0; b < bytes.size(); ++b)
      out << (b % 24 == 0 ? "\n" : "") << static_cast<int>(static_cast<unsigned char>(bytes[b])) << ',';
    out << "};\n";
    const std::string file = "kFile" + std::to_string(i);
    table += "    {\"" + name + "\", \"" + type_of(name) + "\", {reinterpret_cast<const char*>(" + file +
             "), sizeof(" + file + ")}},\n";
  }
  out << "\n}  // namespace\n\nstd::span<const PageFile> page_files() {\n  static const PageFile files[] = "
         "{\n"
      << table << "  };\n  return files;\n}\n\n}  // namespace buoy\n";
  return out.good() ? 0 : 1;
}
