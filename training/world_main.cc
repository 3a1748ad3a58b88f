// buoy-world: the verb `buoy world` alone, for machines that have a compiler and nothing else.
#include <cstdio>
#include <exception>

#include "apps/cli/verb.h"
#include "buoy/base/error.h"

int main(int argc, char** argv) {
  CLI::App app{"MicroWorld: questions and passages about fictional worlds.", "buoy-world"};
  app.require_subcommand(1);
  buoy::add_world(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const buoy::UsageError& e) {
    std::fprintf(stderr, "buoy-world: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "buoy-world: %s\n", e.what());
    return 1;
  }
  return 0;
}
