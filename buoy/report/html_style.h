// The style sheet of a report page. Colours of figures come from the theme (--fig-…, inline_svg.h).
#pragma once

#include <string_view>

namespace buoy {

inline constexpr std::string_view kPageStyle = R"css(
:root { color-scheme: light dark; --ink: #1f2430; --soft: #5b6270; --line: #dfe2e8; --paper: #fff; --tint: #f5f6f8;
  --link: #0b5a9c; --yes: #0a6b4d; --no: #a3311a; --mark: #a0195b;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ec; --soft: #a0a8b6; --line: #323946; --paper: #14171c;
  --tint: #1d2128; --link: #82bdf0; --yes: #4fd0a3; --no: #f2937c; --mark: #f0609a; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 var(--sans); overflow-wrap: break-word; }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: .18em; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .4rem .8rem; z-index: 1; }
.letters { position: absolute; }
h1, h2, h3 { line-height: 1.2; letter-spacing: -.012em; text-wrap: balance; margin: 0; }
h1 { font-size: clamp(1.5rem, 1.2rem + 1.4vw, 2.1rem); font-weight: 680; }
h2 { font-size: 1.25rem; font-weight: 650; }
h3 { font-size: 1.1rem; font-weight: 650; }
header, nav, main, footer { max-width: 78rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: clamp(1rem, 3vw, 2rem); }
header section { padding-top: 1rem; }
.source, .lead { margin: .6rem 0 0; max-width: 48rem; }
.lead { color: var(--soft); white-space: pre-line; }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .7rem 0 0; padding: 0; font-size: .93rem; }
.swatch { display: inline-block; width: .72em; height: .72em; border-radius: 2px; margin-right: .4em; }
.found { margin: .5rem 0 0; padding: 0; list-style: none; max-width: 48rem; }
.found li { margin-top: .55rem; }
.facts { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; margin: .9rem 0 0; font-size: .84rem; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; font-variant-numeric: tabular-nums; }
nav ol { display: flex; flex-wrap: wrap; gap: .3rem 1.3rem; list-style: none; margin: 1.5rem 0 0; padding: .7rem 0;
  border: solid var(--line); border-width: 1px 0; font-size: .93rem; }
main > section { padding-top: 2.2rem; }
section > p { max-width: 48rem; margin: .6rem 0 0; white-space: pre-line; }
.topic { border-bottom: 1px solid var(--line); margin-top: 1.6rem; }
.topic + .topic { margin-top: 0; }
.topic > summary { padding: .9rem 0; cursor: pointer; }
.topic > summary h2 { display: inline; }
.topic > summary span { display: block; color: var(--soft); font-size: .9rem; margin: .15rem 0 0 1.1rem; }
.topic section { padding: .6rem 0 1.6rem; }
figure { margin: 1.2rem 0 0; }
.card { border: 1px solid var(--line); border-radius: 8px; padding: .7rem; overflow-x: auto; max-width: 56rem; }
.fig { display: block; width: 100%; margin: 0 auto; }
image { image-rendering: pixelated; }
figcaption, caption { font-size: .9rem; line-height: 1.5; color: var(--soft); text-align: left; }
figcaption { margin-top: .45rem; max-width: 48rem; white-space: pre-line; }
.files { white-space: nowrap; }
.files a { margin-right: .55em; font-size: .8rem; letter-spacing: .03em; }
.scroll { overflow-x: auto; margin-top: 1.2rem; max-width: 100%; }
table { border-collapse: collapse; font-size: .9rem; line-height: 1.4; }
caption { padding-bottom: .4rem; }
caption span { display: block; position: sticky; left: 0; max-width: min(48rem, calc(100vw - 3.5rem)); }
th, td { padding: .35rem .8rem .35rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line); }
thead th { font-weight: 600; font-size: .84rem; border-bottom-color: var(--soft); vertical-align: bottom; }
tbody th { font-weight: 400; min-width: 9rem; }
.n { text-align: right; font-variant-numeric: tabular-nums; padding-left: .6rem; white-space: nowrap; }
.name { white-space: nowrap; }
td.n + td:not(.n), th.n + th:not(.n) { padding-left: .8rem; }
th:last-child, td:last-child { padding-right: 0; }
.yes { color: var(--yes); font-weight: 700; }
.no { color: var(--no); font-weight: 700; }
abbr { text-decoration: underline dotted 1px; text-underline-offset: .22em; cursor: help; }
.means { font-size: .87rem; color: var(--soft); margin-top: .5rem; }
summary { cursor: pointer; }
.means dl { margin: .4rem 0 0; max-width: 48rem; }
.means dt { font-weight: 600; color: var(--ink); }
.means dd { margin: 0 0 .4rem; }
.note { border-left: 3px solid var(--mark); background: var(--tint); padding: .6rem 1rem; margin-top: 1.2rem;
  max-width: 48rem; border-radius: 0 6px 6px 0; white-space: pre-line; font-size: .93rem; }
.code { margin: 1rem 0 0; background: var(--tint); border: 1px solid var(--line); border-radius: 6px; padding: .7rem 1rem;
  overflow-x: auto; font: .85rem/1.55 var(--mono); tab-size: 4; }
.code code { user-select: all; }
footer { padding-top: 2.5rem; padding-bottom: 2rem; font-size: .83rem; color: var(--soft); }
@media (min-width: 68rem) {
  .two { display: grid; grid-template-columns: minmax(0, 27rem) minmax(0, 1fr); gap: 0 2.5rem; align-items: start; }
  .two > section { padding-top: .3rem; }
  .two > section .scroll { margin-top: .5rem; }
  .two table { font-size: .81rem; line-height: 1.3; }
  .two th, .two td { padding-top: .22rem; padding-bottom: .22rem; }
  .two .found, .two .source { font-size: .95rem; line-height: 1.5; }
}
@media print {
  :root { --ink: #000; --soft: #444; --line: #ccc; --paper: #fff; --tint: #f6f6f6; }
  body { font-size: 10pt; }
  nav, .files, .skip { display: none; }
  header, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  figure, tr, .note, .code { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
  .card { border: 0; padding: 0; }
  .card, .scroll { overflow: visible; }
  .code { white-space: pre-wrap; }
}
)css";

}  // namespace buoy
