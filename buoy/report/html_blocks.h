// Figures, tables, notes and code as HTML.
#pragma once

#include <string>

#include "buoy/draw/inline_svg.h"
#include "buoy/report/html.h"

namespace buoy {

// A figure's letters are left with `figures`, whose definitions must stand on the same page. Throws Error as
// render_page() does.
std::string html_of(const Block& block, InlineFigures& figures);

// A small square in the colour of a model, hidden from screen readers; nothing for -1.
std::string swatch_html(Index color);

}  // namespace buoy
