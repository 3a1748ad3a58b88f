// Puts figures into a page: colours become names that a page can set for light and dark, and all figures
// share one set of letters.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace buoy {

// What a page's style sheet needs so that figures follow it: "--fig-ink:#1f2430;…" for each colour of the
// theme.
std::string figure_colors_css_light();
std::string figure_colors_css_dark();

// The figures of one page, in order. Belongs to one thread.
class InlineFigures {
 public:
  // `svg` is what render_figure() made. Returns an <svg> element without size of its own: it has a viewBox
  // and the class "fig". `label` is what it shows, plain text that is escaped already. Throws InternalError
  // when there is no <svg> in it.
  std::string add(std::string_view svg, std::string_view label);

  // The letters that the figures added so far are set in, and the filter "turn" for areas of the class
  // "turned", in one hidden <svg>; it stands once on the page. Empty where nothing was added.
  std::string definitions() const;

 private:
  std::string letter(std::string_view drawn);

  std::map<std::string, std::size_t, std::less<>> letters_;  // an outline, and its number
  std::size_t figures_ = 0;
};

// Width in points as the figure was drawn; 0 where the SVG does not say.
double svg_width(std::string_view svg);

}  // namespace buoy
