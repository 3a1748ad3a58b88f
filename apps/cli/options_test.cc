#include "apps/cli/options.h"

#include <gtest/gtest.h>
